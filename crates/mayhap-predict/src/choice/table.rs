//! The statistics of the paper's Table A1.

use super::answers::{ReadAnswers, Status};
use super::literal::{Outcome, ReadOutcomes};
use crate::EngineCounters;

/// One row of Table A1. A *witness* is one kind of one triplet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    /// Triplets.
    pub triplets: u64,
    /// Column 2: possible witnesses. Three a triplet for the paper's decision, two (kinds 2 and 3) for the corrected one.
    pub witnesses: u64,
    /// Column 3: a cycle without any choice made, so infeasible.
    pub cyclic: u64,
    /// Column 4: feasible, with no choice to make.
    pub without_choices: u64,
    /// Column 5: choices to make.
    pub with_choices: u64,
    /// Column 6, as the sum of its exponents: a witness with d pairs has 2 to the power d choice graphs.
    pub choice_pairs: u64,
    /// Column 7, summed: choice graphs looked at.
    pub explored_graphs: u64,
    /// Column 9: feasible witnesses.
    pub feasible: u64,
    /// Column 10: infeasible witnesses.
    pub infeasible: u64,
    /// Witnesses for which the budget ran out.
    pub undecided: u64,
}

impl Table {
    /// Adds the paper's outcomes for one read.
    pub fn add_outcomes(&mut self, outcomes: ReadOutcomes<'_>) {
        self.triplets += outcomes.len() as u64;
        for outcome in outcomes.iter().flat_map(|(_, kinds)| kinds) {
            self.witnesses += 1;
            match *outcome {
                Outcome::Cyclic => self.cyclic += 1,
                Outcome::Feasible => self.without_choices += 1,
                Outcome::Choices { pairs, explored, .. } => {
                    self.with_choices += 1;
                    self.choice_pairs += u64::from(pairs);
                    self.explored_graphs += explored;
                }
            }
            match outcome.feasible() {
                Some(true) => self.feasible += 1,
                Some(false) => self.infeasible += 1,
                None => self.undecided += 1,
            }
        }
    }

    /// Adds the corrected answers for one read. A question that answered for a group counts its graphs once and all the
    /// group's witnesses in column 5.
    pub(super) fn add_answers(&mut self, answers: &ReadAnswers) {
        self.triplets += answers.others.len() as u64;
        let (mut feasible, mut infeasible) = (0, 0);
        for status in answers.others.iter().flat_map(|(_, kinds)| kinds) {
            self.witnesses += 1;
            match status {
                Status::Planned(_) => feasible += 1,
                Status::Refuted(_) => infeasible += 1,
                Status::Unknown => self.undecided += 1,
            }
        }
        self.feasible += feasible;
        self.infeasible += infeasible;
        for group in &answers.choices {
            self.with_choices += u64::from(group.witnesses);
            self.choice_pairs += u64::from(group.pairs) * u64::from(group.witnesses);
            self.explored_graphs += group.explored;
            match group.feasible {
                Some(true) => feasible -= u64::from(group.witnesses),
                Some(false) => infeasible -= u64::from(group.witnesses),
                None => {}
            }
        }
        self.without_choices += feasible;
        self.cyclic += infeasible;
    }

    /// Adds triplets that are refuted without a question.
    pub(super) fn add_refuted(&mut self, triplets: u64) {
        self.triplets += triplets;
        self.witnesses += 2 * triplets;
        self.infeasible += 2 * triplets;
        self.cyclic += 2 * triplets;
    }

    /// Takes back witnesses that the kernel did not accept.
    pub(super) fn reject(&mut self, witnesses: u64) {
        self.feasible -= witnesses;
        self.undecided += witnesses;
    }

    /// Adds another row.
    pub fn add(&mut self, other: &Table) {
        self.triplets += other.triplets;
        self.witnesses += other.witnesses;
        self.cyclic += other.cyclic;
        self.without_choices += other.without_choices;
        self.with_choices += other.with_choices;
        self.choice_pairs += other.choice_pairs;
        self.explored_graphs += other.explored_graphs;
        self.feasible += other.feasible;
        self.infeasible += other.infeasible;
        self.undecided += other.undecided;
    }

    /// Returns the row as an engine's figures.
    pub fn counters(&self) -> EngineCounters {
        EngineCounters {
            figures: vec![
                ("triplets", self.triplets),
                ("witnesses", self.witnesses),
                ("witnesses.cyclic", self.cyclic),
                ("witnesses.without-choices", self.without_choices),
                ("witnesses.with-choices", self.with_choices),
                ("witnesses.feasible", self.feasible),
                ("witnesses.infeasible", self.infeasible),
                ("witnesses.undecided", self.undecided),
                ("choices.pairs", self.choice_pairs),
                ("choices.explored", self.explored_graphs),
            ],
        }
    }

    /// Column 6: the mean number of pairs to choose for, over the witnesses of column 5.
    pub fn pairs_per_choice(&self) -> f64 {
        if self.with_choices == 0 { 0.0 } else { self.choice_pairs as f64 / self.with_choices as f64 }
    }

    /// Column 7: the mean number of choice graphs looked at, over the witnesses of column 5.
    pub fn explored_per_choice(&self) -> f64 {
        if self.with_choices == 0 { 0.0 } else { self.explored_graphs as f64 / self.with_choices as f64 }
    }

    /// Column 11: graphs looked at per possible witness.
    pub fn graphs_per_witness(&self) -> f64 {
        let graphs = self.witnesses - self.with_choices + self.explored_graphs;
        if self.witnesses == 0 { 0.0 } else { graphs as f64 / self.witnesses as f64 }
    }
}
