//! The engines by name.

use mayhap_predict::{Auto, Choice, Context, Engine, Exact, Ipa, PolygraphEngine, SeqCheck, Strategy, Ucg};

/// An engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EngineName {
    /// Cheapest sufficient evidence first, exact search last.
    #[default]
    Auto,
    /// Lock histories of two threads; refutes races in model `sync`.
    Ipa1,
    /// Lock histories from snapshots; proves races in model `sync`.
    Ipa2,
    /// Universal causal graph; refutes, and suspects what it cannot refute.
    Ucg,
    /// Polygraph of the whole slice: causal precedence, lookahead, then backtracking.
    Polygraph,
    /// Closed sets of events and a greedy order of them.
    Seqcheck,
    /// Witness-order and choice graphs, for nondeterministic reads.
    Choice,
    /// Search with backtracking, without the shortcuts of `auto`.
    Exact,
}

impl EngineName {
    /// All engines.
    pub const ALL: [EngineName; 8] = [
        EngineName::Auto,
        EngineName::Ipa1,
        EngineName::Ipa2,
        EngineName::Ucg,
        EngineName::Polygraph,
        EngineName::Seqcheck,
        EngineName::Choice,
        EngineName::Exact,
    ];

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            EngineName::Auto => "auto",
            EngineName::Ipa1 => "ipa1",
            EngineName::Ipa2 => "ipa2",
            EngineName::Ucg => "ucg",
            EngineName::Polygraph => "polygraph",
            EngineName::Seqcheck => "seqcheck",
            EngineName::Choice => "choice",
            EngineName::Exact => "exact",
        }
    }

    /// What it does, in a few words.
    pub fn summary(self) -> &'static str {
        match self {
            EngineName::Auto => "Cheapest sufficient evidence first, exact at the end",
            EngineName::Ipa1 => "Lock histories of two threads: refutes races in `sync`",
            EngineName::Ipa2 => "Lock histories from snapshots: proves races in `sync`",
            EngineName::Ucg => "Universal causal graph: refutes in `sync`, and suspects what it cannot refute",
            EngineName::Polygraph => "Polygraph of the whole slice, causal precedence, lookahead, then backtracking",
            EngineName::Seqcheck => "Closed sets and their greedy order, adjacency, branches",
            EngineName::Choice => "Witness-order and choice graphs: nondeterministic reads",
            EngineName::Exact => "Search with backtracking, without the shortcuts of `auto`",
        }
    }

    /// Returns the engine, for one trace. `literal`: as its paper has it, where that differs.
    pub fn engine<'c, 'a>(self, context: &'c Context<'a>, literal: bool) -> Box<dyn Engine + 'c> {
        let execution = context.execution;
        match self {
            EngineName::Auto => Box::new(Auto::new(context)),
            EngineName::Ipa1 => Box::new(Ipa::new(execution, Strategy::One).literal(literal)),
            EngineName::Ipa2 => Box::new(Ipa::new(execution, Strategy::Two).literal(literal)),
            EngineName::Ucg => Box::new(Ucg::new(execution)),
            EngineName::Polygraph => Box::new(PolygraphEngine::new(context)),
            EngineName::Seqcheck => Box::new(SeqCheck::new(execution, literal)),
            EngineName::Choice => Box::new(Choice::new(execution, literal)),
            EngineName::Exact => Box::new(Exact::new(context)),
        }
    }
}
