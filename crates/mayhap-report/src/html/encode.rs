//! Encodes numbers for the page: LEB128 bytes, zigzag for differences, all in base64. `page/data.js` decodes them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// Bytes that numbers are appended to.
#[derive(Default)]
pub(super) struct Bytes(Vec<u8>);

impl Bytes {
    pub(super) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(super) fn signed(&mut self, value: i64) {
        self.number(((value << 1) ^ (value >> 63)) as u64);
    }

    pub(super) fn text(&self) -> String {
        STANDARD.encode(&self.0)
    }
}

/// A list of steps as runs, each stored as its distance from the end of the previous run and its length. Schedules mostly
/// continue where they were, so a million steps often take a few thousand bytes.
#[derive(Serialize, Debug)]
pub(super) struct Runs {
    count: usize,
    runs: String,
    /// Steps that are not in this file.
    #[serde(skip_serializing_if = "is_zero")]
    left_out: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Runs {
    pub(super) fn of(list: &[u32], left_out: u64) -> Self {
        let mut bytes = Bytes::default();
        let mut expected = 0i64;
        let mut rest = list;
        while let Some(&first) = rest.first() {
            let length = rest.windows(2).take_while(|pair| pair[1].checked_sub(pair[0]) == Some(1)).count() + 1;
            bytes.signed(i64::from(first) - expected);
            bytes.number(length as u64);
            expected = i64::from(first) + length as i64;
            rest = &rest[length..];
        }
        Runs { count: list.len(), runs: bytes.text(), left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes as `page/data.js` does.
    fn decode(runs: &Runs) -> Vec<i64> {
        let bytes = STANDARD.decode(&runs.runs).unwrap();
        let mut at = 0;
        let mut number = || {
            let (mut value, mut shift) = (0u64, 0);
            loop {
                let byte = *bytes.get(at)?;
                at += 1;
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    return Some(value);
                }
            }
        };
        let (mut list, mut next) = (Vec::new(), 0i64);
        while let Some(jump) = number() {
            next += (jump >> 1) as i64 ^ -((jump & 1) as i64);
            for _ in 0..number().unwrap() {
                list.push(next);
                next += 1;
            }
        }
        list
    }

    #[test]
    fn lists_survive_as_runs() {
        for list in [vec![], vec![0], vec![7, 8, 9, 3, 4, 1, 0], vec![u32::MAX - 1, u32::MAX, 0, 300, 301]] {
            let runs = Runs::of(&list, 0);
            assert_eq!(decode(&runs), list.iter().map(|&s| i64::from(s)).collect::<Vec<_>>());
            assert_eq!(runs.count, list.len());
        }
    }

    #[test]
    fn a_million_steps_in_order_are_a_few_bytes() {
        let list: Vec<u32> = (0..1_000_000).collect();
        assert!(Runs::of(&list, 0).runs.len() < 10);
    }
}
