//! What is learnt from a run: all that the choice of further runs depends on. A run that was kept is as good as one that was made.

use mayhap_record::{TurnStep, UnorderedPair};
use mayhap_wire::ring::choice;

use crate::Error;
use crate::run::Tried;

/// The most steps of a run that are looked at.
const MOST_STEPS: usize = 30_000;

/// What is learnt from a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// Its steps, if it was made in turns and is not too long.
    pub steps: Vec<TurnStep>,
    /// What decided its way that is not seen in the steps.
    pub unseen: Vec<String>,
    /// It was ended because its time was up.
    pub late: bool,
    /// It has too many steps to be looked at.
    pub too_long: bool,
    /// It ended with exit code 0.
    pub success: bool,
    /// Accesses that nothing ordered in it.
    pub races: Vec<UnorderedPair>,
}

/// A run that is to be part of a manifest.
#[derive(Clone, Debug)]
pub struct Made {
    /// All of its steps.
    pub steps: Vec<TurnStep>,
    /// It ended with exit code 0.
    pub success: bool,
    /// What went wrong in it.
    pub failed: Option<String>,
    /// It was not made.
    pub is_derived: bool,
}

impl Outcome {
    /// Of a run that was made in turns.
    pub fn in_turns(tried: &Tried) -> Result<Outcome, Error> {
        let steps = tried.capture.turn_steps()?;
        let too_long = steps.len() > MOST_STEPS;
        let mut unseen: Vec<String> =
            tried.capture.sources().into_iter().map(|source| format!("the program uses {source}")).collect();
        if tried.capture.kernel_decided() {
            unseen.push("calls whose end the kernel decides".into());
        }
        let steps = if too_long || tried.late { Vec::new() } else { steps };
        Ok(Outcome { steps, unseen, too_long, ..Outcome::drawn(tried)? })
    }

    /// Whether something failed in the run because that was chosen: an allocation, or a wait whose time was up.
    pub fn has_faults(&self) -> bool {
        self.steps.iter().flat_map(TurnStep::choices).any(|(kind, _, taken)| kind != choice::WAITER && taken != 0)
    }

    /// Of a run whose schedule was drawn.
    pub fn drawn(tried: &Tried) -> Result<Outcome, Error> {
        let (races, success) = (tried.capture.unordered()?, tried.capture.status.success());
        Ok(Outcome { late: tried.late, success, races, ..Outcome::default() })
    }
}
