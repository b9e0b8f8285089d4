//! One missing lock is one bug, however many accesses it races with.
//!
//! A line that takes no lock and races with several lines of one function that take none either is one finding, too, on whatever objects:
//! the two pieces of code run at the same time. Locks that both hold only for reading count as none. So are two functions, with what they call, that race on the same object at several lines.
//!
//! If an access without a lock races with several accesses that all hold a common lock, the lock is missing in one place. So it is if
//! they hold locks of several objects that the same line takes, or that are the same member of these objects: the same code runs for each
//! object, perhaps for several types. The first of these findings stays and names the others; their fingerprints stay with it, so that baselines know it by any of them.

use crate::data::Report;
use crate::describe::words::{list, whereabouts};
use crate::finding::{Finding, Kind, Lock, Side, Source};
use crate::places::{self, spoken};

impl Report {
    /// Folds races that the same missing lock explains into one finding each. To be called once the report is arranged, and
    /// suppressions and the baseline have hidden what they hide.
    pub fn fold_races(&mut self) {
        let mut kept: Vec<Finding> = Vec::with_capacity(self.findings.len());
        let mut others: Vec<Vec<String>> = Vec::new();
        let mut objects: Vec<Vec<String>> = Vec::new();
        // The locks under which the races of each kept finding happen, with those of the races folded into it.
        let mut locks: Vec<Vec<Lock>> = Vec::new();
        for finding in std::mem::take(&mut self.findings) {
            let same = kept
                .iter()
                .zip(&locks)
                .position(|(first, locks)| explains(first, locks, &finding) || bare_partner(first, &finding).is_some());
            let taken = sides(&finding).map_or_else(Vec::new, |(_, locked)| locked.locks.clone());
            match same {
                Some(at) => {
                    match (sides(&kept[at]), sides(&finding)) {
                        (Some((first, _)), Some((bare, _))) if first.object != bare.object => {
                            objects[at].push(spoken(&bare.object));
                        }
                        (_, Some((_, locked))) => others[at].push(whereabouts(locked)),
                        _ => match bare_partner(&kept[at], &finding) {
                            Some(partner) if kept[at].events.iter().any(|side| is_there(side, partner)) => {
                                objects[at].push(spoken(&partner.object));
                            }
                            Some(partner) => others[at].push(whereabouts(partner)),
                            None => {}
                        },
                    }
                    locks[at].extend(taken);
                    kept[at].also.push(finding.fingerprint.clone());
                    kept[at].occurrences += finding.occurrences;
                }
                None => {
                    kept.push(finding);
                    others.push(Vec::new());
                    objects.push(Vec::new());
                    locks.push(taken);
                }
            }
        }
        for ((finding, mut others), mut objects) in kept.iter_mut().zip(others).zip(objects) {
            others.sort();
            others.dedup();
            objects.sort();
            objects.dedup();
            if !others.is_empty() {
                finding.why += &format!(" The same access also races with {}, for the same reason.", list(&others));
            }
            if !objects.is_empty() {
                finding.why += &format!(" The same code also races on {}.", list(&objects));
            }
        }
        self.findings = kept;
    }
}

/// The side of a race that holds no lock, and the side that holds one.
fn sides(finding: &Finding) -> Option<(&Side, &Side)> {
    match finding.events.as_slice() {
        [a, b] if finding.kind == Kind::Race => match (a.locks.is_empty(), b.locks.is_empty()) {
            (true, false) => Some((a, b)),
            (false, true) => Some((b, a)),
            _ => None,
        },
        _ => None,
    }
}

/// Both are races of the same access with accesses under the same lock, or under locks that the same line takes.
fn explains(first: &Finding, locks: &[Lock], other: &Finding) -> bool {
    let (Some((bare, _)), Some((other_bare, other_locked))) = (sides(first), sides(other)) else { return false };
    let same_place = bare.op == other_bare.op && is_same_line(bare.location.as_deref(), other_bare.location.as_deref());
    let common = |lock: &Lock| other_locked.locks.iter().any(|other| is_same_lock((lock, bare), (other, other_bare)));
    let counts = |finding: &Finding| finding.verdict.is_certain() && finding.is_shown();
    same_place && locks.iter().any(common) && counts(first) && counts(other)
}

/// Whether the locks that two accesses lack are one lock, or do the same for two objects.
fn is_same_lock((a, bare): (&Lock, &Side), (b, other): (&Lock, &Side)) -> bool {
    let is_part = |a: &str, b: &str| member(a).is_some_and(|part| member(b) == Some(part));
    let same_parts = is_part(&a.name, &b.name) && is_part(&bare.object, &other.object);
    // Methods of the class that the access is in take it, and it lies with the object.
    let class = |location: &Option<String>| class_of(location.as_deref()?);
    let guards = |lock: &Lock, side: &Side| {
        let own = class(&side.location);
        own.is_some() && class(&lock.location) == own && whole(&lock.name) == whole(&side.object)
    };
    let same_line = is_same_line(a.location.as_deref(), b.location.as_deref());
    a.name == b.name || same_line || same_parts || guards(a, bare) && guards(b, other)
}

