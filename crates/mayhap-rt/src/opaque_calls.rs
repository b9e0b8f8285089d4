//! Calls of libraries without hooks, which may make threads wait for each other by locks of their own. Each is recorded before it is
//! made; the recorder decides which libraries can do that.
//!
//! The hook that says that a thread leaves instrumented code is followed by the call itself. Where it goes is read from the code, and from
//! the slot that the loader fills. A slot that is not filled yet stands for the function that it will hold.

use core::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

use mayhap_wire::channel::doubt;
use mayhap_wire::ring::Tag;

use crate::hook::Hook;
use crate::thread::Thread;
use crate::{replay, sched, threads};

/// Some loaded library has no hooks and is not one whose doings are known.
pub(crate) static ANY: AtomicU8 = AtomicU8::new(0);
/// Calls of functions that nothing is known of are always looked at.
pub(crate) static ALWAYS: AtomicU8 = AtomicU8::new(1);

/// Beginnings of the names of libraries that are known: what they do is interposed, or orders nothing.
const KNOWN: [&[u8]; 20] = [
    b"ld-linux",
    b"linux-vdso",
    b"libBrokenLocale.so",
    b"libanl.so",
    b"libasan.so",
    b"libc++",
    b"libc.so",
    b"libdl.so",
    b"libgcc_s.so",
    b"libgomp.so",
    b"libiomp",
    b"libm.so",
    b"libmayhap",
    b"libmvec.so",
    b"libnss_",
    b"libomp",
    b"libpthread.so",
    b"librt.so",
    b"libstdc++.so",
    b"libtsan.so",
];

/// A loaded file: where it lies, and whether it calls hooks. Only the thread that holds the token adds some.
struct Module {
    low: AtomicU64,
    end: AtomicU64,
    kind: AtomicU8,
}

const OPAQUE: u8 = 1;
const HOOKED: u8 = 2;
const OTHER: u8 = 3;

const MAX: usize = 256;
static MODULES: [Module; MAX] =
    [const { Module { low: AtomicU64::new(0), end: AtomicU64::new(0), kind: AtomicU8::new(0) } }; MAX];
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Code of modules that have called `__tsan_init` and are not known yet.
static NEW: [AtomicU64; 16] = [const { AtomicU64::new(0) }; 16];

fn find(address: u64) -> Option<&'static Module> {
    let known = &MODULES[..COUNT.load(Ordering::Acquire).min(MAX)];
    known.iter().rev().find(|m| (m.low.load(Ordering::Relaxed)..m.end.load(Ordering::Relaxed)).contains(&address))
}

