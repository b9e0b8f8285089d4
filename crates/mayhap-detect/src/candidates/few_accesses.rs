//! Race candidates of a variable with few accesses, which most variables of large programs have: the pairs that the classes of
//! [`super::races`] give, in their order, without tables for each variable.

use mayhap_trace::{Op, Relations, Trace};

use super::place;
use super::protection::Access;

/// Variables with so many accesses are looked at in this way.
pub(super) const FEW: usize = 5;

/// What, besides thread, operation and locks, distinguishes the accesses of a class.
type Rest = (bool, u64);

/// Calls `found` with each two accesses that may race and where they are, the earlier one first.
pub(super) fn pairs(
    trace: &Trace,
    relations: &Relations,
    accesses: &[Access],
    found: &mut impl FnMut([&Access; 2], [u64; 2]),
) {
    let mut rest: [Rest; FEW] = [(false, 0); FEW];
    for (rest, access) in rest.iter_mut().zip(accesses) {
        *rest = (trace.columns().flags_at(access.event.index()).is_atomic(), place(trace, access.event));
    }
    for at in 1..accesses.len().min(FEW) {
        let (before, here) = (&accesses[..at], accesses[at].thread);
        for (nth, first) in before.iter().enumerate() {
            let is_known = before[..nth].iter().any(|other| other.thread == first.thread);
            if first.thread != here && !is_known {
                with_thread(trace, relations, (accesses, &rest), at, first.thread, found);
            }
        }
    }
}

/// The access at a position with those of another thread before it: the class that was used last first, and its latest access first. What
/// is ordered ends the search, since all before it are ordered, too.
fn with_thread(
    trace: &Trace,
    relations: &Relations,
    (accesses, rest): (&[Access], &[Rest; FEW]),
    at: usize,
    thread: u16,
    found: &mut impl FnMut([&Access; 2], [u64; 2]),
) {
    let here = &accesses[at];
    let is_ordered = |other: usize| relations.ordered(trace, accesses[other].event, here.event);
    for newest in (0..at).rev().filter(|&other| accesses[other].thread == thread) {
        let class = &accesses[newest];
        let is_one = |other: &usize| {
            let access = &accesses[*other];
            access.thread == thread
                && access.op == class.op
                && access.held == class.held
                && rest[*other] == rest[newest]
        };
        let is_partner = (class.op == Op::Write || here.op == Op::Write)
            && !(rest[newest].0 && rest[at].0)
            && relations.locksets().common(class.held, here.held).is_none();
        if !is_partner || (newest + 1..at).any(|later| is_one(&later)) {
            continue;
        }
        if is_ordered(newest) {
            return;
        }
        for other in (0..=newest).rev().filter(is_one).take_while(|&other| !is_ordered(other)) {
            found([&accesses[other], here], [rest[other].1, rest[at].1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use mayhap_trace::Execution;
    use mayhap_trace::format::parse_std;

    use super::super::SharedAccesses;
    use super::*;

    #[test]
    fn the_latest_come_first_and_what_is_ordered_ends_the_search() {
        let text = "t|w(x)|a\nt|r(x)|b\nt|w(x)|a\nu|w(x)|c\nu|fork(v)|d\nv|r(x)|e\n";
        let execution = Execution::derive(parse_std(text).unwrap()).unwrap();
        let (trace, relations) = execution.parts();
        let shared = SharedAccesses::new(&execution);
        let accesses = shared.variables().next().unwrap();
        let mut all = Vec::new();
        pairs(trace, relations, accesses, &mut |pair, _| all.push(pair.map(|access| access.event.number())));
        assert_eq!(all, [[3, 4], [1, 4], [2, 4], [3, 6], [1, 6]]);
    }
}
