//! From folders, files and lists to the traces of a corpus.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use mayhap_trace::format::Format;

use crate::objects::Objects;
use crate::{Error, is_url};

/// The longest list of traces that is read, in bytes.
const LONGEST_LIST: u64 = 256 << 20;

/// What an object store says of an object.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Remote {
    /// What changes when its contents do.
    pub version: String,
    /// Bytes that it has.
    pub size: u64,
}

/// All traces of the inputs, sorted by path, each once: files named as traces, all such files below folders, and those that lists
/// name, one in each line. Objects of a store come with their versions.
pub fn traces(inputs: &[PathBuf]) -> Result<BTreeMap<PathBuf, Option<Remote>>, Error> {
    let mut objects: BTreeMap<PathBuf, Option<Remote>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for input in inputs {
        if is_url(input) {
            let all = Objects::open(input)?.list()?;
            let all = all
                .into_iter()
                .map(|object| (PathBuf::from(object.url), Some(Remote { version: object.version, size: object.size })));
            let before = objects.len();
            objects.extend(all.filter(|(url, _)| Format::of(url).is_ok()));
            if objects.len() == before {
                return Err(Error::input(input, "no traces (.std, .mhp, .data, .rr) below this URL"));
            }
            continue;
        }
        let kind = fs::metadata(input).map_err(Error::file(input))?;
        if kind.is_dir() {
            let below = below(input)?;
            if below.is_empty() {
                return Err(Error::input(input, "no traces (.std, .mhp, .data, .rr) below this folder"));
            }
            found.extend(below.iter().map(|path| plain(path)));
        } else if Format::of(input).is_ok() {
            found.insert(plain(input));
        } else {
            found.extend(listed(input, kind.len())?.iter().map(|path| plain(path)));
        }
    }
    let (urls, paths): (Vec<_>, Vec<_>) = found.into_iter().partition(|path| is_url(path));
    for url in urls.into_iter().filter(|url| !objects.contains_key(url)).collect::<Vec<_>>() {
        // One that is not there is a line of the report, as a file is.
        let found = Objects::open(&url)?.list().ok().and_then(|all| all.into_iter().next());
        let remote = found.map(|object| Remote { version: object.version, size: object.size });
        objects.insert(url, Some(remote.unwrap_or_default()));
    }
    objects.extend(paths.into_iter().map(|path| (path, None)));
    Ok(objects)
}

/// A path without `.` in it, so that a trace has one name. A URL stays as it is.
fn plain(path: &Path) -> PathBuf {
    let short: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    let begins = |path: &Path, text: &str| path.to_string_lossy().starts_with(text);
    // A command would take it for an option.
    if is_url(path) || begins(&short, "-") || is_url(&short) { path.to_path_buf() } else { short }
}

/// The traces below a folder, as everything else that has the name of one: what cannot be read is a line of the report, and so is a
/// folder that cannot be listed. Links to folders are followed, but no folder is looked into twice: they may lead in a circle.
fn below(folder: &Path) -> Result<BTreeSet<PathBuf>, Error> {
    let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut links = BTreeSet::from([folder.to_path_buf()]);
    fs::read_dir(folder).map_err(Error::file(folder))?;
    while let Some(link) = links.pop_first() {
        let mut open = vec![link];
        // All that is there without links comes first, so that its names are those without links.
        while let Some(folder) = open.pop() {
            let entries = fs::read_dir(&folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let (Ok(real), Ok(entries)) = (fs::canonicalize(&folder), entries) else {
                found.insert(folder);
                continue;
            };
            let is_new = seen.insert(real);
            for entry in entries.iter().filter(|entry| is_new && !is_hidden(entry)) {
                let path = entry.path();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => open.push(path),
                    Ok(kind) if kind.is_symlink() && path.is_dir() => drop(links.insert(path)),
                    _ if Format::of(&path).is_ok() => drop(found.insert(path)),
                    _ => {}
                }
            }
        }
    }
    Ok(found)
}

fn is_hidden(entry: &fs::DirEntry) -> bool {
    entry.file_name().to_string_lossy().starts_with('.')
}

/// Why a path is not the file of a trace, if it is not one. Opening a pipe would wait for a writer.
pub(crate) fn no_file(path: &Path) -> Option<String> {
    match fs::metadata(path) {
        Ok(kind) if kind.is_file() => None,
        Ok(kind) if kind.is_dir() => Some(fs::read_dir(path).err().map_or("a folder".to_string(), |e| e.to_string())),
        Ok(_) => Some("not a file but a pipe, socket or device".to_string()),
        Err(error) => Some(error.to_string()),
    }
}

/// A path as text; different paths are different texts.
pub(crate) fn shown(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text += &format!("\\x{byte:02x}"));
    }
    text
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
        // What is named in two ways is one trace, and a folder that two links lead to is looked into once.
        std::os::unix::fs::symlink(folder.path(), at("b/up")).unwrap();
        std::os::unix::fs::symlink(at(".hidden"), at("b/linked")).unwrap();
        std::os::unix::fs::symlink(at("gone"), at("b/gone.mhp")).unwrap();
        let found = names(&[at("b"), at("b/./a.mhp")]);
        let expected = ["b/a.mhp", "b/c/x.std.gz", "b/gone.mhp", "b/linked/t.std", "b/up/z.std"];
        assert_eq!(found, expected.map(at));
        assert!(no_file(&at("b/gone.mhp")).unwrap().contains("No such file") && no_file(&at("b")).is_some());
        // A folder that is named is looked into, whatever its name.
        assert_eq!(names(&[at(".hidden")]), [at(".hidden/t.std")]);
        fs::create_dir(at("empty")).unwrap();
        assert!(wrong(at("empty")).contains("no traces"));
    }

    #[test]
    fn different_paths_are_different_texts() {
        let text = |bytes: &[u8]| shown(Path::new(std::ffi::OsStr::from_bytes(bytes)));
        assert_eq!(text("a/zwölf.mhp".as_bytes()), "a/zwölf.mhp");
        assert_eq!((text(b"a\xff.mhp"), text(b"a\xfe.mhp")), ("a\\xff.mhp".to_string(), "a\\xfe.mhp".to_string()));
        assert_eq!(plain(Path::new("./a/./b.mhp")), Path::new("a/b.mhp"));
        assert_eq!(plain(Path::new("./-b.mhp")), Path::new("./-b.mhp"));
        assert_eq!(plain(Path::new("s3://bucket/./a.mhp")), Path::new("s3://bucket/./a.mhp"));
    }
}
