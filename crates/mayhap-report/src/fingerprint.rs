//! Stable names of findings: `id` for the exact locations, `fingerprint` for recognising a finding after lines have moved.
//!
//! Both consist of the kind and a hash. The id hashes the locations as the trace spells them. The fingerprint hashes the operation,
//! function, file name and stable object name of each event; where a location has neither function nor file, it hashes the location
//! itself. The events of races and deadlocks have no order, so both sort them before hashing. Findings of one report that share a
//! fingerprint get a number appended, in the order of their lines.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::finding::{Finding, Kind, Side, Source};
use crate::places::{base_name, lasting, whole_name};

fn named(kind: Kind, mut parts: Vec<String>) -> String {
    if matches!(kind, Kind::Race | Kind::Deadlock) {
        parts.sort();
    }
    format!("{}-{:016x}", kind.name(), xxh3_64(parts.join("\n").as_bytes()))
}

/// Returns the id of a finding with these events: kind and locations, or the object where there is no location.
pub fn id(kind: Kind, events: &[Side]) -> String {
    let place = |side: &Side| side.location.clone().unwrap_or_else(|| side.object.clone());
    named(kind, events.iter().map(place).collect())
}

/// Returns the fingerprint of a finding with these events.
pub fn fingerprint(kind: Kind, events: &[Side]) -> String {
    named(kind, events.iter().map(key).collect())
}

fn key(side: &Side) -> String {
    let place = match &side.source {
        Some(Source { function: Some(function), file, .. }) => {
            format!("{} {}", whole_name(function), file.as_deref().map_or("", base_name))
        }
        Some(Source { file: Some(file), .. }) => base_name(file).to_string(),
        _ => side.location.clone().unwrap_or_default(),
    };
    format!("{}\0{}\0{place}", side.op, lasting(&side.object))
}

/// Numbers findings that share a fingerprint, in the order of their lines: the second one gets `:2`.
pub fn number(findings: &mut [Finding]) {
    let mut same: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (i, finding) in findings.iter().enumerate() {
        same.entry(finding.fingerprint.clone()).or_default().push(i);
    }
    for (fingerprint, mut group) in same {
        group.sort_by_cached_key(|&i| lines(&findings[i]));
        for (nth, &i) in group.iter().enumerate().skip(1) {
            findings[i].fingerprint = format!("{fingerprint}:{}", nth + 1);
        }
    }
}

fn lines(finding: &Finding) -> (Vec<u32>, String) {
    let line = |side: &Side| side.source.as_ref().and_then(|s| s.line).unwrap_or(0);
    let mut lines: Vec<u32> = finding.events.iter().map(line).collect();
    lines.sort_unstable();
    (lines, finding.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::source;

    fn side(op: &str, object: &str, location: &str) -> Side {
        let (op, object) = (op.to_string(), object.to_string());
        Side { op, object, source: source(location), location: Some(location.to_string()), ..Side::default() }
    }

    #[test]
    fn fingerprints_do_not_move_with_lines_nor_with_the_order_of_a_pair() {
        let before = [side("w", "head", "push q.c:10"), side("r", "head", "pop q.c:20")];
        let after = [side("r", "head", "pop src/q.c:27"), side("w", "head", "push src/q.c:17")];
        assert_eq!(fingerprint(Kind::Race, &before), fingerprint(Kind::Race, &after));
        assert_ne!(id(Kind::Race, &before), id(Kind::Race, &after));
        let other = [side("w", "tail", "push q.c:10"), side("r", "tail", "pop q.c:20")];
        assert_ne!(fingerprint(Kind::Race, &before), fingerprint(Kind::Race, &other));
        let swapped = [before[1].clone(), before[0].clone()];
        assert_eq!(id(Kind::Race, &before), id(Kind::Race, &swapped));
        assert_ne!(id(Kind::Order, &before), id(Kind::Order, &swapped));
        let bare = [side("w", "x", "10"), side("r", "x", "20")];
        let other = [side("w", "x", "11"), side("r", "x", "20")];
        assert_ne!(fingerprint(Kind::Race, &bare), fingerprint(Kind::Race, &other));
    }
}
