//! What a correct reordering must preserve of reads.

use std::fmt;
use std::str::FromStr;

/// A model of what values decide. From strict to lenient: a witness in one is a witness in all that follow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Model {
    /// Every read sees the write it saw in the observed run.
    Data,
    /// A read may see another write as long as its thread passes no later branch.
    Branch,
    /// Nothing about values.
    Sync,
}

impl Model {
    /// All models, strict to lenient.
    pub const ALL: [Model; 3] = [Model::Data, Model::Branch, Model::Sync];

    /// The name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Model::Data => "data",
            Model::Branch => "branch",
            Model::Sync => "sync",
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
        model.ok_or_else(|| format!("`{text}` is no model: data, branch or sync"))
    }
}
