//! Modules of one crate that depend on each other in a circle.
//!
//! Read from the text: paths that begin with `crate::` or `super::`, outside comments and test modules. A module and its submodules
//! count as one, seen from outside: what matters is which of two siblings uses the other, at every level. A name that is no module
//! is looked for among what its module re-exports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A module's path in its crate, without `crate`.
type Module = Vec<String>;

/// The modules of a crate and the text of each, without comments and tests.
#[derive(Default)]
pub(crate) struct Crate {
    modules: BTreeMap<Module, String>,
}

impl Crate {
    /// Reads the modules below a crate's `src`.
    pub(crate) fn read(src: &Path) -> Crate {
        let mut all = Crate::default();
        all.add(src, &Vec::new());
        all
    }

    fn add(&mut self, folder: &Path, parent: &Module) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            let below = |name: &str| [parent.clone(), vec![name.to_string()]].concat();
            if path.is_dir() {
                self.add(&path, &below(&stem));
            } else if path.extension().is_some_and(|extension| extension == "rs") && stem != "main" {
                let module = if matches!(stem.as_str(), "lib" | "mod") { parent.clone() } else { below(&stem) };
                self.insert(module, &fs::read_to_string(&path).unwrap());
            }
        }
    }

    /// Adds a module.
    pub(crate) fn insert(&mut self, module: Module, text: &str) {
        self.modules.insert(module, plain(text));
    }

    /// Sets of siblings that depend on each other in a circle, each as sorted paths.
    pub(crate) fn circles(&self) -> Vec<Vec<String>> {
        // By parent: which child uses which.
        let mut uses: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (module, text) in &self.modules {
            for path in paths(text) {
                let Some(to) = self.resolve(module, &path) else { continue };
                let common = module.iter().zip(&to).take_while(|(a, b)| a == b).count();
                if let (Some(from), Some(to)) = (module.get(common), to.get(common)) {
                    let level = uses.entry(module[..common].to_vec()).or_default();
                    level.entry(from.clone()).or_default().insert(to.clone());
                }
            }
        }
        uses.iter().flat_map(|(parent, level)| circles_of(parent, level)).collect()
    }

    /// The module that a path, which begins with `crate` or `super`, leads to from a module.
    fn resolve(&self, from: &Module, path: &[String]) -> Option<Module> {
        let mut at = match path.first()?.as_str() {
            "crate" => Vec::new(),
            _ => from[..from.len().checked_sub(1)?].to_vec(),
        };
        for (i, name) in path.iter().enumerate().skip(1) {
            let child = [at.clone(), vec![name.clone()]].concat();
            if name == "super" {
                at.pop();
            } else if self.modules.contains_key(&child) {
                at = child;
            } else {
                return Some(self.exported(&at, name, path.len() - i).unwrap_or(at));
            }
        }
        Some(at)
    }

    /// The module that a name comes from which another re-exports.
    fn exported(&self, module: &Module, name: &str, depth: usize) -> Option<Module> {
        let text = self.modules.get(module)?;
        for line in statements(text).filter(|line| line.starts_with("pub use ") || line.starts_with("pub(crate) use "))
        {
            let tree = line.split_once(" use ").map_or("", |(_, tree)| tree);
            for path in expand(tree) {
                if path.last().is_some_and(|last| last == name) && depth < 8 {
                    let first = path.first()?.as_str();
                    let whole = if matches!(first, "crate" | "self") { path[1..].to_vec() } else { path.clone() };
                    let mut at = if first == "crate" { Vec::new() } else { module.clone() };
                    for name in whole {
                        let child = [at.clone(), vec![name]].concat();
                        if !self.modules.contains_key(&child) {
                            break;
                        }
                        at = child;
                    }
                    return Some(at);
                }
            }
        }
        None
    }
}

/// The circles among the children of one module.
fn circles_of(parent: &Module, uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached = |from: &String| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            for next in uses.get(at).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        seen
    };
    let all: BTreeMap<&String, BTreeSet<String>> = uses.keys().map(|module| (module, reached(module))).collect();
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for (module, reaches) in &all {
        if reaches.contains(*module) {
            let circle = reaches.iter().filter(|other| all.get(other).is_some_and(|back| back.contains(*module)));
            found.insert(circle.map(|name| [parent.clone(), vec![name.clone()]].concat().join("::")).collect());
        }
    }
    found.into_iter().collect()
}

/// Text without comments and without modules of tests.
fn plain(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]"
            && lines.peek().is_some_and(|next| next.contains("mod ") && next.ends_with('{'))
        {
            let indent = line.len() - line.trim_start().len();
            let end = " ".repeat(indent) + "}";
            lines.by_ref().find(|line| *line == end);
            continue;
        }
        kept.push_str(line.split("//").next().unwrap_or(""));
        kept.push('\n');
    }
    kept
}

/// Statements at the left margin, each in one line.
fn statements(text: &str) -> impl Iterator<Item = String> {
    let mut all: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with(char::is_alphabetic) || line.starts_with('#') {
            all.push(String::new());
        }
        if let Some(last) = all.last_mut() {
            last.push_str(line.trim());
        }
    }
    all.into_iter()
}

/// All paths in a text that begin with `crate` or `super`.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in text.match_indices(start) {
            let before = text[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                found.extend(expand(&text[at..]));
            }
        }
    }
    found
}

/// The paths that a tree of paths stands for, up to where it ends: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<Vec<String>> {
    let mut path: Vec<String> = Vec::new();
    let mut rest = tree.trim_start();
    loop {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        path.extend((end > 0).then(|| rest[..end].to_string()));
        rest = &rest[end..];
        let Some(after) = rest.strip_prefix("::") else { return vec![path] };
        let Some(group) = after.strip_prefix('{') else {
            rest = after;
            continue;
        };
        let mut all = Vec::new();
        for part in split_group(group) {
            // `self` in a group is the module before it.
            let parts = if part.trim() == "self" { vec![Vec::new()] } else { expand(part) };
            all.extend(parts.into_iter().map(|part| [path.clone(), part].concat()));
        }
        return all;
    }
}

/// The parts of a group, up to its closing brace.
fn split_group(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '}' => {
                parts.push(&group[start..at]);
                break;
            }
            ',' if depth == 0 => {
                parts.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}
