//! All triplets of a trace under the corrected decision, read by read, each proof checked by the kernel.
//!
//! One plan serves many triplets of a read, and the plans of neighbouring reads differ little: the kernel rehearses them
//! one after the other, going back only as far as they differ, and is asked about each triplet by itself. What it does
//! not accept is not counted as proven.

use mayhap_trace::{EventId, Execution, ThreadId};
use mayhap_witness::{Checked, IncrementalChecker, Model, Target};

use super::answers::{Plan, ReadAnswers, Status};
use super::corrected::Corrected;
use super::needs::Needs;
use super::remainder::{Remainder, Settled, Tables};
use super::table::Table;
use super::triplets::Triplets;
use crate::{Budget, Rung};

/// The verdict on one kind of one triplet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KindVerdict {
    /// The kernel accepted a schedule: the read's schedule with this number.
    Proven(u32),
    /// No correct reordering shows it.
    Refuted(Rung),
    /// The budget ran out.
    Unknown,
}

/// One other write of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OtherWrite {
    /// The write; `None` is the initial value.
    pub other: Option<EventId>,
    /// The write that the read saw ran before it (kind 2).
    pub overwritten: KindVerdict,
    /// The write that the read saw did not run (kind 3).
    pub absent: KindVerdict,
}

impl OtherWrite {
    /// The verdict on the triplet, which is proven if either kind is.
    pub fn verdict(&self) -> KindVerdict {
        match (self.overwritten, self.absent) {
            (proven @ KindVerdict::Proven(_), _) | (_, proven @ KindVerdict::Proven(_)) => proven,
            (KindVerdict::Unknown, _) | (_, KindVerdict::Unknown) => KindVerdict::Unknown,
            // The later rung is the one that settled the question.
            (KindVerdict::Refuted(a), KindVerdict::Refuted(b)) => KindVerdict::Refuted(a.max(b)),
        }
    }
}

impl OtherWrite {
    /// The triplet is proven.
    pub fn is_proven(&self) -> bool {
        matches!(self.verdict(), KindVerdict::Proven(_))
    }
}

/// The triplets of one read.
pub struct ReadVerdicts {
    /// The read.
    pub read: EventId,
    /// What it saw; `None` is the initial value.
    pub write: Option<EventId>,
    /// The other writes.
    pub others: Vec<OtherWrite>,
    /// Of each schedule that the kernel accepted: its steps, and the write that the read would see after it.
    pub seen: Vec<(usize, Option<EventId>)>,
    plans: Vec<Plan>,
    /// Of each that is seen, its place among the plans.
    shown_by: Vec<usize>,
    /// Other writes that are refuted by needs and not listed.
    pub refuted: u64,
}

impl ReadVerdicts {
    /// How many other writes are proven.
    pub fn proven(&self) -> usize {
        self.others.iter().filter(|o| o.is_proven()).count()
    }

    /// How many stayed open.
    pub fn unknown(&self) -> usize {
        self.others.iter().filter(|o| o.verdict() == KindVerdict::Unknown).count()
    }

    /// The way of one of the schedules in `seen`, to be shown later.
    pub fn way(&self, seen: usize) -> Way {
        Way(self.plans[self.shown_by[seen]].clone())
    }

    /// Steps of the schedule that proves a triplet, and what found it.
    pub fn schedule(&self, other: &OtherWrite) -> Option<(usize, Rung)> {
        self.shortest(other).map(|plan| (plan.len(), plan.rung))
    }

    /// Returns the shorter of the plans for the two kinds.
    fn shortest(&self, other: &OtherWrite) -> Option<&Plan> {
        let plans = [other.overwritten, other.absent].into_iter().filter_map(|kind| match kind {
            KindVerdict::Proven(plan) => Some(&self.plans[plan as usize]),
            _ => None,
        });
        plans.min_by_key(|plan| plan.len())
    }
}

/// A schedule that the kernel has rehearsed, kept so that it need not be looked for again.
#[derive(Clone, Debug)]
pub struct Way(Plan);

