//! What a schedule must preserve of the values that threads saw.
//!
//! A read is *same* if it certainly returns what it returned in the observed run. The models differ in what counts as same,
//! and in what a thread may still do after a read that is not: such a thread is *changed*.

use std::fmt;
use std::str::FromStr;

use mayhap_trace::Trace;

/// A model of what values decide.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Model {
    /// Every read sees the write that it saw in the observed run.
    Data,
    /// Every read sees the value that it saw, whichever write it comes from.
    Value,
    /// A read may see another write. Its thread is then changed: it passes no branch, and what it writes may differ.
    Branch,
    /// As `Branch`, and a read of an equal value from an unaffected write counts as unchanged.
    Causal,
    /// Nothing about values.
    Sync,
}

impl Model {
    /// All models, strict to lenient. `Value` and `Branch` do not imply each other.
    pub const ALL: [Model; 5] = [Model::Data, Model::Value, Model::Branch, Model::Causal, Model::Sync];

    /// The name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Model::Data => "data",
            Model::Value => "value",
            Model::Branch => "branch",
            Model::Causal => "causal",
            Model::Sync => "sync",
        }
    }

    /// Every witness in this model is one in `other`.
    pub fn implies(self, other: Model) -> bool {
        match self {
            Model::Data => true,
            Model::Value | Model::Branch => other == self || matches!(other, Model::Causal | Model::Sync),
            Model::Causal => matches!(other, Model::Causal | Model::Sync),
            Model::Sync => other == Model::Sync,
        }
    }

    /// A read of an equal value from an unaffected write is the same read.
    #[inline]
    pub fn compares_values(self) -> bool {
        matches!(self, Model::Value | Model::Causal)
    }

    /// A thread may go on after a read that is not the same, until it decides something.
    #[inline]
    pub fn allows_change(self) -> bool {
        matches!(self, Model::Branch | Model::Causal)
    }

    /// The most permissive sound model that the trace has the facts for.
    pub fn default_for(trace: &Trace) -> Model {
        if trace.has_branches() {
            Model::Causal
        } else if trace.has_values() {
            Model::Value
        } else {
            Model::Data
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Model {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let model = Model::ALL.into_iter().find(|m| m.name() == text);
        model.ok_or_else(|| format!("unknown model `{text}`: expected data, value, branch, causal or sync"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_models_is_a_partial_order() {
        for a in Model::ALL {
            assert!(Model::Data.implies(a) && a.implies(Model::Sync) && a.implies(a));
            for b in Model::ALL {
                assert!(a == b || !(a.implies(b) && b.implies(a)));
                for c in Model::ALL {
                    assert!(!(a.implies(b) && b.implies(c)) || a.implies(c));
                }
            }
        }
        assert!(!Model::Value.implies(Model::Branch) && !Model::Branch.implies(Model::Value));
    }
}
