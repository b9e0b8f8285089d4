//! Which hooks of a file follow others.
//!
//! A hook that is part of the code ends with three registers that say how the ring is ([`super::inline_hooks`]). One that is only ever come to
//! from such hooks, by ways on which nothing changes these registers, need not ask for all that again: the ring's head is where the one before
//! left it, or something else happened. That check says nothing of the room in the ring, so only so many units follow one check of that.
//!
//! Calls may change those registers, and compilers keep nothing in them across hooks, which are calls to them: where they are not named, they stay.

use std::collections::{HashMap, HashSet};

use mayhap_wire::fast_path::TOGETHER;

use super::loops::{Loops, jump};
use super::{HARMLESS, is_label, is_target};

/// What [`super::inline_hooks`] leaves in registers.
const KEPT: [&str; 3] = ["%r9", "%r10", "%r11"];
/// The most units that one access takes in the ring.
const LONGEST: u64 = 3;

/// A line that announces accesses.
pub(super) enum Announces {
    /// A hook that is part of the code announces so many.
    InlineHook(u64),
    /// Another hook has announced it.
    Nothing,
}

/// What is known where control comes to a line.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Nobody was seen to come here.
    Unseen,
    /// So many units may have been written since the last check of room, and the registers are as a hook left them.
    Behind(u64),
    Unknown,
}

impl State {
    /// What is known where both ways meet.
    fn or(self, other: State) -> State {
        match (self, other) {
            (State::Unseen, state) | (state, State::Unseen) => state,
            (State::Behind(one), State::Behind(other)) => State::Behind(one.max(other)),
            _ => State::Unknown,
        }
    }
}

/// The lines of the hooks that follow others.
pub(super) fn find(loops: &Loops, announces: &HashMap<usize, Announces>) -> HashSet<usize> {
    let lines = loops.lines();
    let mut states = vec![State::Unseen; lines.len()];
    let mut ways: Vec<usize> = Vec::new();
    let is_node = |label: &str| is_target(label) || loops.is_mentioned(label);
    // Where control may come from anywhere.
    let is_entry = |label: &str| !label.starts_with(".L") || loops.is_mentioned(label);
    for (number, code) in lines.iter().enumerate() {
        if number == 0 || label(code).is_some_and(is_entry) {
            states[number] = State::Unknown;
            ways.push(number);
        }
    }
    let mut behind = HashSet::new();
    // What is known at a label only ever becomes less, so this ends; the last way from each label is that of what is known at last.
    while let Some(begin) = ways.pop() {
        let mut state = states[begin];
        let mut come_to = |line: usize, state: State| {
            let known = states[line].or(state);
            if known != states[line] {
                states[line] = known;
                ways.push(line);
            }
        };
        for (number, code) in lines.iter().enumerate().skip(begin + 1) {
            let first = code.split([' ', '\t']).next().unwrap_or("");
            if let Some(label) = label(code) {
                if is_node(label) {
                    come_to(number, state);
                    break;
                }
            } else if let Some((always, to)) = jump(code) {
                if let Some(line) = loops.label(to) {
                    come_to(line, state);
                }
                if always {
                    break;
                }
            } else if let Some(announces) = announces.get(&number) {
                let Announces::InlineHook(count) = announces else { continue };
                state = match state {
                    State::Behind(units) if units + count <= TOGETHER => {
                        behind.insert(number);
                        State::Behind(units + count)
                    }
                    _ => {
                        behind.remove(&number);
                        State::Behind(LONGEST * count)
                    }
                };
            } else if matches!(first, "ret" | "retq" | "ud2" | "hlt") {
                break;
            } else if changes(code, first) {
                state = State::Unknown;
            }
        }
    }
    behind
}

/// The line may change a register that hooks leave something in, or may be come to from elsewhere.
fn changes(code: &str, first: &str) -> bool {
    let is_directive = first.starts_with('.');
    is_directive && !HARMLESS.iter().any(|harmless| code.starts_with(harmless))
        || matches!(first, "call" | "callq" | "#APP" | "#NO_APP" | "syscall" | "rep")
        || first.contains(':')
        || KEPT.iter().any(|register| code.contains(register))
}

/// The label that a line is.
fn label(code: &str) -> Option<&str> {
    code.strip_suffix(':').filter(|label| is_label(label))
}
