//! Words of memory that a program uses as locks: taken by a read-modify-write that finds them free, given back by a write of
//! the thread that took them.
//!
//! A word is *free* if it has its first value, or if it has the lowest bit of its first value: locks that note in other bits
//! that threads wait, or that keep a list of them in the word, use one bit to say that the lock is taken.
//!
//! Of such a word every value is known, each read returned what the write before it stored, and each write is one of: an initial
//! write that must-order puts before all other accesses; a write that leaves the word taken, in one step after a read of the
//! word; a write that leaves the free word free, in one step after a read, and neither a constant nor independent of that read;
//! a write that frees the word, by a thread whose last step that found the word free and took it comes after its last such write,
//! with a branch of the thread between the two.
//!
//! Then the sections from the branch after a step that takes the word to the write that frees it exclude each other in every
//! correct reordering, `sync` aside. The branch ran, so the step read a clean value that says free. Suppose two sections
//! overlap, and take the earliest step that finds the word free while another section is open. The step of that section left
//! the word taken, so some later write made it free. A step that found it free in the observed run, and finds it taken now,
//! is changed, and so its write is not clean, nor what others make of it. So a thread freed it that held it there, a third
//! one. Its own step came after the step of the open section, or before it; either way one of the two found the word free
//! while the other's section was open, and did so earlier. Contradiction.
//!
//! So these sections are locks to the solver. They are implied, and so change no verdict; they refute at once what else takes
//! a search over all ways to serve every attempt to take the word.
//!
//! Cost: linear, once for a trace with values and steps of several events.

use hashbrown::HashMap;
use mayhap_trace::{Event, EventId, Execution, Flags, Op, Relations, Trace, Value, ValueId, VarId};
use mayhap_witness::KnownValues;

/// A section of a word that is used as a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordSection {
    pub(crate) variable: VarId,
    /// The branch by which the thread knows that it has the word.
    pub(crate) taken: EventId,
    /// The write that frees it, if there is one.
    pub(crate) freed: Option<EventId>,
}

/// What is known of a variable so far.
#[derive(Clone, Copy)]
enum Word {
    Unseen,
    /// It may be a lock with this free value, written first by this event.
    Free(ValueId, Option<EventId>),
    /// It is none.
    Other,
}

/// The step that a thread is in.
#[derive(Clone, Default)]
struct Step {
    /// Variables read, and the value that each read returned.
    reads: Vec<(u32, Option<ValueId>)>,
    /// The last branch of the step.
    branch: Option<EventId>,
}

/// Which values say that a word is free.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The first one.
    FirstValue,
    /// Those with the lowest bit of the first one.
    LowestBit,
}

struct Pass<'a> {
    rule: Rule,
    execution: &'a Execution<'a>,
    trace: &'a Trace,
    relations: &'a Relations,
    known: KnownValues,
    words: Vec<Word>,
    steps: Vec<Step>,
    /// By thread and variable: the word is taken, as the thread knows by the branch if there was one since.
    taken: HashMap<(u16, u32), Option<EventId>, foldhash::fast::FixedState>,
    /// By thread: words that wait for a branch.
    waiting: Vec<Vec<u32>>,
    found: Vec<WordSection>,
}

/// The sections of all words that are used as locks, in the order in which they end.
pub(crate) fn sections(execution: &Execution<'_>) -> Vec<WordSection> {
    let trace = execution.trace();
    let joined = Flags::JOINED.bits();
    if !trace.has_values() || !trace.columns().flags.iter().any(|flags| flags & joined != 0) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut others = vec![true; trace.tables().variables.len()];
    for rule in [Rule::FirstValue, Rule::LowestBit] {
        let pass = Pass::run(execution, rule);
        let words = pass.words.clone();
        found.extend(pass.finish().into_iter().filter(|section| others[section.variable.index()]));
        words.iter().zip(&mut others).for_each(|(word, other)| *other &= matches!(word, Word::Other));
        if !others.contains(&true) {
            break;
        }
    }
    // Of sections with one branch, one is enough.
    found.sort_by_key(|section| section.taken);
    found.dedup_by_key(|section| section.taken);
    found
}

