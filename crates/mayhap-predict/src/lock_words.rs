//! Words of memory that a program uses as locks: taken by a read-modify-write that finds them free, given back by a write of
//! the thread that took them.
//!
//! Of such a word every value is known, each read returned what the write before it stored, and each write is one of: an initial write of the free value that must-order puts before all
//! other accesses; a write of another value, in one step after a read of the word; a write of the free value by a thread
//! whose last step that found the word free comes after its last such write, with a branch of the thread between the two.
//!
//! Then the sections from the branch after a successful step to the write that frees the word exclude each other in every
//! correct reordering, `sync` aside. The branch ran, so the step read a free word. Suppose two sections overlap, and take
//! the earliest step that finds the word free while another section is open. The step of that section wrote another value,
//! so the free value comes from a later write, of a third thread, which holds the word there. Its own step came after the
//! step of the open section, or before it; either way one of the two found the word free while the other's section was
//! open, and did so earlier. Contradiction.
//!
//! So these sections are locks to the solver. They are implied, and so change no verdict; they refute at once what else takes
//! a search over all ways to serve every attempt to take the word.
//!
//! Cost: linear, once for a trace with values and steps of several events.

use hashbrown::HashMap;
use mayhap_trace::{Event, EventId, Flags, Op, Relations, Trace, ValueId, VarId};
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

struct Pass<'a> {
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
pub(crate) fn sections(trace: &Trace, relations: &Relations) -> Vec<WordSection> {
    let joined = Flags::JOINED.bits();
    if !trace.has_values() || !trace.columns().flags.iter().any(|flags| flags & joined != 0) {
        return Vec::new();
    }
    let threads = relations.threads();
    let mut pass = Pass {
        trace,
        relations,
        known: KnownValues::new(trace, relations),
        words: vec![Word::Unseen; trace.tables().variables.len()],
        steps: vec![Step::default(); threads],
        taken: HashMap::default(),
        waiting: vec![Vec::new(); threads],
        found: Vec::new(),
    };
    for (id, event) in trace.events().filter(|(id, _)| relations.is_relevant(*id)) {
        pass.event(id, &event);
    }
    pass.finish()
}

impl Pass<'_> {
    fn event(&mut self, id: EventId, event: &Event) {
        let thread = event.thread.index();
        if !event.flags.is_joined() {
            self.steps[thread].reads.clear();
            self.steps[thread].branch = None;
        }
        match event.op {
            Op::Read => {
                self.see(id, event);
                let value = self.known.returned(self.trace, self.relations, id);
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
        if value != free {
            let step = &self.steps[event.thread.index()];
            let read = step.reads.iter().find(|(variable, _)| *variable == event.object);
            match read {
                Some(&(_, Some(found))) if event.flags.is_joined() => {
                    if found == free && self.taken.insert(key, step.branch).is_some() {
                        return is_other(self);
                    }
                    if found == free && step.branch.is_none() {
                        self.waiting[event.thread.index()].push(event.object);
                    }
                }
                _ => is_other(self),
            }
        } else {
            match self.taken.remove(&key) {
                Some(Some(taken)) if !event.flags.is_joined() => {
                    let variable = VarId::at(event.object as usize);
                    self.found.push(WordSection { variable, taken, freed: Some(id) });
                }
                _ => is_other(self),
            }
        }
    }

    /// Drops what turned out to be no lock, and sections whose branch another one has already.
    fn finish(mut self) -> Vec<WordSection> {
        let open = self.taken.drain().filter_map(|((_, variable), taken)| {
            Some(WordSection { variable: VarId::at(variable as usize), taken: taken?, freed: None })
        });
        self.found.extend(open);
        let mut found = self.found;
        found.retain(|section| matches!(self.words[section.variable.index()], Word::Free(..)));
        found.sort_by_key(|section| section.taken);
        found.dedup_by_key(|section| section.taken);
        found
    }
}
