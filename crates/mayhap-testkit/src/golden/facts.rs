//! The facts of golden cases, as their files contain them.

use std::collections::BTreeMap;

use mayhap_witness::Model;
use serde::Deserialize;

/// A pair of locations.
pub type Pair = (String, String);

/// The facts of a case; see `corpus/README.md`.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CaseFacts {
    /// What a counterexample refutes.
    pub claim: Option<String>,
    /// Remarks.
    pub note: Option<String>,
    /// Why it is so.
    pub reason: Option<String>,
    /// All races, by order or model.
    pub races: RaceSets,
    /// Whether there is a deadlock.
    pub deadlock: Truth,
    /// Single races.
    pub race: Vec<PairFact>,
    /// Events that can, or cannot, both be next.
    pub both_next: Vec<PairFact>,
    /// Sequences.
    pub sequence: Vec<SequenceFact>,
    /// Nondeterministic reads.
    pub triplet: Vec<TripletFact>,
    /// An order of all events.
    pub all_events: Option<AllEventsFact>,
    /// Pairs of WCP.
    pub wcp: OrderFact,
    /// The worked example of iPA.
    pub ipa: Option<IpaFact>,
    /// The worked example of choice graphs.
    pub choice: Option<ChoiceFact>,
}

/// What is true in which model; `None` where nothing is claimed.
#[derive(Clone, Copy, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Truth {
    /// In the data model.
    pub data: Option<bool>,
    /// In the value model.
    pub value: Option<bool>,
    /// In the branch model.
    pub branch: Option<bool>,
    /// In the causal model.
    pub causal: Option<bool>,
    /// In the sync model.
    pub sync: Option<bool>,
}

impl Truth {
    /// In this model.
    pub fn under(&self, model: Model) -> Option<bool> {
        match model {
            Model::Data => self.data,
            Model::Value => self.value,
            Model::Branch => self.branch,
            Model::Causal => self.causal,
            Model::Sync => self.sync,
        }
    }

    /// The models about which something is claimed.
    pub fn claims(&self) -> impl Iterator<Item = (Model, bool)> + use<> {
        let truth = *self;
        Model::ALL.into_iter().filter_map(move |model| Some((model, truth.under(model)?)))
    }
}

/// Complete sets of races, as pairs of locations.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RaceSets {
    /// By HB.
    pub hb: Option<Vec<Pair>>,
    /// By CP.
    pub cp: Option<Vec<Pair>>,
    /// By WCP.
    pub wcp: Option<Vec<Pair>>,
    /// By the printed algorithm of WCP, which errs.
    pub wcp_printed: Option<Vec<Pair>>,
    /// That can be scheduled in the data model.
    pub data: Option<Vec<Pair>>,
}

macro_rules! truth {
    ($fact:ident) => {
        impl $fact {
            /// What is true in which model.
            pub fn truth(&self) -> Truth {
                Truth { data: self.data, value: self.value, branch: self.branch, causal: self.causal, sync: self.sync }
            }
        }
    };
}

/// Whether two events can both be next.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairFact {
    /// Their locations.
    pub events: Pair,
    /// Their lock locations, if these differ.
    pub locations: Option<Pair>,
    /// In the data model.
    pub data: Option<bool>,
    /// In the value model.
    pub value: Option<bool>,
    /// In the branch model.
    pub branch: Option<bool>,
    /// In the causal model.
    pub causal: Option<bool>,
    /// In the sync model.
    pub sync: Option<bool>,
    /// What named algorithms say.
    #[serde(default)]
    pub said: BTreeMap<String, bool>,
}
truth!(PairFact);

/// Whether events can run in this order.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SequenceFact {
    /// Their locations.
    pub events: Vec<String>,
    /// In the data model.
    pub data: Option<bool>,
    /// In the value model.
    pub value: Option<bool>,
    /// In the branch model.
    pub branch: Option<bool>,
    /// In the causal model.
    pub causal: Option<bool>,
    /// In the sync model.
    pub sync: Option<bool>,
    /// What named algorithms say.
    #[serde(default)]
    pub said: BTreeMap<String, bool>,
    /// The tables of SeqCheck.
    pub seqcheck: Option<SeqcheckFact>,
}
truth!(SequenceFact);

