//! The candidates: triplets (w, r, c) of a read, the write it saw and another write of the variable, the initial write
//! included on both sides.

use mayhap_trace::{EventId, Execution, Op, VarId};

/// The accesses of one variable.
#[derive(Clone, Default, Debug)]
pub struct Accesses {
    /// Reads in observed order.
    pub reads: Vec<EventId>,
    /// Writes by thread, those of one thread in program order. Threads without a write are left out.
    pub writes: Vec<Vec<EventId>>,
    /// How many writes there are.
    pub write_count: usize,
}

/// All triplets of a trace, kept as accesses: there can be millions.
#[derive(Clone, Debug)]
pub struct Triplets {
    variables: Vec<Accesses>,
}

impl Triplets {
    /// Collects the accesses of a trace.
    pub fn of(execution: &Execution<'_>) -> Self {
        let (trace, relations) = execution.parts();
        let mut variables = vec![Accesses::default(); trace.tables().variables.len()];
        let mut slots: Vec<Vec<(u16, usize)>> = vec![Vec::new(); variables.len()];
        for (id, event) in trace.events().filter(|(id, e)| e.op.is_access() && relations.is_relevant(*id)) {
            let accesses = &mut variables[event.object as usize];
            if event.op == Op::Read {
                accesses.reads.push(id);
                continue;
            }
            let (slots, thread) = (&mut slots[event.object as usize], event.thread.cell() as u16);
            let slot = slots.iter().find(|&&(t, _)| t == thread).map(|&(_, slot)| slot).unwrap_or_else(|| {
                slots.push((thread, accesses.writes.len()));
                accesses.writes.push(Vec::new());
                accesses.writes.len() - 1
            });
            accesses.writes[slot].push(id);
            accesses.write_count += 1;
        }
        Triplets { variables }
    }

    /// Returns the accesses of a variable.
    pub fn variable(&self, variable: VarId) -> &Accesses {
        &self.variables[variable.index()]
    }

    /// The other writes of a read: all writes of its variable but the one it saw, the initial one first.
    pub fn others(&self, execution: &Execution<'_>, read: EventId) -> Vec<Option<EventId>> {
        let (trace, relations) = execution.parts();
        let saw = relations.read_from(read);
        let writes = self.variables[trace.event(read).object as usize].writes.iter().flatten().map(|&w| Some(w));
        std::iter::once(None).chain(writes).filter(|&c| c != saw).collect()
    }

    /// All reads, in observed order.
    pub fn reads(&self) -> Vec<EventId> {
        let mut reads: Vec<EventId> = self.variables.iter().flat_map(|a| a.reads.iter().copied()).collect();
        reads.sort_unstable();
        reads
    }

    /// How many triplets there are: each read may have seen any write of its variable but one, or the initial value.
    pub fn count(&self) -> u64 {
        self.variables.iter().map(|a| a.reads.len() as u64 * a.write_count as u64).sum()
    }
}
