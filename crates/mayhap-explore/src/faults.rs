//! Failures of calls that are tried only if asked for.

use mayhap_wire::ring::choice;
use serde::{Deserialize, Serialize};

/// What can be asked for: its name, and the kind of choice.
const KNOWN: [(&str, u32); 3] =
    [("malloc", choice::ALLOCATION), ("timeout", choice::TIMEOUT), ("wakeup", choice::WAKEUP)];

/// Which failures are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Faults {
    bits: u32,
}

impl Faults {
    /// As the runtime takes it.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// Nothing was asked for.
    pub fn is_none(&self) -> bool {
        self.bits == 0
    }

    /// With one more, by its name: `malloc`, `timeout` or `wakeup`. `None` if there is none of that name.
    pub fn with(self, name: &str) -> Option<Faults> {
        let (_, kind) = KNOWN.iter().find(|(known, _)| *known == name)?;
        Some(Faults { bits: self.bits | 1 << kind })
    }

    /// The names of what was asked for.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        KNOWN.iter().filter(move |(_, kind)| self.bits >> kind & 1 != 0).map(|(name, _)| *name)
    }
}

impl From<Faults> for Vec<String> {
    fn from(faults: Faults) -> Self {
        faults.names().map(str::to_owned).collect()
    }
}

impl TryFrom<Vec<String>> for Faults {
    type Error = String;

    fn try_from(names: Vec<String>) -> Result<Self, String> {
        let mut all = Faults::default();
        for name in names {
            all = all.with(&name).ok_or_else(|| format!("no fault is called `{name}`"))?;
        }
        Ok(all)
    }
}
