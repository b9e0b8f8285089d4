//! Results in a folder: what was done is not done again.
//!
//! - `results/ab/ab….result`: what came of one trace. The name is a hash of the [`Key`]: the fingerprint of the trace's file, the
//!   settings and the build of the tool.
//! - `fetched/…`: which contents a version of an object has, so that it need not be fetched again.
//! - `manifest-1-of-3`: the traces of a run, or of one shard of it, and the names of their results.
//!
//! A file is written under another name and renamed, so that it is there whole or not at all. Its first line has the XXH3 checksum of
//! the rest: a file that does not match counts as absent, and its task is done again. Processes may share a store, since two
//! that do the same task write the same result.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tempfile::{NamedTempFile, TempDir};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::objects::Objects;
use crate::{Error, Failed, Limits, Outcome, Settings, is_url};

const RESULT: &str = "mayhap-result 1";
const MANIFEST: &str = "mayhap-manifest 2";
const FETCHED: &str = "mayhap-fetched 1";
/// The quickest level: results are written once and read seldom.
const LEVEL: i32 = 1;
/// The largest result that is unpacked.
const LARGEST: u64 = 4 << 30;

/// A result of fewer bytes is unpacked before it is parsed.
const AT_ONCE: u64 = 64 << 20;

/// The fingerprint of a file: of its bytes, which hold everything that a result depends on.
pub fn fingerprint(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let (mut hash, mut buffer) = (Xxh3::new(), vec![0; 1 << 17]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(format!("{:032x}", hash.digest128())),
            n => hash.update(&buffer[..n]),
        }
    }
}

/// What a result is of.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Key {
    /// The fingerprint of the trace's file.
    pub trace: String,
    /// Which windows of it: every so many-th, from the so many-th on; `None` for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<[u64; 2]>,
    /// What was looked for.
    pub settings: Settings,
    /// The build of the tool.
    pub build: String,
}

impl Key {
    /// The name of the result.
    pub fn name(&self) -> String {
        let text = serde_json::to_vec(self).expect("a key is names and numbers");
        format!("{:032x}", xxh3_128(&text))
    }
}

/// What is read of a result without unpacking it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// What it is of.
    pub key: Key,
    /// Fingerprints of the findings.
    pub findings: Vec<String>,
    /// Why there is no report, if there is none.
    pub failed: Option<Failed>,
    /// What the task was allowed to use, if it failed.
    pub limits: Option<Limits>,
}

/// A part of a corpus: the `part`-th of `of` parts, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Shard {
    /// Which part.
    pub part: u32,
    /// Of how many.
    pub of: u32,
}

impl Shard {
    /// The whole.
    pub const WHOLE: Shard = Shard { part: 1, of: 1 };

    /// Whether the n-th trace, from 0, belongs to it. Neighbours, which are often alike, are spread.
    pub fn has(self, n: usize) -> bool {
        n % self.of as usize == self.part as usize - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a shard such as 2/3");
        let (part, of) = text.split_once('/').ok_or_else(wrong)?;
        let shard = Shard { part: part.parse().map_err(|_| wrong())?, of: of.parse().map_err(|_| wrong())? };
        if shard.part == 0 || shard.part > shard.of { Err(wrong()) } else { Ok(shard) }
    }
}

/// The traces of a run, or of a shard of one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// Which part of the corpus it has.
    pub shard: Shard,
    /// What the corpus was when it was divided.
    pub seen: Seen,
    /// The version of the tool.
    pub tool: String,
    /// The build of the tool.
    pub build: String,
    /// What was looked for.
    pub settings: Settings,
    /// What was asked to be analysed.
    pub inputs: Vec<String>,
    /// The traces, by path.
    pub traces: Vec<Entry>,
}

/// All traces of a corpus, of which a shard has a part. Shards of the same traces leave none out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// How many there are.
    pub traces: u64,
    /// A hash of their names below the folder that they share, which need not be at the same place on all machines.
    pub names: String,
}

impl Seen {
    pub(crate) fn new<'a>(traces: impl ExactSizeIterator<Item = &'a PathBuf> + DoubleEndedIterator + Clone) -> Seen {
        let (first, last) = (traces.clone().next(), traces.clone().next_back());
        let pairs = first.into_iter().zip(last).flat_map(|(first, last)| first.components().zip(last.components()));
        // They are sorted, so what the first and the last begin with, all begin with.
        let shared = pairs.take_while(|(first, last)| first == last).count().min(depth(first)).min(depth(last));
        let mut hash = Xxh3::new();
        for trace in traces.clone() {
            let below: PathBuf = trace.components().skip(shared).collect();
            hash.update(below.as_os_str().as_bytes());
            hash.update(&[0]);
        }
        Seen { traces: traces.len() as u64, names: format!("{:032x}", hash.digest128()) }
    }
}