impl Way {
    /// How many of its events do not simply follow the observed order: what it takes to keep.
    pub fn reordered(&self) -> usize {
        self.0.tail.len()
    }
}

/// The corrected decision on one trace under one model.
pub struct Survey<'a> {
    needs: Needs<'a>,
    tables: Tables<'a>,
}

impl<'a> Survey<'a> {
    /// What one question may take by default, in work of a session.
    pub const MOST_WORK: u64 = super::corrected::MOST_WORK;

    /// Computes what each event needs.
    pub fn new(execution: &'a Execution<'a>, model: Model) -> Self {
        Survey { needs: Needs::new(execution, model), tables: Tables::new(execution, model) }
    }

    /// How many bytes the table of needs takes: a number for each event, or first event of a thread, and thread.
    pub fn memory(execution: &Execution<'_>) -> u64 {
        let relations = execution.relations();
        let threads = relations.threads() as u64;
        let events: u64 = (0..relations.threads()).map(|t| relations.thread_events(ThreadId::at(t)).len() as u64).sum();
        4 * threads * (events + 2 * threads)
    }

    /// Returns the model.
    pub fn model(&self) -> Model {
        self.needs.model
    }

    /// Starts deciding; `budget` is for one question.
    pub fn session(&self, budget: &Budget) -> Session<'_, 'a> {
        let needs = &self.needs;
        Session {
            needs,
            tables: &self.tables,
            remainder: None,
            budget: *budget,
            corrected: Corrected::new(needs, *budget),
            stage: Stage {
                needs,
                incremental: IncrementalChecker::new(needs.execution, needs.model),
                ideal: vec![0; needs.threads()],
                head: 0,
                work: 0,
                fresh: false,
            },
            table: Table::default(),
            allowance: u64::MAX,
        }
    }
}

/// Reads decided one after the other.
pub struct Session<'n, 'a> {
    needs: &'n Needs<'a>,
    tables: &'n Tables<'a>,
    /// Made for the first triplet that the groups leave open.
    remainder: Option<Remainder<'n, 'a>>,
    budget: Budget,
    corrected: Corrected<'n, 'a>,
    stage: Stage<'n, 'a>,
    table: Table,
    /// What may be done in all: beyond it, what needs and observed order do not tell stays open.
    allowance: u64,
}

impl<'n, 'a> Session<'n, 'a> {
    /// Decides all triplets of a read.
    pub fn read(&mut self, triplets: &Triplets, read: EventId) -> ReadVerdicts {
        let variable = self.needs.trace.event(read).variable().expect("a read has a variable");
        self.groups(read, &triplets.variable(variable).writes)
    }

    /// Decides all triplets of a read; those that needs refute are counted, not listed.
    pub fn open_read(&mut self, triplets: &Triplets, read: EventId) -> ReadVerdicts {
        if self.tables.has_alternatives() {
            return self.read(triplets, read);
        }
        self.corrected.allowance = self.allowance.saturating_sub(self.stage.work);
        let variable = self.needs.trace.event(read).variable().expect("a read has a variable");
        let (answers, refuted) = self.corrected.open_read(read, &triplets.variable(variable).writes);
        self.table.add_refuted(refuted);
        ReadVerdicts { refuted, ..self.check_answers(read, answers) }
    }

    /// What was done so far: events, reads and sections that were looked at. It does not depend on the machine.
    pub fn work(&self) -> u64 {
        self.corrected.work() + self.stage.work
    }

    /// Begins with other reads, far from the last ones perhaps: the way there does not count as work. Returns the work so far.
    pub fn begin(&mut self) -> u64 {
        self.stage.fresh = true;
        self.work()
    }

    /// Sets what one question may take; [`Survey::MOST_WORK`] at first.
    pub fn set_most_work(&mut self, work: u64) {
        self.corrected.most_work = work;
    }

    /// Sets how far [`Session::work`] may go.
    pub fn allow(&mut self, work: u64) {
        self.allowance = work;
    }