impl<'a> Pass<'a> {
    fn run(execution: &'a Execution<'a>, rule: Rule) -> Self {
        let (trace, relations) = execution.parts();
        let threads = relations.threads();
        let mut pass = Pass {
            rule,
            execution,
            trace,
            relations,
            known: KnownValues::new(execution),
            words: vec![Word::Unseen; trace.tables().variables.len()],
            steps: vec![Step::default(); threads],
            taken: HashMap::default(),
            waiting: vec![Vec::new(); threads],
            found: Vec::new(),
        };
        for (id, event) in trace.events().filter(|(id, _)| relations.is_relevant(*id)) {
            pass.event(id, &event);
        }
        pass
    }

    /// A word whose first value is `first` is free if it has this value.
    fn is_free(&self, first: ValueId, value: ValueId) -> bool {
        let lowest = |value| match self.trace.tables().values.get(value) {
            Some(Value::Bits(bits)) => Some(bits & 1),
            Some(Value::Pointer { offset, .. }) => Some(u64::from(offset & 1)),
            None => None,
        };
        value == first || (self.rule == Rule::LowestBit && lowest(value).is_some() && lowest(value) == lowest(first))
    }

    fn event(&mut self, id: EventId, event: &Event) {
        let thread = event.thread.index();
        if !event.flags.is_joined() {
            self.steps[thread].reads.clear();
            self.steps[thread].branch = None;
        }
        match event.op {
            Op::Read => {
                self.see(id, event);
                let value = self.known.returned(self.execution, id);
                let variable = VarId::at(event.object as usize);
                if value != self.known.written(self.trace, variable, self.relations.read_from(id)) {
                    // Something that the trace does not have wrote the word.
                    self.words[variable.index()] = Word::Other;
                }
                self.steps[thread].reads.push((event.object, value));
            }
            Op::Write => {
                self.see(id, event);
                self.write(id, event);
            }
            Op::Branch => {
                self.steps[thread].branch = Some(id);
                for variable in self.waiting[thread].drain(..) {
                    self.taken.insert((event.thread.cell() as u16, variable), Some(id));
                }
            }
            _ => {}
        }
    }

    /// The first access says what the free value is; an initial write must come before all others.
    fn see(&mut self, id: EventId, event: &Event) {
        let word = &mut self.words[event.object as usize];
        match *word {
            Word::Unseen => {
                let variable = VarId::at(event.object as usize);
                *word = match (event.op, event.flags.is_joined(), event.value) {
                    (Op::Write, false, Some(value)) => Word::Free(value, Some(id)),
                    (Op::Read, ..) => self
                        .known
                        .written(self.trace, variable, None)
                        .map_or(Word::Other, |value| Word::Free(value, None)),
                    _ => Word::Other,
                };
            }
            Word::Free(_, Some(first)) if !self.relations.ordered(self.trace, first, id) => *word = Word::Other,
            _ => {}
        }
    }

    fn write(&mut self, id: EventId, event: &Event) {
        let Word::Free(free, first) = self.words[event.object as usize] else { return };
        if first == Some(id) {
            return;
        }
        let key = (event.thread.cell() as u16, event.object);
        let is_other = |pass: &mut Self| pass.words[event.object as usize] = Word::Other;
        let (Some(value), false) = (event.value, event.flags.has(Flags::FREE)) else { return is_other(self) };
        let step = &self.steps[event.thread.index()];
        let read = step.reads.iter().find(|(variable, _)| *variable == event.object && event.flags.is_joined());
        let found = read.and_then(|&(_, found)| found);
        let found_free = found.is_some_and(|found| self.is_free(free, found));
        if !self.is_free(free, value) {
            let branch = step.branch;
            if found.is_none() || (found_free && self.taken.insert(key, branch).is_some()) {
                return is_other(self);
            }
            if found_free && branch.is_none() {
                self.waiting[event.thread.index()].push(event.object);
            }
        } else if found_free {
            if event.flags.has(Flags::CONSTANT) || event.flags.has(Flags::INDEPENDENT) {
                is_other(self);
            }
        } else {
            match self.taken.remove(&key) {
                Some(Some(taken)) => {
                    let variable = VarId::at(event.object as usize);
                    self.found.push(WordSection { variable, taken, freed: Some(id) });
                }
                _ => is_other(self),
            }
        }
    }

    /// The sections, without those of what turned out to be no lock.
    fn finish(mut self) -> Vec<WordSection> {
        let open = self.taken.drain().filter_map(|((_, variable), taken)| {
            Some(WordSection { variable: VarId::at(variable as usize), taken: taken?, freed: None })
        });
        self.found.extend(open);
        let mut found = self.found;
        found.retain(|section| matches!(self.words[section.variable.index()], Word::Free(..)));
        found
    }
}