/// How many folders a path names.
fn depth(path: Option<&PathBuf>) -> usize {
    path.map_or(0, |path| path.components().count().saturating_sub(1))
}

/// A trace of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Its path.
    pub path: String,
    /// The name of its result.
    pub result: Option<String>,
    /// Why it has none, if it could not even be read.
    pub failed: Option<Failed>,
}

/// A folder of results. One in an object store has a folder here as well, with what was read or written in this run.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    remote: Option<Remote>,
}

#[derive(Clone, Debug)]
struct Remote {
    objects: Objects,
    url: PathBuf,
    /// It goes with the last that uses it.
    _folder: Arc<TempDir>,
}

impl Store {
    /// Opens a store, and creates it if there is none.
    pub fn create(folder: &Path) -> Result<Store, Error> {
        if is_url(folder) {
            return Store::remote(folder);
        }
        fs::create_dir_all(folder.join("results")).map_err(Error::file(folder))?;
        // One that cannot be written to is found out before any work.
        new_file(folder).map_err(Error::file(folder))?;
        Ok(Store { folder: folder.to_path_buf(), remote: None })
    }

    /// Opens a store that is there.
    pub fn open(folder: &Path) -> Result<Store, Error> {
        if is_url(folder) {
            return Store::remote(folder);
        }
        match folder.join("results").is_dir() {
            true => Ok(Store { folder: folder.to_path_buf(), remote: None }),
            false => Err(Error::input(folder, "not a store of `mayhap corpus`: it has no folder `results`")),
        }
    }

    fn remote(url: &Path) -> Result<Store, Error> {
        let objects = Objects::open(url)?;
        // A store that cannot be reached is found out before any work.
        objects.names()?;
        let folder = tempfile::Builder::new().prefix("mayhap-store-").tempdir().map_err(Error::file(url))?;
        let here = folder.path().to_path_buf();
        let remote = Remote { objects, url: url.to_path_buf(), _folder: Arc::new(folder) };
        Ok(Store { folder: here, remote: Some(remote) })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        self.remote.as_ref().map_or(&self.folder, |remote| &remote.url)
    }

    /// The folder to which other processes of this machine may write results; `None` if it is in an object store.
    pub fn shared_folder(&self) -> Option<&Path> {
        self.remote.is_none().then_some(&self.folder)
    }

    /// Reads a file of the store without its first line; `None` if it is not there or damaged.
    fn load(&self, name: &str, format: &str) -> Option<Vec<u8>> {
        let path = self.folder.join(name);
        if let (Some(remote), false) = (&self.remote, path.exists()) {
            let bytes = remote.objects.get(name).ok()??;
            write_whole(&path, &bytes).ok()?;
        }
        read(&path, format)
    }

    /// Writes a file of the store.
    fn save(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let path = self.folder.join(name);
        write_whole(&path, &bytes).map_err(Error::file(&path))?;
        self.remote.as_ref().map_or(Ok(()), |remote| remote.objects.put(name, bytes))
    }

    /// Keeps what came of a trace. Returns its name.
    pub fn put(&self, key: &Key, outcome: &Outcome, limits: Limits) -> Result<String, Error> {
        let name = key.name();
        self.put_packed(&name, pack(key, outcome, limits)?)?;
        Ok(name)
    }

    /// Keeps what [`pack`] made.
    pub(crate) fn put_packed(&self, name: &str, packed: Vec<u8>) -> Result<(), Error> {
        self.save(&result(name), packed)
    }

    /// Keeps which contents a version of an object has.
    pub(crate) fn put_fetched(&self, object: &str, fingerprint: &str) -> Result<(), Error> {
        self.save(&fetched(object), framed(FETCHED, fingerprint.as_bytes()))
    }

    /// Which contents a version of an object has, if it was fetched before.
    pub(crate) fn fetched(&self, object: &str) -> Option<String> {
        String::from_utf8(self.load(&fetched(object), FETCHED)?).ok()
    }

    /// What is known of a result; `None` if there is none, or it is damaged or of something else.
    pub fn header(&self, key: &Key) -> Option<Header> {
        let (header, _) = self.read(&key.name())?;
        (header.key == *key).then_some(header)
    }

    /// What came of a trace, by the name of the result.
    pub fn get(&self, name: &str) -> Option<Outcome> {
        let (_, packed) = self.read(name)?;
        let mut unpacked = zstd::Decoder::with_buffer(packed.as_slice()).ok()?.take(LARGEST);
        let mut text = Vec::new();
        unpacked.by_ref().take(AT_ONCE).read_to_end(&mut text).ok()?;
        // Parsing what lies in memory takes half the time of parsing a stream.
        match (text.len() as u64) < AT_ONCE {
            true => serde_json::from_slice(&text).ok(),
            false => serde_json::from_reader(text.chain(io::BufReader::with_capacity(1 << 17, unpacked))).ok(),
        }
    }