    /// Decides one triplet, alone in its group.
    pub fn triplet(&mut self, read: EventId, other: Option<EventId>) -> ReadVerdicts {
        let group: Vec<Vec<EventId>> = other.map(|c| vec![c]).into_iter().collect();
        let mut verdicts = self.groups(read, &group);
        verdicts.others.retain(|o| o.other == other);
        verdicts
    }

    fn groups(&mut self, read: EventId, groups: &[Vec<EventId>]) -> ReadVerdicts {
        let answers = self.corrected.read(read, groups);
        self.check_answers(read, answers)
    }

    /// Has the kernel judge the plans.
    fn check_answers(&mut self, read: EventId, answers: ReadAnswers) -> ReadVerdicts {
        let write = self.needs.relations.read_from(read);
        self.table.add_answers(&answers);
        let refuted = |status: Status| match status {
            Status::Refuted(rung) => KindVerdict::Refuted(rung),
            _ => KindVerdict::Unknown,
        };
        let unchecked = |&(other, [overwritten, absent]): &(Option<EventId>, [Status; 2])| OtherWrite {
            other,
            overwritten: refuted(overwritten),
            absent: refuted(absent),
        };
        let mut others: Vec<OtherWrite> = answers.others.iter().map(unchecked).collect();
        let (mut seen, mut shown_by) = (Vec::with_capacity(answers.plans.len()), Vec::new());
        for (number, plan) in answers.plans.iter().enumerate() {
            let number = number as u32;
            if self.work() >= self.allowance {
                break;
            }
            let ran = self.stage.run(plan);
            debug_assert!(ran || self.may_be_rejected(), "the kernel rejects a schedule for read {read}");
            if !ran {
                continue;
            }
            seen.push((plan.len(), self.stage.incremental.would_see(read)));
            shown_by.push(number as usize);
            for (verdict, &(other, kinds)) in others.iter_mut().zip(&answers.others) {
                for (kind, status) in kinds.into_iter().enumerate() {
                    if status != Status::Planned(number) {
                        continue;
                    }
                    let accepted = self.stage.shows(write, read, other, kind);
                    debug_assert!(accepted || self.may_be_rejected(), "the kernel rejects read {read} with {other:?}");
                    let slot = if kind == 0 { &mut verdict.overwritten } else { &mut verdict.absent };
                    if accepted {
                        *slot = KindVerdict::Proven(number);
                    }
                }
            }
        }
        let planned = answers.others.iter().flat_map(|(_, kinds)| kinds).filter(|s| matches!(s, Status::Planned(_)));
        let kinds = others.iter().flat_map(|o| [o.overwritten, o.absent]);
        let proven = kinds.filter(|kind| matches!(kind, KindVerdict::Proven(_)));
        self.table.reject(planned.count() as u64 - proven.count() as u64);
        let mut verdicts = ReadVerdicts { read, write, others, seen, plans: answers.plans, shown_by, refuted: 0 };
        if self.may_be_rejected() {
            self.decide_rest(&answers.others, &mut verdicts);
        }
        verdicts
    }

    /// Groups do not know all that the kernel asks of such a trace in this model.
    fn may_be_rejected(&self) -> bool {
        self.needs.model.allows_change()
            || self.tables.has_alternatives()
            || !self.needs.trace.columns().flags.is_empty()
    }

    /// Decides exactly what the kernel rejected, and what was refuted without knowing all ways.
    fn decide_rest(&mut self, statuses: &[(Option<EventId>, [Status; 2])], verdicts: &mut ReadVerdicts) {
        for (i, &(other, kinds)) in statuses.iter().enumerate() {
            for (kind, status) in kinds.into_iter().enumerate() {
                let verdict = |v: &OtherWrite| if kind == 0 { v.overwritten } else { v.absent };
                let open = match verdict(&verdicts.others[i]) {
                    KindVerdict::Proven(_) => false,
                    KindVerdict::Unknown => matches!(status, Status::Planned(_)),
                    KindVerdict::Refuted(_) => self.tables.has_alternatives(),
                };
                if open {
                    let decided = self.decide_one(verdicts, other, kind);
                    let other = &mut verdicts.others[i];
                    *(if kind == 0 { &mut other.overwritten } else { &mut other.absent }) = decided;
                }
            }
        }
    }

