//! Which calls leave the code that has hooks, and which of them go to functions of the C and C++ libraries that nothing is known of.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

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

/// Names in lines; after `#` stands what they have in common. A name that ends in `*` stands for all that begin so.
struct Names {
    whole: HashSet<&'static str>,
    beginnings: Vec<&'static str>,
}

impl Names {
    fn read(text: &'static str) -> Names {
        let words = text.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
        let (beginnings, whole) = words.partition::<Vec<_>, _>(|word| word.ends_with('*'));
        let beginnings = beginnings.into_iter().map(|word| word.trim_end_matches('*')).collect();
        Names { whole: whole.into_iter().collect(), beginnings }
    }

    fn contain(&self, name: &str) -> bool {
        self.whole.contains(name) || self.beginnings.iter().any(|begin| name.starts_with(begin))
    }
}

/// Functions of the libraries that the runtime does not stand in front of, and that may tell a thread of others.
static UNSEEN: LazyLock<Names> = LazyLock::new(|| Names::read(include_str!("unseen_functions.txt")));

/// Where a call goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Call {
    /// It stays in code with hooks, or the runtime stands in front of the function.
    Stays,
    /// It leaves.
    Leaves,
    /// It leaves, and if it goes to one of the system's libraries, what it orders is not seen.
    Unseen,
}

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

    /// Where a call of this function goes, if nothing else says so.
    pub(super) fn call(&self, name: &str) -> Call {
        let name = self.meant.get(name).copied().unwrap_or(name);
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_' || !first.is_ascii());
        // `std::__throw_length_error` and the like.
        let throws = name.starts_with("_ZSt") && name.contains("__throw_");
        let is_exempt = throws || NONE.contains(&name) || NONE_BEGIN.iter().any(|begin| name.starts_with(begin));
        match is_name && !is_exempt && !self.defined.contains(name) && !self.in_front.contains(name) {
            false => Call::Stays,
            true if UNSEEN.contain(name) => Call::Unseen,
            true => Call::Leaves,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The functions that this machine's C library exports to programs.
    fn exported() -> Vec<String> {
        let path = Command::new("cc").arg("-print-file-name=libc.so.6").output().expect("there is a C compiler").stdout;
        let path = String::from_utf8(path).unwrap();
        let symbols =
            Command::new("nm").args(["-D", "--defined-only", path.trim()]).output().expect("there is nm").stdout;
        let symbols = String::from_utf8(symbols).unwrap();
        let functions = symbols.lines().filter_map(|line| match *line.split_whitespace().collect::<Vec<_>>() {
            [_, "T" | "W" | "i", name] if !name.ends_with("GLIBC_PRIVATE") => name.split('@').next(),
            _ => None,
        });
        functions.map(String::from).collect()
    }

    #[test]
    fn each_function_of_the_c_library_is_known_to_be_harmless_or_unseen_or_recorded() {
        let harmless = Names::read(include_str!("harmless_functions.txt"));
        let in_front: HashSet<String> = crate::runtime::in_front().unwrap().into_iter().collect();
        let exported = exported();
        assert!(exported.len() > 2000, "{} functions", exported.len());
        let new: Vec<_> = exported
            .iter()
            .filter(|name| !in_front.contains(*name) && !harmless.contain(name) && !UNSEEN.contain(name))
            .collect();
        assert!(new.is_empty(), "say of these in which list they belong: {new:?}");
        let both: Vec<_> = harmless.whole.iter().filter(|name| UNSEEN.contain(name)).collect();
        assert!(both.is_empty(), "in both lists: {both:?}");
        let recorded: Vec<_> = exported.iter().filter(|n| in_front.contains(*n) && UNSEEN.contain(n)).collect();
        assert!(recorded.is_empty(), "these are recorded now: {recorded:?}");
    }
}
