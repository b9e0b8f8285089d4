//! The incremental witness-order graph against one built anew for each witness from the paper's definitions: adjacency
//! matrices, breadth-first walks, and all 2^d choice graphs.

use std::collections::VecDeque;

use mayhap_predict::choice::{Literal, Outcome, Triplets};
use mayhap_testkit::{Facts, Generator, Profile, cases};
use mayhap_trace::{EventId, Execution, Op, Relations, Trace};

struct Section {
    acquire: usize,
    release: usize,
    members: Vec<usize>,
    lock: u32,
    shared: bool,
    thread: usize,
}

struct Naive {
    n: usize,
    must: Vec<Vec<bool>>,
    sections: Vec<Section>,
    couples: Vec<(usize, usize)>,
}

impl Naive {
    /// `None` where a section stays open: the paper has no such scopes.
    fn new(trace: &Trace) -> Option<Naive> {
        let relations = Relations::derive(trace).unwrap();
        let facts = Facts::of(trace);
        let mut sections = Vec::new();
        for (id, event) in trace.events().filter(|(id, e)| e.op.is_acquire() && relations.is_relevant(*id)) {
            let release = relations.matching_release(id)?.index();
            let thread = event.thread.index();
            let members = trace.events().filter(|(m, e)| {
                e.thread == event.thread && relations.is_relevant(*m) && m.index() >= id.index() && m.index() <= release
            });
            let members = members.map(|(m, _)| m.index()).collect();
            let (acquire, lock, shared) = (id.index(), event.object, event.op.is_shared());
            sections.push(Section { acquire, release, members, lock, shared, thread });
        }
        let couples = trace.events().filter(|(_, e)| e.op == Op::Read);
        let couples = couples.filter_map(|(r, _)| Some((relations.read_from(r)?.index(), r.index()))).collect();
        Some(Naive { n: trace.len(), must: facts_order(trace, &facts), sections, couples })
    }

    fn pairs(&self) -> impl Iterator<Item = (&Section, &Section)> {
        let excludes = |a: &Section, b: &Section| a.lock == b.lock && a.thread != b.thread && !(a.shared && b.shared);
        self.sections
            .iter()
            .enumerate()
            .flat_map(move |(i, a)| self.sections[i + 1..].iter().filter(move |b| excludes(a, b)).map(move |b| (a, b)))
    }

    /// Closes the relation, with induced edges; `false` on a cycle.
    fn close(&self, reach: &mut [Vec<bool>]) -> bool {
        loop {
            for middle in 0..self.n {
                let beyond = reach[middle].clone();
                for row in reach.iter_mut().filter(|row| row[middle]) {
                    row.iter_mut().zip(&beyond).for_each(|(cell, &path)| *cell |= path);
                }
            }
            if (0..self.n).any(|e| reach[e][e]) {
                return false;
            }
            let mut changed = false;
            for (a, b) in self.pairs().flat_map(|(a, b)| [(a, b), (b, a)]) {
                if reach[a.acquire][b.release] && !reach[a.release][b.acquire] {
                    reach[a.release][b.acquire] = true;
                    changed = true;
                }
            }
            if !changed {
                return true;
            }
        }
    }

    fn outcome(&self, read: usize, witness: &[(usize, usize)], absent: Option<(usize, Option<usize>)>) -> Outcome {
        let mut reach = self.must.clone();
        for &(a, b) in self.couples.iter().filter(|&&(_, b)| b != read).chain(witness) {
            reach[a][b] = true;
        }
        if !self.close(&mut reach) {
            return Outcome::Cyclic;
        }
        if let Some((w, c)) = absent
            && (reach[w][read] || c.is_some_and(|c| reach[w][c]))
        {
            return Outcome::Cyclic;
        }
        let open: Vec<(&Section, &Section)> =
            self.pairs().filter(|(a, b)| !reach[a.release][b.acquire] && !reach[b.release][a.acquire]).collect();
        let walks = |from: usize, back: bool| self.walk(&reach, &open, from, back);
        let mut chosen = Vec::new();
        for &(a, b) in &open {
            let touched = |set: &[bool], s: &Section| s.members.iter().any(|&m| set[m]);
            if witness.iter().any(|&(y, x)| {
                let (after, before) = (walks(x, false), walks(y, true));
                touched(&after, a) && touched(&before, b) || touched(&after, b) && touched(&before, a)
            }) {
                chosen.push((a, b));
            }
        }
        if chosen.is_empty() {
            return Outcome::Feasible;
        }
        let feasible = (0..1u32 << chosen.len()).any(|bits| {
            let mut graph = reach.clone();
            for (i, (a, b)) in chosen.iter().enumerate() {
                let (first, second) = if bits >> i & 1 == 0 { (a, b) } else { (b, a) };
                graph[first.release][second.acquire] = true;
            }
            // Plain acyclicity: the paper induces nothing in a choice graph.
            let none = Naive { n: self.n, must: Vec::new(), sections: Vec::new(), couples: Vec::new() };
            none.close(&mut graph)
        });
        Outcome::Choices { pairs: chosen.len() as u32, explored: 0, feasible: Some(feasible) }
    }

