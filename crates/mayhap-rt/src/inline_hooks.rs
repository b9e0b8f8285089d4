//! Hooks that are part of the program's code, see [`mayhap_wire::gate`], and what becomes of one that a signal interrupts.
//!
//! As with those of [`crate::outlined_hooks`], nothing has happened before the head moves that cannot happen again, and after that each access has only
//! to be noted with its place.

use mayhap_wire::gate::{
    ASKING_BYTES, BEGINNING, COMMIT, FOLLOWER, FOLLOWER_GOES_ON, FOLLOWER_JUMPS, MAX_BYTES, OWN_AT,
};

use crate::sys;

/// The instructions that note an access are `movq register, displacement(%rip)`.
const NOTE_BYTES: u64 = 7;
const PAGE: u64 = 4096;

/// Where a thread that a signal interrupted at `pc` goes on when the handler returns. `register` is what the registers held, by the
/// numbers that instructions have for them.
///
/// # Safety
/// The thread was interrupted with those.
pub(crate) unsafe fn mend(pc: u64, register: impl Fn(u8) -> u64) -> u64 {
    // SAFETY: the code at `pc` is being run.
    let Some((begin, commit, end)) = (unsafe { enclosing(pc) }) else { return pc };
    if pc <= commit {
        return begin;
    }
    let mut at = commit + COMMIT.len() as u64;
    // SAFETY: a hook ends with such instructions, and the program has the places that they name.
    while let Some((number, to)) = unsafe { note(at) }.filter(|_| at < end) {
        // SAFETY: the same.
        unsafe { (to as *mut u64).write_unaligned(register(number)) };
        at += NOTE_BYTES;
    }
    end
}

/// If the instruction there notes an access, the number of the register with its address and where it is noted.
///
/// # Safety
/// Code can be read there.
unsafe fn note(at: u64) -> Option<(u8, u64)> {
    // SAFETY: as the caller vouches.
    let [prefix, code, operands, low @ ..] = unsafe { (at as *const [u8; NOTE_BYTES as usize]).read() };
    let is_note = prefix & !4 == 0x48 && code == 0x89 && operands & 0xc7 == 0x05;
    let to = (at + NOTE_BYTES).wrapping_add_signed(i64::from(i32::from_le_bytes(low)));
    is_note.then_some(((prefix & 4) << 1 | operands >> 3 & 7, to))
}

/// A hook begins there that comes behind another.
///
/// # Safety
/// Code can be read there.
unsafe fn follows(at: u64) -> bool {
    // SAFETY: as the caller vouches; what begins so goes on.
    let is_there = |at: u64, bytes: &[u8]| unsafe {
        bytes.iter().enumerate().all(|(nth, byte)| (at as *const u8).add(nth).read() == *byte)
    };
    let jump = at + FOLLOWER.len() as u64;
    let goes_on =
        |(jumps, bytes): &(&[u8], usize)| is_there(jump, jumps) && is_there(jump + *bytes as u64, &FOLLOWER_GOES_ON);
    is_there(at, &FOLLOWER) && FOLLOWER_JUMPS.iter().any(goes_on)
}