    fn read(&self, name: &str) -> Option<(Header, Vec<u8>)> {
        let rest = self.load(&result(name), RESULT)?;
        let end = rest.iter().position(|&byte| byte == b'\n')?;
        Some((serde_json::from_slice(&rest[..end]).ok()?, rest[end + 1..].to_vec()))
    }

    /// Keeps which traces a run has. Manifests of a run that was divided otherwise go.
    pub fn put_manifest(&self, manifest: &Manifest) -> Result<(), Error> {
        let Shard { part, of } = manifest.shard;
        for (name, _) in self.manifest_names()?.into_iter().filter(|(_, shard)| shard.of != of) {
            let path = self.folder.join(&name);
            match &self.remote {
                Some(remote) => remote.objects.remove(&name)?,
                None => match fs::remove_file(&path) {
                    // Another run that uses the store was first.
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::file(&path)(error)),
                    _ => {}
                },
            }
        }
        let text = serde_json::to_vec(manifest).expect("a manifest is names and numbers");
        self.save(&format!("manifest-{part}-of-{of}"), framed(MANIFEST, &text))
    }

    /// The manifests, by shard.
    pub fn manifests(&self) -> Result<Vec<Manifest>, Error> {
        let parsed = |name: &str| serde_json::from_slice(&self.load(name, MANIFEST)?).ok();
        let manifest = |(name, _): (String, Shard)| {
            let wrong = "the manifest is damaged, or of another version of mayhap";
            parsed(&name).ok_or_else(|| Error::input(&self.folder().join(&name), wrong))
        };
        self.manifest_names()?.into_iter().map(manifest).collect()
    }

    fn manifest_names(&self) -> Result<Vec<(String, Shard)>, Error> {
        let names = match &self.remote {
            Some(remote) => remote.objects.names()?,
            None => {
                let entries = fs::read_dir(&self.folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
                let entries = entries.map_err(Error::file(&self.folder))?;
                entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
            }
        };
        let shard = |name: &String| name.strip_prefix("manifest-")?.replace("-of-", "/").parse().ok();
        let mut found: Vec<(String, Shard)> =
            names.into_iter().filter_map(|name| shard(&name).map(|shard| (name, shard))).collect();
        found.sort_by_key(|(_, shard)| (shard.of, shard.part));
        Ok(found)
    }
}

/// The file of a result.
fn result(name: &str) -> String {
    format!("results/{}/{name}.result", name.get(..2).unwrap_or(""))
}

/// The file that says which contents a version of an object has.
fn fetched(object: &str) -> String {
    format!("fetched/{:032x}", xxh3_128(object.as_bytes()))
}

/// What came of a task, as a file of a store.
pub(crate) fn pack(key: &Key, outcome: &Outcome, limits: Limits) -> Result<Vec<u8>, Error> {
    let (failed, limits) = match outcome {
        Outcome::Report(_) | Outcome::Windows(_) => (None, None),
        Outcome::Failed(failed) => (Some(failed.clone()), Some(limits)),
    };
    let header = Header { key: key.clone(), findings: outcome.fingerprints(), failed, limits };
    let packed = || -> io::Result<Vec<u8>> {
        let mut rest = serde_json::to_vec(&header)?;
        rest.push(b'\n');
        // The header stays readable without unpacking. JSON is written in pieces of a few bytes, each of which would be a call of the
        // compressor.
        let mut packed = io::BufWriter::with_capacity(1 << 16, zstd::Encoder::new(rest, LEVEL)?);
        serde_json::to_writer(&mut packed, outcome)?;
        let packed = packed.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(framed(RESULT, &packed.finish()?))
    };
    packed().map_err(|error| Error::Setting(error.to_string()))
}

/// A file of a store: its first line says what it is and has the checksum of the rest.
fn framed(format: &str, rest: &[u8]) -> Vec<u8> {
    let mut all = format!("{format} {:032x}\n", xxh3_128(rest)).into_bytes();
    all.extend_from_slice(rest);
    all
}

/// Writes a file whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = match new_file(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(folder)?;
            new_file(folder)?
        }
        other => other?,
    };
    // Errors of the file itself name no path; its own is of no use to anybody.
    file.as_file_mut().write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// A file with a name of its own, which goes unless it gets another one. Others may read it, as far as the user's mask lets them:
/// runners can share a store.
fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mode = fs::Permissions::from_mode(0o666);
    let created = tempfile::Builder::new().prefix(".new-").permissions(mode).tempfile_in(folder);
    created.map_err(|error| error.kind().into())
}