    fn decide_one(&mut self, verdicts: &mut ReadVerdicts, other: Option<EventId>, kind: usize) -> KindVerdict {
        let (read, write) = (verdicts.read, verdicts.write);
        match self.remainder().decide(read, other, kind) {
            Settled::Refuted(rung) => KindVerdict::Refuted(rung),
            Settled::Unknown => KindVerdict::Unknown,
            Settled::Plan(plan) => {
                if !self.stage.run(&plan) || !self.stage.shows(write, read, other, kind) {
                    return KindVerdict::Unknown;
                }
                verdicts.seen.push((plan.len(), self.stage.incremental.would_see(read)));
                verdicts.shown_by.push(verdicts.plans.len());
                verdicts.plans.push(plan);
                KindVerdict::Proven(verdicts.plans.len() as u32 - 1)
            }
        }
    }

    fn remainder(&mut self) -> &mut Remainder<'n, 'a> {
        self.remainder.get_or_insert_with(|| Remainder::new(self.tables, self.budget))
    }

    /// The kernel's word on one proven triplet, with the schedule.
    pub fn checked(&mut self, verdicts: &ReadVerdicts, other: &OtherWrite) -> Option<Checked> {
        let plan = verdicts.shortest(other)?;
        let target = Target::Nondeterminism { write: verdicts.write, read: verdicts.read, other: other.other };
        self.stage.run(plan).then_some(())?;
        self.stage.incremental.checked(&target).ok()
    }

    /// A schedule after which the read sees exactly this write, shortest first among those known; `None` if there is none
    /// or the budget ran out.
    pub fn sees(&mut self, read: EventId, other: Option<EventId>) -> Option<Checked> {
        self.corrected.allowance = self.allowance.saturating_sub(self.stage.work);
        let plan = self.corrected.sees(read, other);
        if let Some(checked) = plan.and_then(|plan| self.shown(&plan, read, other)) {
            return Some(checked);
        }
        let plan = other.filter(|_| self.may_be_rejected()).and_then(|other| self.remainder().sees(read, other))?;
        self.shown(&plan, read, other)
    }

    /// The kernel's word that after this way the read sees exactly this write.
    pub fn show(&mut self, way: &Way, read: EventId, other: Option<EventId>) -> Option<Checked> {
        self.shown(&way.0, read, other)
    }

    /// The kernel's word that after the plan the read sees exactly this write.
    fn shown(&mut self, plan: &Plan, read: EventId, other: Option<EventId>) -> Option<Checked> {
        let write = self.needs.relations.read_from(read);
        let exact = self.stage.run(plan) && self.stage.incremental.would_see(read) == other;
        let target = Target::Nondeterminism { write, read, other };
        exact.then(|| self.stage.incremental.checked(&target).ok()).flatten()
    }

    /// `a` is before `b` in every correct reordering that has `b`, as far as needs tell.
    pub(super) fn needed(&self, a: EventId, b: EventId) -> bool {
        self.needs.needed(self.needs.point(a), b)
    }

    /// The read cannot be next before this event has run, as far as needs tell.
    pub(super) fn enabling_needs(&self, read: EventId, event: EventId) -> bool {
        let point = self.needs.point(event);
        let mut set = self.needs.enabling(read);
        self.needs.close_at(&mut set, read);
        set[point.thread] > point.rank
    }

    /// Sets how many events the first window of an exact question reaches back. A matter of speed alone; tests take tiny ones.
    pub fn set_first_window(&mut self, events: usize) {
        self.corrected.first_window = events;
    }

    /// What the decisions since the last such call add up to.
    pub fn take_table(&mut self) -> Table {
        std::mem::take(&mut self.table)
    }

    /// What the decisions so far add up to.
    pub fn table(&self) -> &Table {
        &self.table
    }
}

/// The kernel, rehearsing one plan after the other.
struct Stage<'n, 'a> {
    needs: &'n Needs<'a>,
    incremental: IncrementalChecker<'a>,
    /// The ideal that the first `head` steps are, in observed order.
    ideal: Vec<u32>,
    head: usize,
    /// Events that were looked at.
    work: u64,
    /// The next plan does not count.
    fresh: bool,
}