/// The member that an object is of a larger one.
fn member(object: &str) -> Option<String> {
    let name = places::brief(object);
    let last = name.rsplit('.').next().unwrap_or(&name);
    // Of memory without names only the place is known.
    (last != object && !last.contains(['@', '+', '/'])).then(|| last.to_string())
}

/// If both are races without any lock, and one side of each is at the same line and the others in the same function, or both are on the same
/// object in the same functions: the other side of `other`.
fn bare_partner<'f>(first: &Finding, other: &'f Finding) -> Option<&'f Side> {
    let is_bare = |finding: &Finding| {
        let bare = finding.events.iter().all(has_no_lock);
        finding.kind == Kind::Race && finding.verdict.is_certain() && finding.is_shown() && bare
    };
    let ([a, b], [c, d]) = (first.events.as_slice(), other.events.as_slice()) else { return None };
    if !is_bare(first) || !is_bare(other) {
        return None;
    }
    let pairs = [(a, b, c, d), (a, b, d, c), (b, a, c, d), (b, a, d, c)];
    let same_code = |a, b, c, d| is_within(a, c) && is_within(b, d) || is_within(c, a) && is_within(d, b);
    let is_alike = |a, b, c, d| is_there(a, c) && is_function(b, d) || is_same_object(a, c) && same_code(a, b, c, d);
    let alike = pairs.into_iter().find(|(a, b, c, d)| is_alike(a, b, c, d))?;
    Some(alike.3)
}

/// The thread holds no lock, or holds locks only for reading, which keeps no other reader away.
pub(crate) fn has_no_lock(side: &Side) -> bool {
    side.locks.iter().all(|lock| lock.shared)
}

/// Both objects are parts of the same variable, or of memory that was allocated alike.
fn is_same_object(a: &Side, b: &Side) -> bool {
    !a.object.is_empty() && whole(&a.object) == whole(&b.object)
}

/// The variable that an object is a part of, or the place where its memory was allocated.
fn whole(object: &str) -> String {
    match places::allocation(object) {
        Some((_, site)) => places::short(site),
        None => object.split(['.', '+', '[', '#']).next().unwrap_or_default().to_string(),
    }
}

/// The class that a location's function is a method of, or its namespace.
fn class_of(location: &str) -> Option<String> {
    let function = places::whole_name(places::source(location)?.function.as_deref()?);
    function.rsplit_once("::").map(|(class, _)| class.to_string())
}

/// The second one is in the function that the first one is in, or in one that this function has called.
pub(crate) fn is_within(outer: &Side, inner: &Side) -> bool {
    let name = |source: &Source| Some((source.file.clone()?, places::whole_name(source.function.as_deref()?)));
    let function = outer.source.as_ref().and_then(name);
    function.is_some() && (is_function(outer, inner) || inner.stack.iter().any(|frame| name(frame) == function))
}

/// Both are at the same line of the program's own code.
pub(crate) fn is_there(a: &Side, b: &Side) -> bool {
    let line = |side: &Side| side.source.as_ref().and_then(|source| Some((source.file.clone()?, source.line?)));
    line(a).is_some_and(|at| line(b) == Some(at))
}

/// Both are in the same function of the program's own code.
pub(crate) fn is_function(a: &Side, b: &Side) -> bool {
    let function = |side: &Side| {
        let source = side.source.as_ref()?;
        Some((source.file.clone()?, places::whole_name(source.function.as_deref()?)))
    };
    function(a).is_some_and(|name| function(b) == Some(name))
}

