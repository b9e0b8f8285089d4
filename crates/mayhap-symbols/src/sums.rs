//! What registers hold, as far as code shows it: sums of constants and of what is not known but the same.

/// A constant of the code, perhaps relative to where the file was loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stored {
    pub(crate) number: i64,
    pub(crate) relative: bool,
}

impl Stored {
    /// The value in memory.
    pub(crate) fn value(self, base: u64, size: u8) -> u64 {
        let number = (self.number as u64).wrapping_add(if self.relative { base } else { 0 });
        if size >= 8 { number } else { number & ((1 << (8 * u32::from(size))) - 1) }
    }
}

/// Something that is not known but the same wherever it is named.
pub(crate) type Atom = u32;
/// Where the file was loaded.
pub(crate) const BASE: Atom = 0;

/// A sum: a constant, and atoms with their factors, ascending and without factors of 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) constant: i64,
    pub(crate) atoms: Vec<(Atom, i64)>,
}

impl Sum {
    pub(crate) fn constant(constant: i64) -> Sum {
        Sum { constant, atoms: Vec::new() }
    }

    pub(crate) fn atom(atom: Atom) -> Sum {
        Sum { constant: 0, atoms: vec![(atom, 1)] }
    }

    /// This and `factor` times another.
    pub(crate) fn plus(mut self, other: &Sum, factor: i64) -> Sum {
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(factor));
        for &(atom, times) in &other.atoms {
            let times = times.wrapping_mul(factor);
            match self.atoms.binary_search_by_key(&atom, |&(atom, _)| atom) {
                Ok(at) => {
                    self.atoms[at].1 = self.atoms[at].1.wrapping_add(times);
                    if self.atoms[at].1 == 0 {
                        self.atoms.remove(at);
                    }
                }
                Err(at) => self.atoms.insert(at, (atom, times)),
            }
        }
        self
    }

    pub(crate) fn stored(&self) -> Option<Stored> {
        match self.atoms[..] {
            [] => Some(Stored { number: self.constant, relative: false }),
            [(BASE, 1)] => Some(Stored { number: self.constant, relative: true }),
            _ => None,
        }
    }
}
