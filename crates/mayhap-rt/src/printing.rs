//! Text that the C library prints or formats for the program: it reads the format and the strings, and writes the buffer. What it scans, it takes from a stream.
//!
//! The functions take any number of arguments, so the runtime notes what they will read and write, and continues with the real function as if
//! it were not there.

use core::ffi::CStr;

use libc::{FILE, c_char, c_int, size_t};
use mayhap_wire::ring::Tag;

use crate::channels::positions::{self, From};
use crate::channels::streams;
use crate::hook::Hook;
use crate::pass_on::{Registers, pass_on};
use crate::real::real;
use crate::{blocking, openmp};

mod libc_real {
    use super::*;
    real! {
        fn vsnprintf(to: *mut c_char, n: size_t, format: *const c_char, list: *mut List) -> c_int;
        fn strnlen(text: *const c_char, n: size_t) -> size_t;
    }
}

/// Arguments that are not named, as C passes them on.
#[repr(C)]
#[derive(Clone, Copy)]
struct List {
    general: u32,
    vector: u32,
    stack: *const u64,
    saved: *const Registers,
}

impl List {
    /// # Safety
    /// There are that many arguments of this kind.
    unsafe fn word(&mut self) -> u64 {
        // SAFETY: as the caller vouches.
        unsafe {
            if self.general < 48 {
                self.general += 8;
                return self.saved.cast::<u8>().add(self.general as usize - 8).cast::<u64>().read();
            }
            self.stack = self.stack.add(1);
            self.stack.sub(1).read_unaligned()
        }
    }

    /// # Safety
    /// As [`Self::word`].
    unsafe fn float(&mut self, is_long: bool) {
        // SAFETY: as above.
        unsafe {
            match (is_long, self.vector < 176) {
                (true, _) => self.stack = ((self.stack as usize + 15) & !15).wrapping_add(16) as *const u64,
                (false, true) => self.vector += 16,
                (false, false) => self.stack = self.stack.add(1),
            }
        }
    }
}

/// Which arguments of a function are what, from 0; `NONE` where there is no such argument.
struct Shape {
    text: usize,
    format: usize,
    /// The arguments come as a list, in the argument after the format.
    listed: bool,
    buffer: usize,
    /// Where the place of a new buffer is written.
    pointer: usize,
    room: usize,
    /// The stream that it is printed to, or read from.
    stream: usize,
    /// It reads from the stream, or from standard input.
    takes: bool,
}

const NONE: usize = usize::MAX;
const PRINTS: Shape =
    Shape { text: NONE, format: 0, listed: false, buffer: NONE, pointer: NONE, room: NONE, stream: NONE, takes: false };
const SCANS: Shape = Shape { format: NONE, takes: true, ..PRINTS };

/// Notes what a call reads and writes.
///
/// # Safety
/// The arguments are those of a call of a function of this shape.
unsafe fn note(shape: &Shape, registers: *const Registers, stack: *const u64, pc: u64) {
    if openmp::is_library(pc) {
        return;
    }
    // SAFETY: as the caller vouches.
    let general = unsafe { &(*registers).general };
    if shape.takes {
        let stream = general.get(shape.stream).map_or_else(streams::standard_input, |&stream| stream as *mut FILE);
        return positions::takes(From::stream(stream), pc);
    }
    let Some(mut hook) = Hook::enter_outermost() else { return };
    hook.announces();
    let blocks = general.get(shape.stream).is_some_and(|&stream| streams::announces(&hook, stream as *mut FILE, pc));
    // SAFETY: as the caller vouches.
    unsafe { note_memory(&hook, shape, registers, stack, pc) };
    drop(hook);
    if blocks {
        blocking::leave();
    }
}

/// # Safety
/// As [`note`].
unsafe fn note_memory(hook: &Hook, shape: &Shape, registers: *const Registers, stack: *const u64, pc: u64) {
    // SAFETY: as the caller vouches.
    unsafe {
        let general = &(*registers).general;
        if let Some(&text) = general.get(shape.text) {
            read_text(hook, pc, text as *const c_char, usize::MAX);
        }
        if let Some(&pointer) = general.get(shape.pointer) {
            hook.record(Tag::RangeWrite, pc, &[pointer, 8]);
        }
        let Some(&format) = general.get(shape.format) else { return };
        let format = format as *const c_char;
        let named = shape.format as u32 + 1;
        let mut list = List { general: 8 * named, vector: 48, stack, saved: registers };
        if shape.listed {
            // The library's own list, which stays as it is.
            list = (general[shape.format + 1] as *const List).read();
        }
        if let Some(&buffer) = general.get(shape.buffer) {
            let room = general.get(shape.room).map_or(usize::MAX, |&room| room as usize);
            let mut copy = list;
            let length = libc_real::vsnprintf(core::ptr::null_mut(), 0, format, &raw mut copy);
            let written = (length.max(0) as usize + 1).min(room);
            if written > 0 && length >= 0 {
                hook.record(Tag::RangeWrite, pc, &[buffer, written as u64]);
            }
        }
        read_text(hook, pc, format, usize::MAX);
        strings(hook, pc, CStr::from_ptr(format).to_bytes(), list);
    }
}

/// # Safety
/// The text ends in zero, or is at least that long.
unsafe fn read_text(hook: &Hook, pc: u64, text: *const c_char, most: usize) {
    if text.is_null() {
        return;
    }
    // SAFETY: as the caller vouches.
    let length = unsafe { libc_real::strnlen(text, most) };
    let bytes = if length < most { length + 1 } else { length };
    if bytes > 0 {
        hook.record(Tag::RangeRead, pc, &[text as u64, bytes as u64]);
    }
}

