//! What is left of a budget while a question is decided.

use std::time::Instant;

use crate::verdict::{Budget, Short, Undecided, Verdict};

/// What is left of a [`Budget`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remaining {
    pub(crate) nodes: u64,
    until: Option<Instant>,
    pub(crate) region: u32,
    work: u64,
}

impl Remaining {
    pub(crate) fn new(budget: &Budget) -> Self {
        let until = budget.time.and_then(|time| Instant::now().checked_add(time));
        Remaining { nodes: budget.nodes, until, region: budget.region, work: budget.work }
    }

    /// So many decisions, with no limit of time.
    pub(crate) fn decisions(nodes: u64, region: u32) -> Self {
        Remaining { nodes, until: None, region, work: u64::MAX }
    }

    /// Pays for one decision.
    pub(crate) fn pay(&mut self) -> Result<(), Spent> {
        self.pay_for(1)
    }

    /// Pays for looking at so many events or nodes.
    pub(crate) fn spend(&mut self, work: u64) -> Result<(), Spent> {
        if self.work < work {
            return Err(Spent::Work);
        }
        self.work -= work;
        Ok(())
    }

    /// Pays for what costs as much as so many decisions.
    pub(crate) fn pay_for(&mut self, nodes: u64) -> Result<(), Spent> {
        let late = self.until.is_some_and(|until| Instant::now() >= until);
        if self.nodes == 0 || late {
            return Err(if late { Spent::Time } else { Spent::Nodes });
        }
        self.nodes = self.nodes.saturating_sub(nodes);
        Ok(())
    }
}

/// The budget ran out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spent {
    Nodes,
    Time,
    /// More than so many events would have to be taken out of their observed order.
    Region(u32),
    /// As many events and nodes as the question may take were looked at.
    Work,
    /// An attempt that failed may succeed in another order, which no event stands for.
    Attempt,
}

impl Spent {
    pub(crate) fn undecided(self) -> Verdict {
        let short = match self {
            Spent::Region(_) => Some(Short::Region),
            Spent::Work => Some(Short::Work),
            Spent::Nodes | Spent::Time | Spent::Attempt => None,
        };
        let reason = match self {
            Spent::Nodes => "the budget of nodes ran out in the search".to_string(),
            Spent::Time => "the budget of time ran out in the search".to_string(),
            Spent::Work => "the budget of work ran out in the search".to_string(),
            Spent::Attempt => {
                "a lock attempt that failed may succeed in another order, which was not followed".to_string()
            }
            Spent::Region(events) => {
                format!("more than {events} events, the budget, would have to be taken out of their observed order")
            }
        };
        Verdict::Unknown(Undecided { reason, suspected: false, short })
    }
}
