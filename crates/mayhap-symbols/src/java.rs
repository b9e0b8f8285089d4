//! The names of a Java class, from the file that the agent inside the virtual machine writes: places in its code, its static fields, and where its objects
//! have their fields. Lines begin with a letter, and their words are separated by tabs:
//!
//! | line | meaning |
//! |---|---|
//! | `p offset method file:line` | a place in the code |
//! | `d offset name` | a static field |
//! | `a offset` | the place that stands for making an object of the class |
//! | `c offset` | the place accesses a static field |
//! | `f offset name` | a field of these objects, by where it lies in them |

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// How the first line begins.
const MAGIC: &str = "mayhap-java\t1";
/// Where the elements of arrays begin, and what objects of the library hold.
const CONTENTS: u64 = 112;
/// A word that operations change whose order is kept.
const ORDER: u64 = 104;

/// The names of a class.
#[derive(Default)]
pub(crate) struct JavaNames {
    places: HashMap<u64, (String, String)>,
    data: BTreeMap<u64, String>,
    constant: HashSet<u64>,
    object: u64,
    fields: Arc<BTreeMap<u64, String>>,
    /// The source files that were looked for, and the folder of sources that each lies in.
    found: RefCell<HashMap<String, &'static str>>,
}

/// Where build tools have sources, from the folder of the project on; files are below by package.
const SOURCES: [&str; 8] = [
    "",
    "src/main/java/",
    "src/test/java/",
    "src/",
    "test/",
    "src/main/kotlin/",
    "src/test/kotlin/",
    "src/main/scala/",
];

/// Where the parts of an object are.
#[derive(Clone)]
pub(crate) struct Layout {
    /// The fields; none where the class is not known.
    fields: Option<Arc<BTreeMap<u64, String>>>,
}

impl Layout {
    /// What the part at an offset is called.
    pub(crate) fn part(&self, offset: u64) -> Option<String> {
        match (&self.fields, offset) {
            (_, 0) => None,
            (Some(fields), _) => fields.get(&offset).cloned(),
            (None, ORDER) => Some("order".into()),
            (None, _) => offset.checked_sub(CONTENTS).map(|bytes| format!("[{}]", bytes / 8)),
        }
    }
}

impl JavaNames {
    /// Reads the file; `None` if it is none.
    pub(crate) fn read(bytes: &[u8]) -> Option<JavaNames> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut lines = text.lines();
        if lines.next()? != MAGIC {
            return None;
        }
        let mut names = JavaNames::default();
        let mut fields = BTreeMap::new();
        for line in lines {
            let mut words = line.split('\t');
            let (kind, offset) = (words.next()?, words.next()?.parse().ok()?);
            let mut word = || words.next().unwrap_or_default().to_owned();
            match kind {
                "p" => _ = names.places.insert(offset, (word(), word())),
                "d" => _ = names.data.insert(offset, word()),
                "a" => names.object = offset,
                "c" => _ = names.constant.insert(offset),
                "f" => _ = fields.insert(offset, word()),
                _ => return None,
            }
        }
        names.fields = Arc::new(fields);
        Some(names)
    }

    /// Method, and file and line.
    pub(crate) fn place(&self, offset: u64) -> Option<(&str, &str)> {
        // What else happens at a place has the numbers after it.
        let found = self.places.get(&offset).or_else(|| self.places.get(&(offset & !3)));
        found.map(|(method, line)| (method.as_str(), line.as_str()))
    }

    /// File and line, from the folder on if the file lies there where build tools have sources.
    pub(crate) fn in_folder(&self, line: &str, folder: Option<&Path>) -> String {
        let (Some(folder), Some((file, _))) = (folder, line.rsplit_once(':')) else { return line.into() };
        let mut found = self.found.borrow_mut();
        let sources = found.entry(file.to_owned()).or_insert_with(|| {
            let is_there = |sources: &&&str| folder.join(sources).join(file).is_file();
            SOURCES.iter().find(is_there).copied().unwrap_or("")
        });
        format!("{sources}{line}")
    }

    /// Whether no value that was read can have decided what the place accesses.
    pub(crate) fn is_constant(&self, offset: u64) -> bool {
        self.constant.contains(&offset)
    }

    /// The name of a static field.
    pub(crate) fn data(&self, offset: u64) -> Option<String> {
        self.data.get(&offset).cloned()
    }

    /// The parts of what is made at a place.
    pub(crate) fn layout(&self, offset: u64) -> Option<Layout> {
        Some(Layout { fields: (offset == self.object).then(|| self.fields.clone()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read() {
        let text =
            "mayhap-java\t1\nd\t0\tA.class\np\t122\tA\tA.java:1\na\t122\nf\t112\tA.x\np\t128\tA.go\tA.java:7\nc\t128\n";
        let names = JavaNames::read(text.as_bytes()).unwrap();
        assert_eq!(names.place(128), Some(("A.go", "A.java:7")));
        assert_eq!(names.place(130), Some(("A.go", "A.java:7")));
        assert!(names.is_constant(128) && !names.is_constant(122));
        assert_eq!(names.data(0), Some("A.class".into()));
        assert_eq!(names.layout(122).unwrap().part(112), Some("A.x".into()));
        let array = names.layout(128).unwrap();
        assert_eq!((array.part(0), array.part(136)), (None, Some("[3]".into())));
        assert!(JavaNames::read(b"ELF").is_none());
    }

    #[test]
    fn sources_are_found_where_build_tools_have_them() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("src/test/java/a/b");
        std::fs::create_dir_all(&package).unwrap();
        std::fs::write(package.join("C.java"), "").unwrap();
        let names = JavaNames::default();
        assert_eq!(names.in_folder("a/b/C.java:3", Some(folder.path())), "src/test/java/a/b/C.java:3");
        assert_eq!(names.in_folder("a/b/D.java:3", Some(folder.path())), "a/b/D.java:3");
    }
}