/// Reads what [`framed`] made, without the first line; `None` if it is not that.
fn read(path: &Path, format: &str) -> Option<Vec<u8>> {
    let mut bytes = fs::read(path).ok()?;
    let end = bytes.iter().take(200).position(|&byte| byte == b'\n')?;
    let line = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let sum = line.strip_prefix(format)?.trim();
    let rest = bytes.split_off(end + 1);
    (sum == format!("{:032x}", xxh3_128(&rest))).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap_report::{Report, TraceInfo};

    fn settings() -> Settings {
        serde_json::from_str(
            r#"{"kinds":["race"],"engine":"auto","as_published":false,"model":null,"instances":1,"distance":1,"cycle":null,
            "all_patterns":false,"all_instances":false,"nodes":1,"seconds":null,"region":1,"window":0,"repair":false,
            "source_roots":[]}"#,
        )
        .unwrap()
    }

    const LIMITS: Limits = Limits { memory: 1 << 30, time: std::time::Duration::from_secs(1) };

    #[test]
    fn a_damaged_result_counts_as_absent() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path()).unwrap();
        let key = Key { trace: "ab".to_string(), share: None, settings: settings(), build: "1".to_string() };
        assert!(store.header(&key).is_none());
        let report = Report::new("0", TraceInfo::default(), "data");
        let name = store.put(&key, &Outcome::Report(Box::new(report)), LIMITS).unwrap();
        assert!(store.header(&key).is_some() && matches!(store.get(&name), Some(Outcome::Report(_))));
        let other = Key { build: "2".to_string(), ..key.clone() };
        assert!(store.header(&other).is_none());
        let path = folder.path().join(result(&name));
        let whole = fs::read(&path).unwrap();
        for damaged in [&whole[..whole.len() - 1], &whole[..10], &[]] {
            fs::write(&path, damaged).unwrap();
            assert!(store.header(&key).is_none() && store.get(&name).is_none());
        }
        for at in (0..whole.len()).step_by(7) {
            let mut changed = whole.clone();
            changed[at] ^= 4;
            fs::write(&path, changed).unwrap();
            assert!(store.header(&key).is_none(), "byte {at}");
        }
    }

    #[test]
    fn a_failure_is_kept_with_what_it_was_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path()).unwrap();
        let key = Key { trace: "ab".to_string(), share: None, settings: settings(), build: "1".to_string() };
        let failed = Failed { how: crate::How::TimedOut, reason: "slow".to_string() };
        store.put(&key, &Outcome::Failed(failed), LIMITS).unwrap();
        let header = store.header(&key).unwrap();
        let again = |limits: Limits| header.failed.as_ref().unwrap().may_succeed(header.limits, limits);
        assert!(!again(LIMITS) && again(Limits { time: LIMITS.time * 2, ..LIMITS }));
        assert!(!again(Limits { memory: 1 << 40, ..LIMITS }));
    }

    #[test]
    fn what_was_seen_does_not_depend_on_where_it_is() {
        let seen = |names: &[&str]| Seen::new(names.iter().map(PathBuf::from).collect::<Vec<_>>().iter());
        assert_eq!(seen(&["/a/x.mhp", "/a/y.mhp"]), seen(&["/other/b/x.mhp", "/other/b/y.mhp"]));
        assert_eq!(seen(&["/a/x.mhp"]), seen(&["x.mhp"]));
        assert_ne!(seen(&["/a/x.mhp", "/a/y.mhp"]), seen(&["/a/x.mhp", "/a/z.mhp"]));
        assert_ne!(seen(&["t/a/x.mhp", "t/b/x.mhp"]), seen(&["t/a/x.mhp", "t/c/x.mhp"]));
        assert_eq!(seen(&[]).traces, 0);
    }

    #[test]
    fn shards_divide_and_their_manifests_replace_those_of_another_division() {
        let thirds: Vec<Shard> = ["1/3", "2/3", "3/3"].iter().map(|text| text.parse().unwrap()).collect();
        for n in 0..20 {
            assert_eq!(thirds.iter().filter(|shard| shard.has(n)).count(), 1);
        }
        for wrong in ["0/3", "4/3", "1", "a/b", "1/"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path()).unwrap();
        let manifest = |shard| Manifest {
            shard,
            seen: Seen::new([].iter()),
            tool: "0".to_string(),
            build: "0".to_string(),
            settings: settings(),
            inputs: Vec::new(),
            traces: Vec::new(),
        };
        store.put_manifest(&manifest(Shard::WHOLE)).unwrap();
        thirds.iter().for_each(|&shard| store.put_manifest(&manifest(shard)).unwrap());
        assert_eq!(store.manifests().unwrap().iter().map(|m| m.shard).collect::<Vec<_>>(), thirds);
        fs::write(folder.path().join("manifest-2-of-3"), "mayhap-manifest 2 00\n{}").unwrap();
        assert!(store.manifests().unwrap_err().to_string().contains("damaged"));
    }
}
