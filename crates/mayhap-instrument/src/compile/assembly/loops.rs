//! How control flows through the code of a file: its labels, what leads to them, and where it loops.

use std::collections::{HashMap, HashSet};

use super::{access, bare, function};

/// The loops of a file.
pub(super) struct Loops<'a> {
    lines: Vec<&'a str>,
    /// The lines of the labels that compilers make.
    labels: HashMap<&'a str, usize>,
    /// Those of them that are more than the ends of jumps.
    mentioned: HashSet<&'a str>,
    /// The lines that something jumps back over.
    inside: Vec<bool>,
}

/// Lines looked at to find a way back.
const FAR: usize = 1000;

impl<'a> Loops<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let lines: Vec<&str> = text.lines().map(bare).collect();
        let mut labels = HashMap::new();
        // How many loops begin at a line, less those that end before it.
        let mut changes = vec![0i32; lines.len() + 1];
        for (number, line) in lines.iter().enumerate() {
            if let Some(label) = line.strip_suffix(':').filter(|label| label.starts_with(".L")) {
                labels.insert(label, number);
            } else if let Some(begin) = jump(line).and_then(|(_, to)| labels.get(to)) {
                changes[*begin] += 1;
                changes[number] -= 1;
            }
        }
        let mut depth = 0;
        let inside = changes.into_iter().map(|change| {
            depth += change;
            depth > 0
        });
        Loops { inside: inside.collect(), mentioned: mentioned(&lines, &labels), lines, labels }
    }

    /// Returns the lines, without the space around them.
    pub(super) fn lines(&self) -> &[&'a str] {
        &self.lines
    }

    /// The line of a label that a compiler made.
    pub(super) fn label(&self, name: &str) -> Option<usize> {
        self.labels.get(name).copied()
    }

    /// Control may come to a label from where no jump to it stands: its address is taken, or exceptions lead there.
    pub(super) fn is_mentioned(&self, label: &str) -> bool {
        self.mentioned.contains(label)
    }

    /// Whether a line is in a loop.
    pub(super) fn contain(&self, line: usize) -> bool {
        self.inside.get(line).is_some_and(|inside| *inside)
    }

    /// Whether a line that announces an access may be the next to do so, so that the same may be announced again and again.
    pub(super) fn may_repeat(&self, line: usize) -> bool {
        let mut seen = HashSet::new();
        let mut ways = vec![line + 1];
        while let Some(mut at) = ways.pop() {
            while let Some(code) = self.lines.get(at) {
                if at == line || seen.len() > FAR {
                    return true;
                }
                if !seen.insert(at) {
                    break;
                }
                at += 1;
                match jump(code) {
                    Some((always, to)) => {
                        match self.labels.get(to) {
                            Some(to) => ways.push(*to),
                            None if to.starts_with('*') => return true,
                            None => {}
                        }
                        if always {
                            break;
                        }
                    }
                    None if leaves(code) => break,
                    None => {}
                }
            }
        }
        false
    }
}

/// The labels that are named elsewhere than in jumps to them and in debug information.
fn mentioned<'a>(lines: &[&'a str], labels: &HashMap<&'a str, usize>) -> HashSet<&'a str> {
    let mut mentioned = HashSet::new();
    let (mut inline, mut debug) = (false, false);
    for line in lines {
        match line.split_once([' ', '\t']).unwrap_or((line, "")) {
            ("#APP", _) => inline = true,
            ("#NO_APP", _) => inline = false,
            (".section" | ".pushsection", name) => debug = name.trim_start_matches('"').starts_with(".debug_"),
            (".text" | ".data" | ".bss" | ".previous" | ".popsection" | ".subsection", _) => debug = false,
            _ => {}
        }
        let is_jump = !inline && jump(line).is_some_and(|(_, to)| labels.contains_key(to));
        if debug || is_jump || line.ends_with(':') {
            continue;
        }
        for (at, _) in line.match_indices(".L") {
            let name = &line[at..];
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = name[2..].find(|c| !is_part(c)).map_or(name.len(), |end| end + 2);
            if labels.contains_key(&name[..end]) {
                mentioned.insert(&name[..end]);
            }
        }
    }
    mentioned
}

/// Where a line jumps to, and whether it always does.
pub(super) fn jump(line: &str) -> Option<(bool, &str)> {
    let line = line.strip_prefix("notrack").map_or(line, str::trim_start);
    let (name, to) = line.split_once([' ', '\t'])?;
    name.starts_with('j').then(|| (matches!(name, "jmp" | "jmpq"), to.trim()))
}

/// Control does not come to the next line, or an access is announced.
fn leaves(line: &str) -> bool {
    match line.split_once([' ', '\t']) {
        Some(("call" | "callq", to)) => access(function(to.trim())).is_some(),
        _ => matches!(line, "ret" | "retq" | "rep ret" | "ud2" | "hlt"),
    }
}
