//! The order of words on the command line, before they are parsed.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::CommandFactory;

use super::Cli;

/// The subcommand that compiles a file, if it is C or C++ source.
pub(super) fn compiler_of(file: &OsStr) -> Option<&'static str> {
    match Path::new(file).extension()?.to_str()? {
        "c" => Some("cc"),
        "cc" | "cpp" | "cxx" | "C" => Some("c++"),
        _ => None,
    }
}

/// Puts the options that follow a source file before it: `mayhap run prog.c --html r.html 3` means
/// `mayhap run --html r.html -- prog.c 3`. Until a `--`, options are mayhap's and other words are the program's.
/// After an executable, all words are the program's.
pub fn arrange(words: Vec<OsString>) -> Vec<OsString> {
    let command = Cli::command();
    let Some(name) = words.get(1).and_then(|word| word.to_str()).filter(|&name| matches!(name, "run" | "explore"))
    else {
        return words;
    };
    let Some(command) = command.find_subcommand(name) else { return words };
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let Some(file) = first_positional(command, &words[2..end]).map(|at| at + 2) else { return words };
    if compiler_of(&words[file]).is_none() {
        return words;
    }
    let mut arranged: Vec<OsString> = words[..file].to_vec();
    let mut of_program = vec![OsString::from("--"), words[file].clone()];
    let mut rest = words[file + 1..end].iter();
    while let Some(word) = rest.next() {
        if !is_option(word) {
            of_program.push(word.clone());
            continue;
        }
        arranged.push(word.clone());
        if takes_next_word(command, word) {
            arranged.extend(rest.next().cloned());
        }
    }
    of_program.extend(words.iter().skip(end + 1).cloned());
    arranged.extend(of_program);
    arranged
}

/// Options of `mayhap run` among the words of a program that is not a source file, which gets them.
pub(super) fn misplaced(program: &[OsString]) -> Option<&OsString> {
    let command = Cli::command();
    let command = command.find_subcommand("run")?;
    let is_ours = |word: &&OsString| word.to_string_lossy().starts_with("--") && option(command, word).is_some();
    program.iter().skip(1).find(is_ours)
}

/// What to say of a word that stands in the place of the program and looks like an option.
pub(super) fn unknown_option(command: &str, word: &OsStr) -> Option<String> {
    let text = word.to_str().filter(|text| text.starts_with('-') && text.len() > 1 && !Path::new(text).exists())?;
    let cli = Cli::command();
    let options = cli.find_subcommand(command)?.get_arguments().filter_map(clap::Arg::get_long);
    let name = text.trim_start_matches('-').split('=').next().unwrap_or_default();
    let near = options.map(|option| (distance(name, option), option)).min().filter(|(far, _)| *far <= 2);
    let advice = match near {
        Some((_, option)) => format!("a similar one is --{option}"),
        None => format!("mayhap help {command} lists them all"),
    };
    Some(format!("unknown option {text}; {advice}"))
}

/// How many letters must be added, removed or replaced, or swapped with the next one, to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(40).collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// The position of the first word that is neither an option nor the value of one.
fn first_positional(command: &clap::Command, words: &[OsString]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if !is_option(word) {
            return Some(at);
        }
        at += 1 + usize::from(takes_next_word(command, word));
    }
    None
}

fn is_option(word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    text.len() > 1 && text.starts_with('-') && !text[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// The option that a word names.
fn option<'a>(command: &'a clap::Command, word: &OsStr) -> Option<&'a clap::Arg> {
    let text = word.to_string_lossy();
    let name = text.split('=').next().unwrap_or_default();
    command.get_arguments().find(|argument| match name.strip_prefix("--") {
        Some(long) => argument.get_long_and_visible_aliases().is_some_and(|names| names.contains(&long)),
        None => argument.get_short().is_some_and(|short| name == format!("-{short}")),
    })
}

/// The word is an option whose value is the next word.
fn takes_next_word(command: &clap::Command, word: &OsStr) -> bool {
    let has_value = word.to_string_lossy().contains('=');
    !has_value && option(command, word).is_some_and(|argument| argument.get_action().takes_values())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arranged(line: &str) -> String {
        let words = arrange(line.split(' ').map(OsString::from).collect());
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_after_a_source_file_are_ours() {
        assert_eq!(arranged("mayhap run prog.c --html r.html"), "mayhap run --html r.html -- prog.c");
        assert_eq!(arranged("mayhap run a.cpp 3 -q --runs=2 -5"), "mayhap run -q --runs=2 -- a.cpp 3 -5");
        assert_eq!(arranged("mayhap run prog.c -v -- -v --html"), "mayhap run -v -- prog.c -v --html");
        assert_eq!(arranged("mayhap run --no-replay prog.c 1"), "mayhap run --no-replay -- prog.c 1");
    }

    #[test]
    fn words_after_a_program_are_its_own() {
        for line in ["mayhap run ./prog --html x.c", "mayhap run -- prog.c --html x", "mayhap cc -o x prog.c", "mayhap"]
        {
            assert_eq!(arranged(line), line);
        }
        assert_eq!(arranged("mayhap run --html x.c ./prog a.c"), "mayhap run --html x.c ./prog a.c");
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(misplaced(&words("./prog --html r.html")).unwrap(), "--html");
        assert_eq!(misplaced(&words("./prog --port 80")), None);
    }

    #[test]
    fn a_mistyped_option_is_no_program() {
        let said = |word: &str| unknown_option("run", OsStr::new(word));
        assert_eq!(said("--htlm=x").unwrap(), "unknown option --htlm=x; a similar one is --html");
        assert_eq!(said("--savee").unwrap(), "unknown option --savee; a similar one is --save");
        assert_eq!(said("--frobnicate").unwrap(), "unknown option --frobnicate; mayhap help run lists them all");
        assert_eq!((said("./prog"), said("-")), (None, None));
        assert_eq!((distance("abc", "abc"), distance("acb", "abc"), distance("", "abc")), (0, 1, 3));
    }
}
