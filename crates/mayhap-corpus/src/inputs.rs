//! From folders, files and lists to the traces of a corpus.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use mayhap_trace::format::Format;

use crate::objects::Objects;
use crate::{Error, is_url};

/// The longest list of traces that is read, in bytes.
const LONGEST_LIST: u64 = 256 << 20;

/// All traces of the inputs, sorted by path, each once: files named as traces, all such files below folders, and those that lists
/// name, one in each line. Objects of a store come with their versions.
pub fn traces(inputs: &[PathBuf]) -> Result<BTreeMap<PathBuf, Option<String>>, Error> {
    let mut objects: BTreeMap<PathBuf, Option<String>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for input in inputs {
        if is_url(input) {
            let all = Objects::open(input)?.list()?;
            let all = all.into_iter().map(|object| (PathBuf::from(object.url), Some(object.version)));
            let before = objects.len();
            objects.extend(all.filter(|(url, _)| Format::of(url).is_ok()));
            if objects.len() == before {
                return Err(Error::input(input, "no traces (.std, .mhp, .data, .rr) below this URL"));
            }
            continue;
        }
        let kind = fs::metadata(input).map_err(Error::file(input))?;
        if kind.is_dir() {
            let before = found.len();
            below(input, &mut found)?;
            if found.len() == before && !found.iter().any(|path| path.starts_with(input)) {
                return Err(Error::input(input, "no traces (.std, .mhp, .data, .rr) below this folder"));
            }
        } else if Format::of(input).is_ok() {
            found.insert(input.clone());
        } else {
            found.extend(listed(input, kind.len())?);
        }
    }
    let (urls, paths): (Vec<_>, Vec<_>) = found.into_iter().partition(|path| is_url(path));
    for url in urls.into_iter().filter(|url| !objects.contains_key(url)).collect::<Vec<_>>() {
        // One that is not there is a line of the report, as a file is.
        let version = Objects::open(&url)?.list().ok().and_then(|all| all.into_iter().next()).map(|one| one.version);
        objects.insert(url, Some(version.unwrap_or_default()));
    }
    objects.extend(paths.into_iter().map(|path| (path, None)));
    Ok(objects)
}

/// Adds the traces below a folder. Links to folders are not followed: they may lead in a circle.
fn below(folder: &Path, found: &mut BTreeSet<PathBuf>) -> Result<(), Error> {
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(Error::file(&folder))? {
            let entry = entry.map_err(Error::file(&folder))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(Error::file(&folder))?);
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if kind.is_dir() && !hidden {
                open.push(path);
            } else if !kind.is_dir() && !hidden && Format::of(&path).is_ok() && path.is_file() {
                found.insert(path);
            }
        }
    }
    Ok(())
}

/// The traces that a list names. A line that begins with `#` is a comment.
fn listed(list: &Path, size: u64) -> Result<Vec<PathBuf>, Error> {
    if size > LONGEST_LIST {
        return Err(Error::input(list, "too long for a list of traces"));
    }
    let bytes = fs::read(list).map_err(Error::file(list))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::input(list, "neither a trace, by its name, nor a list of traces: it is not text"))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let paths: Vec<PathBuf> = lines.map(PathBuf::from).collect();
    match paths.iter().find(|path| Format::of(path).is_err()) {
        Some(path) => Err(Error::input(
            list,
            format!("a list of traces names `{}`, which is none by its name (.std, .mhp, .data, .rr)", path.display()),
        )),
        None => Ok(paths),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_files_and_lists_are_one_sorted_list() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("b/c")).unwrap();
        fs::create_dir_all(at(".hidden")).unwrap();
        for name in ["z.std", "b/a.mhp", "b/c/x.std.gz", "b/readme.txt", ".hidden/t.std"] {
            fs::write(at(name), "").unwrap();
        }
        fs::write(at("list.txt"), format!("# some\n{}\n\nabsent.std\n", at("z.std").display())).unwrap();
        let names = |inputs: &[PathBuf]| traces(inputs).unwrap().into_keys().collect::<Vec<_>>();
        let found = names(&[at("b"), at("z.std"), at("list.txt")]);
        let expected = BTreeSet::from([at("b/a.mhp"), at("b/c/x.std.gz"), at("z.std"), PathBuf::from("absent.std")]);
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        let wrong = |path: PathBuf| traces(&[path]).unwrap_err().to_string();
        assert!(wrong(at("b/readme.txt").with_file_name("none")).contains("none: "));
        fs::write(at("odd.txt"), "a.std\nwhat is this\n").unwrap();
        assert!(wrong(at("odd.txt")).contains("names `what is this`"));
        // A folder that is named is looked into, whatever its name.
        assert_eq!(names(&[at(".hidden")]), [at(".hidden/t.std")]);
        fs::create_dir(at("empty")).unwrap();
        assert!(wrong(at("empty")).contains("no traces"));
    }
}