/// A file is loaded there.
pub(crate) fn loaded(path: &[u8], low: u64, end: u64) {
    let same = |m: &&Module| m.low.load(Ordering::Relaxed) == low && m.end.load(Ordering::Relaxed) == end;
    let count = COUNT.load(Ordering::Relaxed);
    if MODULES[..count.min(MAX)].iter().any(|m| same(&m)) {
        return;
    }
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    let is_known = KNOWN.iter().any(|begin| name.starts_with(begin)) || !contains(name, b".so");
    let is_new = |code: &AtomicU64| (low..end).contains(&code.load(Ordering::Relaxed));
    let kind = match is_known {
        _ if NEW.iter().any(is_new) => HOOKED,
        true => OTHER,
        false => OPAQUE,
    };
    if let Some(module) = MODULES.get(count) {
        module.low.store(low, Ordering::Relaxed);
        module.end.store(end, Ordering::Relaxed);
        module.kind.store(kind, Ordering::Relaxed);
        COUNT.store(count + 1, Ordering::Release);
        ANY.fetch_max(u8::from(kind == OPAQUE), Ordering::Relaxed);
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Whether calls are recorded: not where what runs next is given from outside, by a schedule that is replayed or by turns.
pub(crate) fn are_recorded() -> bool {
    !replay::active() && !sched::in_turns()
}

/// The code at this address belongs to a module that calls hooks.
pub(crate) fn has_hooks(code: u64) {
    if let Some(module) = find(code) {
        module.kind.store(HOOKED, Ordering::Relaxed);
        return;
    }
    let free = NEW
        .iter()
        .find(|new| matches!(new.load(Ordering::Relaxed), 0) || new.load(Ordering::Relaxed) >> 16 == code >> 16);
    if let Some(free) = free {
        free.store(code, Ordering::Relaxed);
    }
}

/// The calling thread, which is in no hook, is about to run the call that the code at `pc` is.
pub(crate) fn calls(pc: u64) {
    // SAFETY: the code that called the hook continues there, with a call or a jump of at least five bytes.
    let Some(callee) = (unsafe { callee(pc) }) else { return };
    let Some(module) = find(callee) else { return };
    let own = find(pc).is_some_and(|other| core::ptr::eq(other, module));
    // A slot of the calling module is not filled yet.
    if (module.kind.load(Ordering::Relaxed) == OPAQUE || own)
        && let Some(hook) = Hook::enter_outermost()
    {
        hook.record(Tag::Doubt, pc, &[u64::from(doubt::LIBRARY), callee]);
    }
}

/// The calling thread is about to run the call that the code at `pc` is, of a function that may be one of the system's libraries that nothing
/// is known of.
pub(crate) fn calls_unseen(pc: u64) {
    // SAFETY: as in `calls`.
    let Some(callee) = (unsafe { callee(pc) }) else { return };
    if find(callee).is_some_and(|module| module.kind.load(Ordering::Relaxed) != OTHER) {
        calls(pc);
    }
    if threads::were_others()
        && let Some(hook) = Hook::enter_outermost()
    {
        hook.record(Tag::Doubt, pc, &[u64::from(doubt::FUNCTION), callee]);
    }
}

/// The thread ends, and what it promised is ready.
pub(crate) fn thread_ends(hook: &Hook, thread: &Thread) {
    let function = thread.own.promises.swap(0, Ordering::Relaxed);
    if function != 0 && are_recorded() {
        hook.record(Tag::Doubt, 0, &[u64::from(doubt::FUNCTION), function]);
    }
}

/// Where the call at `pc` goes: a function, or the slot that will hold it.
///
/// # Safety
/// There is a call or jump instruction at `pc`.
unsafe fn callee(pc: u64) -> Option<u64> {
    // SAFETY: as the caller vouches; instructions are read up to their own end.
    unsafe {
        let byte = |at: u64| (at as *const u8).read();
        let word = |at: u64| i64::from((at as *const i32).read_unaligned());
        let mut at = pc;
        // Before a jump the stack pointer may be moved back.
        if byte(at) == 0x48 && byte(at + 1) == 0x8d {
            at += 8;
        }
        while matches!(byte(at), 0x3e | 0x66 | 0x67 | 0xf2) {
            at += 1;
        }
        let slot = match byte(at) {
            0xe8 | 0xe9 => {
                let mut to = (at + 5).wrapping_add_signed(word(at + 1));
                // A stub that jumps through a slot; the code of functions may begin like this too, and then goes on otherwise.
                if byte(to) == 0xf3 && byte(to + 1) == 0x0f && byte(to + 2) == 0x1e {
                    to += 4;
                }
                to += u64::from(byte(to) == 0xf2);
                if byte(to) != 0xff || byte(to + 1) != 0x25 {
                    return None;
                }
                (to + 6).wrapping_add_signed(word(to + 2))
            }
            0xff if matches!(byte(at + 1), 0x15 | 0x25) => (at + 6).wrapping_add_signed(word(at + 2)),
            _ => return None,
        };
        let to = (slot as *const u64).read();
        let is_filled = find(to).is_some_and(|module| !find(slot).is_some_and(|own| core::ptr::eq(own, module)));
        Some(if is_filled { to } else { slot })
    }
}
