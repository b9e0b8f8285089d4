//! Turns: which threads make the steps of a run, and what comes of the choices that they make.

use mayhap_record::TurnStep;
use mayhap_wire::ring::{CHOICE_SHIFT, TURN_CHOICE};

/// A turn: a thread and how many steps it makes. Or, with a mark at the thread, what comes of a choice in its last step.
pub type Turn = [u32; 2];

/// What comes of a choice of a thread.
pub fn chosen(thread: u32, kind: u32, alternative: u32) -> Turn {
    [thread | TURN_CHOICE, kind << CHOICE_SHIFT | alternative]
}

/// The turn is no turn, but what comes of a choice.
pub fn is_choice(turn: Turn) -> bool {
    turn[0] & TURN_CHOICE != 0
}

/// The turns of these steps.
pub fn turns_of<'a>(steps: impl IntoIterator<Item = &'a TurnStep>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for step in steps {
        add(&mut turns, [step.thread, 1]);
        for (kind, _, taken) in step.choices().filter(|(.., taken)| *taken != 0) {
            turns.push(chosen(step.thread, kind, taken));
        }
    }
    turns
}

/// Adds a turn; together with the last one if that is of the same thread.
pub fn add(turns: &mut Vec<Turn>, turn: Turn) {
    match turns.last_mut() {
        Some([thread, steps]) if *thread == turn[0] && !is_choice(turn) => *steps += turn[1],
        _ => turns.push(turn),
    }
}

/// The turns of the first steps.
pub fn prefix(turns: &[Turn], mut steps: u32) -> Vec<Turn> {
    let mut first = Vec::new();
    for &turn in turns {
        if is_choice(turn) {
            first.push(turn);
            continue;
        }
        if steps == 0 {
            break;
        }
        let [thread, count] = turn;
        first.push([thread, count.min(steps)]);
        if count > steps {
            break;
        }
        steps -= count;
    }
    first
}

/// Whether a run made these turns first.
pub fn follows(given: &[Turn], steps: &[TurnStep]) -> bool {
    let mut at = 0usize;
    given.iter().all(|&turn| {
        let [thread, count] = turn;
        if is_choice(turn) {
            let last = at.checked_sub(1).and_then(|last| steps.get(last));
            return last
                .is_some_and(|step| step.choices().any(|(kind, _, taken)| chosen(step.thread, kind, taken) == turn));
        }
        let made = steps.get(at..at + count as usize);
        at += count as usize;
        made.is_some_and(|made| made.iter().all(|step| step.thread == thread))
    })
}

#[cfg(test)]
mod tests {
    use mayhap_record::Operation;

    use super::*;

    fn step(thread: u32, taken: Option<u32>) -> TurnStep {
        let operations = taken.map(|taken| Operation::Choice(1, 3, taken)).into_iter().collect();
        TurnStep { thread, code: 0, operations }
    }

    #[test]
    fn choices_stand_after_the_steps_that_make_them() {
        let steps = [step(1, None), step(1, Some(2)), step(1, Some(0)), step(2, None)];
        let turns = turns_of(&steps);
        assert_eq!(turns, [[1, 2], chosen(1, 1, 2), [1, 1], [2, 1]]);
        assert!(follows(&turns, &steps));
        assert!(!follows(&turns, &[step(1, None), step(1, Some(1)), step(1, Some(0)), step(2, None)]));
        assert!(!follows(&turns, &steps[..3]));
        assert_eq!(prefix(&turns, 1), [[1, 1]]);
        assert_eq!(prefix(&turns, 2), turns[..2]);
        assert_eq!(prefix(&turns, 3), turns[..3]);
        assert_eq!(prefix(&turns, 0), [] as [Turn; 0]);
    }
}
