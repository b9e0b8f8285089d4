//! Makes the turns of a failure fewer: a run that fails after two changes of thread says more than one that fails after twenty.
//!
//! Greedy: two turns of one thread are put together, before or after what other threads do in between, if the run still fails. That is tried
//! until no pair is left or enough runs were made. The result has no fewer turns than it needs for this way of failing, as far as single moves can
//! tell; it need not be the least of all.

use crate::turns::{Turn, add, is_choice};

/// Fewer turns that still fail, by at most so many runs; `fails` makes a run.
pub fn minimise<E>(
    mut turns: Vec<Turn>,
    most_runs: usize,
    mut fails: impl FnMut(&[Turn]) -> Result<bool, E>,
) -> Result<Vec<Turn>, E> {
    let mut runs = 0;
    let mut at = 0;
    // From the front: what comes first must be as it was for the rest to make sense.
    while at < turns.len() && runs < most_runs {
        let Some(fewer) = together(&turns, at) else {
            at += 1;
            continue;
        };
        let mut shorter = None;
        for candidate in fewer {
            runs += 1;
            if fails(&candidate)? {
                shorter = Some(candidate);
                break;
            }
        }
        match shorter {
            Some(shorter) => turns = shorter,
            None => at += 1,
        }
    }
    Ok(turns)
}

/// The turn at this place put together with the next one of its thread: what lies between comes after both, or before both.
fn together(turns: &[Turn], at: usize) -> Option<[Vec<Turn>; 2]> {
    let [thread, steps] = turns[at];
    // What comes of a choice stays with the step that makes it.
    if is_choice(turns[at]) || turns.get(at + 1).is_some_and(|turn| is_choice(*turn)) {
        return None;
    }
    let next = at + 1 + turns[at + 1..].iter().position(|turn| turn[0] == thread)?;
    let both = [thread, steps + turns[next][1]];
    let (before, between, after) = (&turns[..at], &turns[at + 1..next], &turns[next + 1..]);
    // A choice of the second turn comes right after it.
    let choices = after.iter().take_while(|turn| is_choice(**turn)).count();
    let (chosen, after) = after.split_at(choices);
    let first = [before, &[both], chosen, between, after].concat();
    let last = [before, between, &[both], chosen, after].concat();
    Some([first, last].map(|turns| {
        let mut joined = Vec::new();
        turns.into_iter().for_each(|turn| add(&mut joined, turn));
        joined
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns_of(threads: impl IntoIterator<Item = u32>) -> Vec<Turn> {
        let mut turns = Vec::new();
        threads.into_iter().for_each(|thread| add(&mut turns, [thread, 1]));
        turns
    }

    #[test]
    fn turns_that_do_not_matter_are_put_together() {
        // It fails if the second step of thread 1 comes after the first of thread 2 and before the second.
        let fails = |turns: &[Turn]| {
            let threads: Vec<u32> = turns.iter().flat_map(|&[thread, steps]| vec![thread; steps as usize]).collect();
            let nth = |thread, nth| threads.iter().enumerate().filter(|(_, t)| **t == thread).nth(nth).unwrap().0;
            Ok::<bool, ()>(nth(2, 0) < nth(1, 1) && nth(1, 1) < nth(2, 1))
        };
        let long = turns_of([1, 3, 2, 3, 1, 3, 2, 3, 1, 2]);
        assert!(fails(&long).unwrap());
        let short = minimise(long, 100, fails).unwrap();
        assert!(fails(&short).unwrap());
        assert_eq!(short.len(), 4, "{short:?}");
        assert_eq!(short.iter().map(|turn| turn[1]).sum::<u32>(), 10);
    }

    #[test]
    fn no_more_runs_are_made_than_allowed() {
        let mut runs = 0;
        let long = turns_of((0..40).map(|step| step % 2));
        let same = minimise(long.clone(), 5, |_| {
            runs += 1;
            Ok::<bool, ()>(false)
        });
        assert_eq!(same, Ok(long));
        assert!(runs <= 6, "{runs}");
    }
}