/// Two locations are the same, or the same line of a function for other types.
fn is_same_line(a: Option<&str>, b: Option<&str>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    let line = |location: &str| {
        let source = places::source(location)?;
        Some((places::whole_name(source.function.as_deref()?), source.file?, source.line?))
    };
    a == b || line(a).is_some_and(|a| line(b) == Some(a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TraceInfo, Verdict};

    fn side(op: &str, location: &str, lock: Option<&str>) -> Side {
        let locks = lock.map(|name| Lock { name: name.to_string(), ..Lock::default() }).into_iter().collect();
        Side { op: op.to_string(), location: Some(location.to_string()), locks, ..Side::default() }
    }

    #[test]
    fn a_lock_that_is_missing_once_is_one_finding() {
        let race = |number: u32, a: Side, b: Side| Finding {
            fingerprint: format!("race-{number}"),
            verdict: Verdict::Proven,
            events: vec![a, b],
            occurrences: 1,
            ..Finding::default()
        };
        let bare = || side("r", "size q.c:5", None);
        let mut report = Report::new("0", TraceInfo::default(), "causal");
        report.findings = vec![
            race(1, bare(), side("w", "push q.c:9", Some("m"))),
            race(2, side("w", "pop q.c:14", Some("m")), bare()),
            race(3, bare(), side("w", "log q.c:20", Some("other"))),
            race(4, bare(), side("w", "free q.c:30", None)),
        ];
        report.fold_races();
        let left: Vec<(&str, &[String])> =
            report.findings.iter().map(|f| (f.fingerprint.as_str(), f.also.as_slice())).collect();
        assert_eq!(left, [("race-1", &["race-2".to_string()][..]), ("race-3", &[]), ("race-4", &[])]);
        assert!(report.findings[0].why.contains("also races with"), "{}", report.findings[0].why);
    }

    #[test]
    fn code_that_runs_at_the_same_time_is_one_finding() {
        let race = |number: u32, a: (&str, &str), b: (&str, &str)| {
            let of = |(location, object): (&str, &str)| Side {
                source: places::source(location),
                object: object.to_string(),
                ..side("w", location, None)
            };
            let fingerprint = format!("race-{number}");
            Finding { fingerprint, verdict: Verdict::Proven, events: vec![of(a), of(b)], ..Finding::default() }
        };
        let mut report = Report::new("0", TraceInfo::default(), "causal");
        report.findings = vec![
            race(1, ("load c.c:10", "host"), ("serve c.c:16", "host")),
            race(2, ("serve c.c:17", "port"), ("load c.c:10", "port")),
            race(3, ("load c.c:10", "name"), ("serve c.c:16", "name")),
            race(4, ("load c.c:12", "late"), ("serve c.c:18", "late")),
            race(5, ("load c.c:10", "host"), ("log c.c:30", "host")),
            race(6, ("load c.c:13", "main/heap1@c.c:5+8"), ("serve c.c:19", "main/heap1@c.c:5+8")),
            race(7, ("load c.c:14", "main/heap2@c.c:5+16"), ("parse c.c:40", "main/heap2@c.c:5+16")),
        ];
        let caller = report.findings[5].events[1].source.clone().unwrap();
        report.findings[6].events[1].stack = vec![caller];
        report.fold_races();
        let left: Vec<(&str, usize)> = report.findings.iter().map(|f| (f.fingerprint.as_str(), f.also.len())).collect();
        assert_eq!(left, [("race-1", 2), ("race-4", 0), ("race-5", 0), ("race-6", 1)]);
        let why = &report.findings[0].why;
        assert!(why.contains("also races with serve() at c.c:17") && why.contains("also races on `name`"), "{why}");
    }

    #[test]
    fn a_lock_that_is_missing_in_a_template_is_one_finding() {
        let race = |number: u32, kind: &str, object: &str| {
            let lock = Lock {
                name: format!("{object}.mutex"),
                location: Some(format!("Queue<{kind}>::pop() q.h:8")),
                ..Lock::default()
            };
            let bare =
                Side { object: object.to_string(), ..side("w", &format!("Queue<{kind}>::finish() q.h:20"), None) };
            let locked = side("r", &format!("Queue<{kind}>::pop() q.h:9"), None);
            Finding {
                fingerprint: format!("race-{number}"),
                verdict: Verdict::Proven,
                events: vec![bare, Side { object: object.to_string(), locks: vec![lock], ..locked }],
                ..Finding::default()
            }
        };
        let mut report = Report::new("0", TraceInfo::default(), "causal");
        report.findings = vec![race(1, "int", "in.done"), race(2, "char", "out.done"), race(3, "int", "other.done")];
        // Another line of the same template is another place.
        report.findings.push(race(4, "int", "in.size"));
        report.findings[3].events[0].location = Some("Queue<int>::clear() q.h:30".to_string());
        // The lock of a folded finding, taken elsewhere.
        report.findings.push(race(5, "int", "other.done"));
        report.findings[4].events[1].locks[0].location = Some("Queue<int>::wait() q.h:40".to_string());
        // Neither that lock nor that line, but the same members of an object of another type.
        report.findings.push(race(6, "long", "main/heap2@pool.cpp:7:done"));
        report.findings[5].events[1].locks[0] = Lock {
            name: "main/heap2@pool.cpp:7:mutex".to_string(),
            location: Some("Queue<long>::drain() q.h:50".to_string()),
            ..Lock::default()
        };
        // Memory whose members have no names.
        report.findings.push(race(7, "long", "main/heap4@z.cpp:9+280"));
        report.findings[6].events[1].locks[0] = Lock {
            name: "main/heap4@z.cpp:9+16".to_string(),
            location: Some("Queue<long>::drain() q.h:50".to_string()),
            ..Lock::default()
        };
        report.fold_races();
        let left: Vec<(&str, usize)> = report.findings.iter().map(|f| (f.fingerprint.as_str(), f.also.len())).collect();
        assert_eq!(left, [("race-1", 5), ("race-4", 0)]);
        let why = &report.findings[0].why;
        assert!(
            why.contains(
                "The same code also races on `done` (heap, allocated at pool.cpp:7), `other.done`, `out.done` and"
            ),
            "{why}"
        );
    }
}