/// The hook that `pc` is in: where it begins, where the head moves, where it ends.
///
/// # Safety
/// The code at `pc` is being run.
unsafe fn enclosing(pc: u64) -> Option<(u64, u64, u64)> {
    let page = pc & !(PAGE - 1);
    // It may have jumped to where nothing is, and before the code may be nothing.
    if !sys::is_mapped(page) {
        return None;
    }
    let lowest = pc.saturating_sub(MAX_BYTES as u64);
    let lowest = if lowest < page && !sys::is_mapped(page - PAGE) { page } else { lowest };
    // Up to the end of its beginning a hook has read nothing that changes.
    let asks = |begin: &u64| {
        let behind = begin + ASKING_BYTES as u64;
        if behind + BEGINNING.len() as u64 > pc {
            return false;
        }
        // SAFETY: from there to where the thread is code is mapped.
        let mut next = unsafe { (behind as *const [u8; BEGINNING.len()]).read() };
        // The register is `%rcx` or `%rax`.
        next[OWN_AT] |= 8;
        next == BEGINNING
    };
    // SAFETY: the same; behind that beginning are a jump and more.
    let begin = (lowest..=pc - FOLLOWER.len() as u64).rev().find(|begin| asks(begin) || unsafe { follows(*begin) })?;
    // SAFETY: behind such a beginning is a hook.
    let commits = |at: &u64| unsafe {
        (*at as *const [u8; COMMIT.len()]).read() == COMMIT && note(at + COMMIT.len() as u64).is_some()
    };
    let commit = (begin..begin + MAX_BYTES as u64).find(commits)?;
    let mut end = commit + COMMIT.len() as u64;
    // SAFETY: the same.
    while unsafe { note(end) }.is_some() {
        end += NOTE_BYTES;
    }
    (pc < end).then_some((begin, commit, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code that looks like a hook of two accesses, and behind it the memory of their two places.
    fn hook() -> (Vec<u8>, usize, usize) {
        let mut code = vec![0x90; 40];
        let begin = code.len();
        code.extend([0x4c, 0x8b, 0x1d, 0, 0, 0, 0]);
        code.extend(BEGINNING);
        code[begin + ASKING_BYTES + OWN_AT] = 0x04;
        code.extend([0x90; 60]);
        let commit = code.len();
        code.extend(COMMIT);
        // `movq %rdi` and `movq %r8`, to what lies 16 bytes behind the hook.
        code.extend([0x48, 0x89, 0x3d, 7 + 16, 0, 0, 0, 0x4c, 0x89, 0x05, 16 + 8, 0, 0, 0]);
        code.extend([0xeb; 40]);
        (code, begin, commit)
    }

    #[test]
    fn an_interrupted_hook_begins_anew_or_is_brought_to_its_end() {
        let (mut code, begin, commit) = hook();
        let start = code.as_mut_ptr() as u64;
        let end = commit + COMMIT.len() + 2 * NOTE_BYTES as usize;
        // SAFETY: all that is read and written is in the vector.
        let mended = |at: usize| unsafe { mend(start + at as u64, |number| 1000 + u64::from(number)) - start } as usize;
        for at in [begin + ASKING_BYTES + BEGINNING.len(), begin + 50, commit] {
            assert_eq!(mended(at), begin);
        }
        for at in [0, begin, begin + ASKING_BYTES, end, end + 2] {
            assert_eq!(mended(at), at, "nothing to mend");
        }
        // SAFETY: the same.
        let noted = |at: usize| unsafe { ((start as usize + end + at) as *const u64).read_unaligned() };
        assert_eq!((noted(16), noted(24)), (0xebeb_ebeb_ebeb_ebeb, 0xebeb_ebeb_ebeb_ebeb));
        for at in [commit + COMMIT.len(), commit + COMMIT.len() + NOTE_BYTES as usize] {
            assert_eq!(mended(at), end);
        }
        assert_eq!((noted(16), noted(24)), (1007, 1008), "by the numbers of %rdi and %r8");
    }

    #[test]
    fn a_hook_behind_another_begins_anew_too() {
        for (jump, bytes) in FOLLOWER_JUMPS {
            let (mut code, _, _) = hook();
            let begin = code.len();
            code.extend(FOLLOWER);
            code.extend(jump);
            code.resize(begin + FOLLOWER.len() + bytes, 0x7f);
            code.extend(FOLLOWER_GOES_ON);
            code.extend([0x90; 20]);
            let commit = code.len();
            code.extend(COMMIT);
            code.extend([0x48, 0x89, 0x3d, 0, 0, 0, 0]);
            let end = code.len();
            code.extend([0x90; 40]);
            let start = code.as_ptr() as u64;
            // SAFETY: all that is read and written is in the vector.
            let mended = |at: usize| unsafe { mend(start + at as u64, |_| 5) - start } as usize;
            for at in [begin + FOLLOWER.len(), begin + FOLLOWER.len() + bytes, commit - 1, commit] {
                assert_eq!(mended(at), begin);
            }
            assert_eq!((mended(begin), mended(commit + COMMIT.len()), mended(end)), (begin, end, end));
            assert_eq!(code[end], 5, "the access is noted");
            code[begin + FOLLOWER.len() + bytes] ^= 1;
            // SAFETY: the same.
            assert_eq!(unsafe { mend(start + commit as u64, |_| 5) }, start + commit as u64, "that is no hook");
        }
    }

    #[test]
    fn a_thread_that_jumped_to_nowhere_is_left_alone() {
        // SAFETY: nothing is read.
        assert_eq!(unsafe { (mend(0, |_| 0), mend(8, |_| 0)) }, (0, 8));
    }

    #[test]
    fn code_that_only_begins_like_a_hook_is_left_alone() {
        let (mut code, begin, commit) = hook();
        code[commit] ^= 1;
        code.resize(code.len() + MAX_BYTES, 0x90);
        let pc = code.as_ptr() as u64 + begin as u64 + 30;
        // SAFETY: all that is read is in the vector.
        assert_eq!(unsafe { mend(pc, |_| 0) }, pc);
    }
}
