//! Turns: which threads make the steps of a run.

/// A turn: a thread and how many steps it makes.
pub type Turn = [u32; 2];

/// The turns of the steps of these threads.
pub fn turns_of(threads: impl IntoIterator<Item = u32>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for thread in threads {
        match turns.last_mut() {
            Some([last, steps]) if *last == thread => *steps += 1,
            _ => turns.push([thread, 1]),
        }
    }
    turns
}

/// The turns of the first steps.
pub fn prefix(turns: &[Turn], mut steps: u32) -> Vec<Turn> {
    let mut first = Vec::new();
    for &[thread, count] in turns {
        if steps == 0 {
            break;
        }
        first.push([thread, count.min(steps)]);
        steps -= count.min(steps);
    }
    first
}