/// The tables of SeqCheck on its worked example, by event number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeqcheckFact {
    /// The candidate set.
    pub f: Vec<u64>,
    /// Observation order.
    pub c_oo: Vec<(u64, u64)>,
    /// Lock order.
    pub c_lo: Vec<(u64, u64)>,
    /// Sequence order.
    pub c_so: Vec<(u64, u64)>,
    /// What closing adds.
    pub closure_adds: Vec<(u64, u64)>,
    /// The schedule of the paper.
    pub linearisation: Vec<u64>,
}

/// Whether a read can see another write.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TripletFact {
    /// The write that the read saw.
    pub write: String,
    /// The read.
    pub read: String,
    /// The other write.
    pub other: String,
    /// 1: other, read, write. 2: write, other, read. 3: other, read, and no write.
    pub kind: u8,
    /// In the data model.
    pub data: Option<bool>,
    /// What named algorithms say.
    #[serde(default)]
    pub said: BTreeMap<String, bool>,
    /// Remarks.
    pub note: Option<String>,
}

/// Whether all events can run in an order with these pairs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllEventsFact {
    /// First before second.
    pub before: Vec<Pair>,
    /// In the sync model.
    pub sync: bool,
    /// Rule 1 with transitive paths finds a cycle.
    pub rule1_finds_cycle: bool,
    /// The smallest k at which k-lookahead finds a cycle.
    pub lookahead_cycle_at: Option<u32>,
    /// k-lookahead finds no cycle at any k.
    #[serde(default)]
    pub lookahead_silent: bool,
    /// Whether literal k-lookahead finds a cycle, by k.
    #[serde(default)]
    pub lookahead_literal: BTreeMap<String, bool>,
    /// The same where cyclic selections count as vacuous.
    #[serde(default)]
    pub lookahead_vacuous: BTreeMap<String, bool>,
    /// How many choice graphs there are.
    pub choice_graphs: Option<u32>,
    /// How many of them have no cycle.
    pub acyclic_choice_graphs: Option<u32>,
}

/// Pairs that an order has and has not.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OrderFact {
    /// First before second.
    pub ordered: Vec<Pair>,
    /// In no order.
    pub unordered: Vec<Pair>,
}

/// The worked example of iPA.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IpaFact {
    /// Where the search starts.
    pub start_pair: Pair,
    /// Pair and rule of each step of the first search.
    pub table2: Vec<(String, String)>,
    /// Pairs kept for later searches.
    pub incpairs: Vec<String>,
    /// Remarks on the counts.
    pub comment: Option<String>,
    /// Counts as printed.
    pub paper: BTreeMap<String, u32>,
    /// Counts as measured.
    pub measured: Option<IpaCounts>,
}

/// How many moves the searches of iPA's worked example take.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IpaCounts {
    /// Moves of the first search.
    pub first_moves: u32,
    /// Pairs that it visits.
    pub first_pairs_visited: u32,
    /// Moves of all later searches together, incremental.
    pub incremental_rest_moves: u32,
    /// Moves of a fresh search for each target.
    pub fresh_moves_per_target: Vec<u32>,
    /// Their sum.
    pub non_incremental: u32,
    /// Edges of the whole grid, all targets.
    pub naive: u32,
    /// The same by target.
    pub naive_per_target: Vec<u32>,
}

/// The worked example of choice graphs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChoiceFact {
    /// The cycle that refutes kind 1.
    pub cycle_kind1: Vec<String>,
    /// Edges induced by locks.
    pub induced: Vec<Pair>,
}

/// What published tools report on one trace.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// How many events the trace has.
    pub events: usize,
    /// By lockset.
    pub lockset: Count,
    /// By HB.
    pub hb: Count,
    /// By SHB.
    pub shb: Count,
    /// By WCP.
    pub wcp: Count,
    /// Sync-preserving races.
    pub syncp: Count,
    /// By optimistic reversals, proven.
    pub osr: Count,
    /// By M2, proven.
    pub m2: Option<Count>,
}

/// Racy events and the distinct locations of the later event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// Racy events.
    pub events: usize,
    /// Their locations.
    pub locations: usize,
}
