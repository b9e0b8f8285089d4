//! Whether a program goes where its addresses lead it.
//!
//! A program that sorts by pointers, hashes them or looks at their bits does not call anybody for what differs from run to run. But
//! that can be taken from it: with fixed addresses it always does the same. So where a replay diverged and nothing else
//! explains it, it is made some more times with addresses as they come, and with fixed ones.

use crate::outcome::Outcome;
use crate::session::{Options, Replayed};

/// Replays of each sort.
const RUNS: usize = 3;

/// Whether addresses lead the program: `diverged` is a replay with addresses as they come, `replay` makes another.
pub fn decide_the_way<E>(diverged: &Replayed, mut replay: impl FnMut(bool) -> Result<Replayed, E>) -> Result<bool, E> {
    let mut outcomes = |fixed| (0..RUNS).map(|_| Ok(way(&replay(fixed)?))).collect::<Result<Vec<_>, E>>();
    let fixed = outcomes(true)?;
    if fixed.iter().any(|other| *other != fixed[0]) {
        return Ok(false);
    }
    let loose = outcomes(false)?;
    Ok(are_led(way(diverged), &loose, fixed[0]))
}

/// The same whenever addresses are fixed: they explain it if runs without differ from each other, or all from those.
fn are_led(first: Way, loose: &[Way], fixed: Way) -> bool {
    loose.iter().any(|other| *other != first) || first != fixed
}

/// What is compared of replays: the outcome, how far it came, and how many locks the program took in all.
type Way = (&'static str, usize, u64);

fn way(replayed: &Replayed) -> Way {
    let step = match replayed.outcome {
        Outcome::Diverged { step, .. } => step,
        _ => 0,
    };
    (replayed.outcome.word(), step, replayed.taken.locks_taken())
}

/// Options for such a replay.
pub fn quietly(options: Options, fixed: bool) -> Options {
    Options { capture: true, fixed, core: false, ..options }
}

#[cfg(test)]
mod tests {
    use super::are_led;

    #[test]
    fn runs_that_differ_only_where_addresses_do_are_led_by_them() {
        let (here, there) = (("diverged", 4, 7), ("confirmed", 0, 7));
        assert!(are_led(here, &[there, here, here], here));
        assert!(are_led(here, &[here, here, here], there));
        assert!(are_led(here, &[here, ("diverged", 4, 8), here], here), "it took another lock later");
        assert!(!are_led(here, &[here, here, here], here));
    }
}