/// Notes the strings that a format asks for. One that names arguments by number, or is not known, ends it.
///
/// # Safety
/// The list holds what the format asks for.
unsafe fn strings(hook: &Hook, pc: u64, format: &[u8], mut list: List) {
    let mut at = 0;
    while let Some(next) = format[at..].iter().position(|&byte| byte == b'%') {
        at += next + 1;
        let (mut precision, mut in_precision, mut is_long, mut is_wide) = (usize::MAX, false, false, false);
        loop {
            let Some(&byte) = format.get(at) else { return };
            at += 1;
            match byte {
                b'%' => break,
                b'$' => return,
                b'*' => {
                    // SAFETY: as the caller vouches.
                    let value = unsafe { list.word() } as i32;
                    if in_precision {
                        precision = usize::try_from(value).unwrap_or(usize::MAX);
                    }
                }
                b'.' => (in_precision, precision) = (true, 0),
                b'0'..=b'9' if in_precision => {
                    precision = precision.saturating_mul(10).saturating_add(usize::from(byte - b'0'));
                }
                b'0'..=b'9' | b'-' | b'+' | b' ' | b'#' | b'\'' | b'I' | b'h' | b'q' | b'j' | b'z' | b't' | b'Z' => {}
                b'l' => is_wide = true,
                b'L' => is_long = true,
                b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'c' | b'p' | b'n' | b'C' => {
                    // SAFETY: as the caller vouches.
                    unsafe { list.word() };
                    break;
                }
                b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => {
                    // SAFETY: as the caller vouches.
                    unsafe { list.float(is_long) };
                    break;
                }
                b's' | b'S' => {
                    // SAFETY: as the caller vouches.
                    let text = unsafe { list.word() } as *const c_char;
                    if byte == b's' && !is_wide {
                        // SAFETY: as the caller vouches.
                        unsafe { read_text(hook, pc, text, precision) };
                    }
                    break;
                }
                b'm' => break,
                _ => return,
            }
        }
    }
}

/// What is noted before a function of a shape.
macro_rules! prints {
    ($shape:expr) => {
        |registers, stack, pc| {
            const SHAPE: Shape = $shape;
            // SAFETY: the arguments of a call of the function.
            unsafe { note(&SHAPE, registers, stack, pc) }
        }
    };
}

pass_on! {
    scanf find_scanf prints!(SCANS);
    vscanf find_vscanf prints!(SCANS);
    fscanf find_fscanf prints!(Shape { stream: 0, ..SCANS });
    vfscanf find_vfscanf prints!(Shape { stream: 0, ..SCANS });
    __isoc99_scanf find_scanf_99 prints!(SCANS);
    __isoc99_vscanf find_vscanf_99 prints!(SCANS);
    __isoc99_fscanf find_fscanf_99 prints!(Shape { stream: 0, ..SCANS });
    __isoc99_vfscanf find_vfscanf_99 prints!(Shape { stream: 0, ..SCANS });
    puts find_puts prints!(Shape { text: 0, format: NONE, ..PRINTS });
    perror find_perror prints!(Shape { text: 0, format: NONE, ..PRINTS });
    printf find_printf prints!(PRINTS);
    fprintf find_fprintf prints!(Shape { format: 1, stream: 0, ..PRINTS });
    dprintf find_dprintf prints!(Shape { format: 1, ..PRINTS });
    asprintf find_asprintf prints!(Shape { format: 1, pointer: 0, ..PRINTS });
    vasprintf find_vasprintf prints!(Shape { format: 1, listed: true, pointer: 0, ..PRINTS });
    vprintf find_vprintf prints!(Shape { listed: true, ..PRINTS });
    vfprintf find_vfprintf prints!(Shape { format: 1, listed: true, stream: 0, ..PRINTS });
    vdprintf find_vdprintf prints!(Shape { format: 1, listed: true, ..PRINTS });
    sprintf find_sprintf prints!(Shape { format: 1, buffer: 0, ..PRINTS });
    snprintf find_snprintf prints!(Shape { format: 2, buffer: 0, room: 1, ..PRINTS });
    vsprintf find_vsprintf prints!(Shape { format: 1, listed: true, buffer: 0, ..PRINTS });
    vsnprintf find_vsnprintf prints!(Shape { format: 2, listed: true, buffer: 0, room: 1, ..PRINTS });
    __printf_chk find_printf_checked prints!(Shape { format: 1, ..PRINTS });
    __fprintf_chk find_fprintf_checked prints!(Shape { format: 2, stream: 0, ..PRINTS });
    __vprintf_chk find_vprintf_checked prints!(Shape { format: 1, listed: true, ..PRINTS });
    __vfprintf_chk find_vfprintf_checked prints!(Shape { format: 2, listed: true, stream: 0, ..PRINTS });
    __sprintf_chk find_sprintf_checked prints!(Shape { format: 3, buffer: 0, ..PRINTS });
    __snprintf_chk find_snprintf_checked prints!(Shape { format: 4, buffer: 0, room: 1, ..PRINTS });
    __vsprintf_chk find_vsprintf_checked prints!(Shape { format: 3, listed: true, buffer: 0, ..PRINTS });
    __vsnprintf_chk find_vsnprintf_checked prints!(Shape { format: 4, listed: true, buffer: 0, room: 1, ..PRINTS });
}
