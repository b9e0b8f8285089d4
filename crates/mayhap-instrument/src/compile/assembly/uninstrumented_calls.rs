//! Which calls leave the code that has hooks.

use std::collections::{HashMap, HashSet};

/// Functions that return twice or never, or to another caller.
const NONE: [&str; 33] = [
    "_Exit",
    "_exit",
    "_longjmp",
    "_setjmp",
    "_ZSt9terminatev",
    "__assert",
    "__assert_fail",
    "__assert_perror_fail",
    "__chk_fail",
    "__fortify_fail",
    "__libc_siglongjmp",
    "__libc_longjmp",
    "__longjmp_chk",
    "__sigsetjmp",
    "__stack_chk_fail",
    "abort",
    "err",
    "errx",
    "exit",
    "getcontext",
    "longjmp",
    "makecontext",
    "pthread_exit",
    "quick_exit",
    "setcontext",
    "setjmp",
    "siglongjmp",
    "sigsetjmp",
    "swapcontext",
    "thrd_exit",
    "verr",
    "verrx",
    "vfork",
];
/// How the names of others begin: the hooks themselves, and what exceptions are thrown and caught by.
const NONE_BEGIN: [&str; 5] = ["__tsan_", "__mayhap_", "__sanitizer_", "__cxa_", "_Unwind_"];

/// What is known of the functions of a file.
pub(super) struct UninstrumentedCalls<'a> {
    defined: HashSet<&'a str>,
    /// What other names of functions stand for.
    meant: HashMap<&'a str, &'a str>,
    in_front: &'a HashSet<&'a str>,
}

impl<'a> UninstrumentedCalls<'a> {
    /// Of a file's text; `in_front` are the functions that the runtime stands in front of.
    pub(super) fn new(text: &'a str, in_front: &'a HashSet<&'a str>) -> Self {
        let mut calls = UninstrumentedCalls { defined: HashSet::new(), meant: HashMap::new(), in_front };
        for line in text.lines() {
            match line.as_bytes() {
                [b'.', b'L', ..] => {}
                [.., b':'] => _ = calls.defined.insert(&line[..line.len() - 1]),
                [b'\t', b'.', b's', b'e', b't', ..] | [b'\t', b'.', b'w', b'e', b'a', b'k', ..] => {
                    calls.directive(line)
                }
                _ => {}
            }
        }
        calls
    }

    fn directive(&mut self, line: &'a str) {
        let mut words = line.trim().splitn(2, ['\t', ' ']);
        let (Some(directive), Some(names)) = (words.next(), words.next()) else { return };
        let Some((name, other)) = names.split_once(',') else { return };
        match directive {
            ".set" => _ = self.defined.insert(name.trim()),
            ".weakref" => _ = self.meant.insert(name.trim(), other.trim()),
            _ => {}
        }
    }

    /// Whether a call of this function leaves, and nothing else says so.
    pub(super) fn leaves(&self, name: &str) -> bool {
        let name = self.meant.get(name).copied().unwrap_or(name);
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_' || !first.is_ascii());
        // `std::__throw_length_error` and the like.
        let throws = name.starts_with("_ZSt") && name.contains("__throw_");
        let is_exempt = throws || NONE.contains(&name) || NONE_BEGIN.iter().any(|begin| name.starts_with(begin));
        is_name && !is_exempt && !self.defined.contains(name) && !self.in_front.contains(name)
    }
}
