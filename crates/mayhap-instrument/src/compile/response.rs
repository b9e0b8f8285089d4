//! Response files: `@FILE` among the arguments stands for those in the file.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// How deep response files may name others: a file that names itself ends somewhere.
const DEEPEST: u32 = 16;

/// The arguments in the file that an argument names, if it names one that can be read.
pub(super) fn read(argument: &OsStr, depth: u32) -> Option<Vec<OsString>> {
    let path = argument.as_bytes().strip_prefix(b"@")?;
    if depth >= DEEPEST {
        return None;
    }
    std::fs::read(OsStr::from_bytes(path)).ok().map(|text| split(&text))
}

/// Splits as gcc and clang do: at white space, except where it is quoted by `'`, `"` or a backslash.
fn split(text: &[u8]) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut current: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => current.get_or_insert_default().extend(bytes.next()),
            (_, Some(open)) if byte == open => quote = None,
            (_, Some(_)) => current.get_or_insert_default().push(byte),
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                current.get_or_insert_default();
            }
            (b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c, None) => {
                arguments.extend(current.take().map(OsString::from_vec))
            }
            (_, None) => current.get_or_insert_default().push(byte),
        }
    }
    arguments.extend(current.map(OsString::from_vec));
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_separates_unless_quoted() {
        let cases: [(&str, &[&str]); 7] = [
            ("", &[]),
            ("-c a.c\n\t-O2 ", &["-c", "a.c", "-O2"]),
            ("'a b' \"c d\" e\\ f", &["a b", "c d", "e f"]),
            ("-D'X=\"y\"'", &["-DX=\"y\""]),
            ("'it\\'s'", &["it's"]),
            ("'' x", &["", "x"]),
            ("end\\", &["end"]),
        ];
        for (text, expected) in cases {
            assert_eq!(split(text.as_bytes()), expected, "{text:?}");
        }
    }
}