impl Stage<'_, '_> {
    /// Runs a plan from where it leaves the one before. `false` if the kernel rejects it.
    fn run(&mut self, plan: &Plan) -> bool {
        let needs = self.needs;
        let event = |thread: usize, rank: u32| needs.relations.thread_events(ThreadId::at(thread))[rank as usize];
        let differ = self.ideal.iter().zip(&plan.ideal).enumerate().filter(|(_, (old, new))| old != new);
        let split = differ.map(|(t, (&old, &new))| event(t, old.min(new))).min();
        let keep = match split {
            Some(split) => self.incremental.schedule()[..self.head].partition_point(|&e| e < split),
            None => self.head,
        };
        self.incremental.rewind(keep);
        self.head = keep;
        let end = plan.ideal.iter().enumerate().filter(|&(_, &count)| count > 0).map(|(t, &count)| event(t, count - 1));
        let (start, end) = (split.map_or(0, EventId::index), end.max().map_or(0, |e| e.index() + 1));
        let steps = if split.is_some() { end.saturating_sub(start) } else { 0 } + plan.tail.len();
        self.work += if std::mem::take(&mut self.fresh) { 0 } else { steps as u64 };
        let threads = &needs.trace.columns().threads;
        for id in (if split.is_some() { start..end } else { 0..0 }).map(EventId::at) {
            let in_ideal = needs.relations.is_relevant(id)
                && (needs.relations.rank(id) as u32) < plan.ideal[threads[id.index()] as usize];
            if in_ideal && !self.step(id) {
                return false;
            }
        }
        self.head = self.incremental.schedule().len();
        self.ideal.copy_from_slice(&plan.ideal);
        plan.tail.iter().all(|&id| self.incremental.run(id).is_ok())
    }

    fn step(&mut self, id: EventId) -> bool {
        let ran = self.incremental.run(id).is_ok();
        if !ran {
            // Nothing is known to be common with the next plan.
            self.incremental.rewind(0);
            self.ideal.fill(0);
            self.head = 0;
        }
        ran
    }

    /// The state shows this kind of the triplet: 0 is "overwritten", 1 is "absent".
    fn shows(&self, write: Option<EventId>, read: EventId, other: Option<EventId>, kind: usize) -> bool {
        let target = Target::Nondeterminism { write, read, other };
        let ran = write.is_none_or(|w| self.incremental.has_run(w));
        ran == (kind == 0) && self.incremental.reaches(&target).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use mayhap_trace::format::parse_std;

    use super::*;

    #[test]
    fn without_effort_the_triplets_of_many_threads_are_unknown_and_none_is_lost() {
        let threads = 40;
        let section = |t: u32| format!("T{t}|acq(l)\nT{t}|r(x)\nT{t}|w(x)\nT{t}|rel(l)\n");
        let trace = parse_std(&(0..threads).map(section).collect::<String>()).unwrap();
        let execution = Execution::derive(&trace).unwrap();
        let (triplets, survey) = (Triplets::of(&execution), Survey::new(&execution, Model::Data));
        let count = |allowance: u64| {
            let mut session = survey.session(&Budget::default());
            session.allow(allowance);
            let mut counts = (0, 0, 0);
            for read in triplets.reads() {
                let verdicts = session.open_read(&triplets, read);
                counts.0 += verdicts.proven() as u64;
                counts.1 += verdicts.unknown() as u64;
                counts.2 += verdicts.others.len() as u64 + verdicts.refuted;
            }
            counts
        };
        assert_eq!(count(0), (0, triplets.count(), triplets.count()));
        let (proven, unknown, all) = count(u64::MAX);
        assert_eq!((unknown, all), (0, triplets.count()));
        assert!(proven > 0);
        // What closing sets takes counts, too.
        let (fewer, open, all) = count(100);
        assert!(fewer < proven && open > 0 && all == triplets.count());
    }
}