    /// What walks in the lock-abstraction graph reach: directed paths, whole sections, choice edges both ways.
    fn walk(&self, reach: &[Vec<bool>], open: &[(&Section, &Section)], from: usize, back: bool) -> Vec<bool> {
        let mut seen = vec![false; self.n];
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            queue.extend((0..self.n).filter(|&e| if back { reach[e][at] } else { reach[at][e] }));
            for section in self.sections.iter().filter(|s| s.members.contains(&at)) {
                queue.extend(&section.members);
            }
            for (a, b) in open.iter().flat_map(|&(a, b)| [(a, b), (b, a)]) {
                if a.members.contains(&at) {
                    queue.extend(&b.members);
                }
            }
        }
        seen
    }

    fn kinds(&self, write: Option<usize>, read: usize, other: Option<usize>) -> [Outcome; 3] {
        let seen: Vec<(usize, usize)> = other.map(|c| (c, read)).into_iter().collect();
        let with = |edge: (usize, usize)| seen.iter().copied().chain([edge]).collect::<Vec<_>>();
        let first = write.map_or(Outcome::Cyclic, |w| self.outcome(read, &with((read, w)), None));
        let second = match (write, other) {
            (_, None) => Outcome::Cyclic,
            (None, Some(_)) => self.outcome(read, &seen, None),
            (Some(w), Some(c)) => self.outcome(read, &with((w, c)), None),
        };
        let third = write.map_or(Outcome::Cyclic, |w| self.outcome(read, &seen, Some((w, other))));
        [first, second, third]
    }
}

fn facts_order(trace: &Trace, facts: &Facts) -> Vec<Vec<bool>> {
    let order = facts.must_order();
    assert_eq!(order.len(), trace.len());
    order
}

/// The same but for how many choice graphs were built.
fn same(a: Outcome, b: Outcome) -> bool {
    match (a, b) {
        (Outcome::Choices { pairs: p, feasible: f, .. }, Outcome::Choices { pairs: q, feasible: g, .. }) => {
            p == q && f == g
        }
        _ => a == b,
    }
}

#[test]
fn incremental_equals_rebuilt() {
    let mut with_choices = 0;
    let mut compared = 0;
    let profiles = [
        Profile { open: 0, ..Profile::races() },
        Profile { open: 0, ..Profile::nested() }.sized(4, 18),
        Profile { open: 0, ..Profile::non_nested() },
        Profile { open: 0, ..Profile::readers() },
        Profile { open: 0, burst: 80, ..Profile::races() }.sized(3, 20),
        Profile { open: 0, ..Profile::everything() },
        Profile { open: 0, reads: 3, writes: 3, ..Profile::deadlocks() }.sized(4, 24),
    ];
    for (number, profile) in profiles.into_iter().enumerate() {
        for (seed, trace) in Generator::new(profile, 0).take(cases(3000) / 7) {
            let Some(naive) = Naive::new(&trace) else { continue };
            let execution = Execution::derive(&trace).unwrap();
            let relations = execution.relations();
            let triplets = Triplets::of(&execution);
            let mut literal = Literal::new(&execution, u64::MAX);
            let mut told = 0;
            let mut sample = None;
            literal.survey(&triplets, &mut |read, outcomes| {
                let write = relations.read_from(read).map(EventId::index);
                for &(other, kinds) in outcomes {
                    let expected = naive.kinds(write, read.index(), other.map(EventId::index));
                    for kind in 0..3 {
                        assert!(
                            same(kinds[kind], expected[kind]),
                            "profile {number} seed {seed}: read {read}, other {other:?}, kind {}: {:?}, rebuilt {:?}",
                            kind + 1,
                            kinds[kind],
                            expected[kind]
                        );
                        with_choices += u32::from(matches!(kinds[kind], Outcome::Choices { .. }));
                        compared += 1;
                    }
                    told += 1;
                    sample = Some((read, other, kinds));
                }
            });
            assert_eq!(told, triplets.count());
            if let Some((read, other, kinds)) = sample {
                assert_eq!(literal.decide(read, other), kinds, "profile {number} seed {seed}: one triplet alone");
            }
        }
    }
    assert!(with_choices * 80 > compared, "{with_choices} of {compared} witnesses had choices: too few to compare");
}
