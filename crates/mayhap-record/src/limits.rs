//! What the user wants left out of a recording, and how much of it is to be kept.

use mayhap_symbols::Place;
use serde::{Deserialize, Serialize};

/// What to leave out. The default leaves out nothing.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// Accesses in functions or files that one of these patterns matches are left out.
    pub exclude: Vec<String>,
    /// If there are any: only accesses in functions or files that one of these matches are kept.
    pub only: Vec<String>,
    /// Bytes that the recording may take on the disk; once it takes so many, the rest of the run is left out.
    pub max_size: Option<u64>,
    /// Only this many of the last steps are kept.
    pub last: Option<u64>,
}

impl Limits {
    /// Some accesses are left out by where they are.
    pub(crate) fn choose_places(&self) -> bool {
        !self.exclude.is_empty() || !self.only.is_empty()
    }

    /// Accesses at this place are left out.
    pub(crate) fn excludes(&self, place: &Place) -> bool {
        let file = place.line.rsplit_once(':').map_or(place.line.as_str(), |(file, _)| file);
        let matched = |patterns: &[String]| patterns.iter().any(|p| matches(p, &place.function) || is_file(p, file));
        matched(&self.exclude) || (!self.only.is_empty() && !matched(&self.only))
    }
}

/// The pattern matches the path or the end of it from a folder on.
fn is_file(pattern: &str, path: &str) -> bool {
    matches(pattern, path) || path.match_indices('/').any(|(at, _)| matches(pattern, &path[at + 1..]))
}

/// `*` stands for any text, `?` for any one character.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where the latest star is, and how much of the text it has been tried with.
    let mut star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, tried)) => {
                    star = Some((at, tried + 1));
                    p = at + 1;
                    t = tried + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_text() {
        for (pattern, text, expected) in [
            ("work", "work", true),
            ("work", "worker", false),
            ("work*", "worker", true),
            ("*er", "worker", true),
            ("w?rk*", "worker", true),
            ("*a*b*c", "xxaybzbc", true),
            ("*a*b*c", "xxaybzb", false),
            ("", "", true),
            ("?", "", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn places_are_chosen_by_function_or_file() {
        let place = |function: &str, line: &str| Place { function: function.into(), line: line.into(), column: None };
        let limits = |exclude: &[&str], only: &[&str]| Limits {
            exclude: exclude.iter().map(|s| s.to_string()).collect(),
            only: only.iter().map(|s| s.to_string()).collect(),
            ..Limits::default()
        };
        let here = place("zlib::deflate", "src/zlib/deflate.c:12");
        assert!(limits(&["*deflate"], &[]).excludes(&here));
        assert!(limits(&["deflate.c"], &[]).excludes(&here));
        assert!(limits(&["zlib/*"], &[]).excludes(&here));
        assert!(!limits(&["eflate.c"], &[]).excludes(&here));
        assert!(!limits(&[], &["src/*"]).excludes(&here));
        assert!(limits(&[], &["main.c"]).excludes(&here));
        assert!(limits(&["deflate.c"], &["src/*"]).excludes(&here));
        assert!(!limits(&[], &[]).choose_places());
    }
}
