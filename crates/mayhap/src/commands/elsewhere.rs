//! Runs of a program on a Ray cluster, for `mayhap explore`: what asks for them, and the worker that makes them.
//!
//! The program travels with its libraries, except those of the C library, which belong to a machine's loader. A run is asked for by the
//! record that a journal keeps of it, and answered by the same record with what was learnt.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mayhap_corpus::Program;
use mayhap_corpus::ray::Cluster;
use mayhap_explore::{Entry, Explorer, Faults, Next, Outcome};
use mayhap_instrument::runtime;
use mayhap_job::{Elsewhere, Error, Runs, Stdin, There};
use mayhap_replay::fixed_addresses;
use serde::{Deserialize, Serialize};

use crate::{Exit, Failure};

/// Longer runs than their limit are no more waited for after this.
const GRACE: Duration = Duration::from_secs(60);
/// Libraries that come with the loader of a machine.
const OF_THE_LOADER: [&str; 9] = [
    "ld-linux",
    "libc.so",
    "libm.so",
    "libpthread.so",
    "libdl.so",
    "librt.so",
    "libresolv.so",
    "libutil.so",
    "linux-vdso",
];

/// The first message to a worker.
#[derive(Serialize, Deserialize)]
struct Start {
    /// The file of the program, beside this executable, and its arguments.
    program: Vec<String>,
    inputs: bool,
    faults: Faults,
    stdin: Vec<u8>,
    /// Where the program runs, if the machine has that folder.
    folder: PathBuf,
    seconds: f64,
}

/// What a run came to besides what is learnt from it.
#[derive(Default, Serialize, Deserialize)]
struct Rest {
    ended_well: bool,
    machine: String,
}

/// A cluster that makes runs.
#[derive(Debug)]
pub(super) struct Ray {
    cluster: Cluster,
    program: Vec<String>,
    given: Mutex<(bool, Faults, Vec<u8>)>,
}

impl Ray {
    /// Connects to a cluster, or starts one here with so many workers.
    pub(super) fn start(address: &str, workers: usize, program: &[OsString]) -> Result<Ray, Failure> {
        let words: Option<Vec<String>> = program.iter().map(|word| word.to_str().map(str::to_string)).collect();
        let mut words = words.ok_or_else(|| Failure::new("--ray: arguments of the program must be UTF-8"))?;
        let file =
            found(&program[0]).ok_or_else(|| Failure::at(Path::new(&program[0]), "no such program").not_run())?;
        words[0] = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The worker is called `mayhap`.
        if words[0] == "mayhap" {
            words[0] = "program".to_string();
        }
        let mut files = vec![(words[0].clone(), file.clone())];
        files.extend(libraries(&file));
        let own = std::env::current_exe()
            .map_err(|error| Failure::new(format_args!("cannot find this executable: {error}")))?;
        let worker = Program { path: own, arguments: vec!["explore-worker".to_string()] };
        let cluster = Cluster::start(address, workers, &worker, &files, &|| false)?;
        Ok(Ray { cluster, program: words, given: Mutex::default() })
    }
}

impl Elsewhere for Ray {
    fn at_once(&self) -> usize {
        self.cluster.processors
    }

    fn program(&self) -> Vec<OsString> {
        let file = self.cluster.folder.join(&self.program[0]).into_os_string();
        std::iter::once(file).chain(self.program[1..].iter().map(OsString::from)).collect()
    }

    fn libraries(&self) -> PathBuf {
        self.cluster.folder.clone()
    }

    fn begin(&self, inputs: bool, faults: Faults, stdin: &[u8]) {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = (inputs, faults, stdin.to_vec());
    }

    fn make(&self, next: &Next, limit: Duration) -> Result<Option<There>, Error> {
        let (inputs, faults, stdin) = self.given.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let folder = std::env::current_dir().unwrap_or_default();
        let start =
            Start { program: self.program.clone(), inputs, faults, stdin, folder, seconds: limit.as_secs_f64() };
        let start = serde_json::to_string(&start).map_err(Error::new)?;
        let task = Entry { made: next.clone(), outcome: Outcome::default(), rest: Rest::default() }.to_bytes();
        let task = String::from_utf8_lossy(&task).into_owned();
        let came = self.cluster.perform(&start, &task, None, limit + GRACE, &|| false).map_err(Error::new)?;
        // Whatever went wrong there: the run is made here.
        let Some(answer) = came.and_then(|came| came.answer) else { return Ok(None) };
        let entry: Entry<Rest> = Entry::from_bytes(answer.as_bytes()).map_err(Error::new)?;
        let Entry { outcome, rest: Rest { ended_well, machine }, .. } = entry;
        Ok(ended_well.then_some(There { outcome, machine }))
    }
}

/// The file of a program, wherever it is.
fn found(program: &OsStr) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The libraries that the loader of this machine takes for a program.
fn libraries(program: &Path) -> Vec<(String, PathBuf)> {
    let Ok(output) = Command::new("ldd").arg(program).output() else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let library = |line: &str| {
        let (name, rest) = line.trim().split_once(" => ")?;
        let path = PathBuf::from(rest.split(" (").next()?);
        let travels = path.is_file() && !OF_THE_LOADER.iter().any(|own| name.starts_with(own));
        travels.then(|| (name.to_string(), path))
    };
    // The runtime is part of the executable that travels, too.
    text.lines().filter_map(library).filter(|(name, _)| !name.starts_with("libtsan") && name != runtime::NAME).collect()
}

/// Makes runs for [`Ray`] until its input ends.
pub(super) fn work() -> Result<Exit, Failure> {
    let mut lines = io::stdin().lock().lines();
    let Some(start) = lines.next().transpose()? else { return Ok(Exit::Nothing) };
    let start: Start = serde_json::from_str(&start).map_err(|error| Failure::new(error.to_string()))?;
    let temporary = super::run::temporary_folder()?;
    let input = temporary.path().join("stdin");
    std::fs::write(&input, &start.stdin)?;
    let own = std::env::current_exe().and_then(|path| path.canonicalize())?;
    let here = own.parent().unwrap_or(Path::new("/"));
    // A machine without that folder has none of the program's files either.
    let _ = std::env::set_current_dir(&start.folder);
    let program = std::iter::once(here.join(&start.program[0]).into_os_string());
    let runs = Runs {
        program: program.chain(start.program[1..].iter().map(OsString::from)).collect(),
        runtime: runtime::folder()?,
        fixed: fixed_addresses::can_be_fixed(),
        stdin: Stdin::of(input),
        inputs: start.inputs,
        faults: start.faults,
        folder: temporary.path().to_path_buf(),
        libraries: Some(here.to_path_buf()),
        servers: Some(std::sync::Arc::default()),
    };
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_string();
    for line in lines {
        let asked: Entry<Rest> = Entry::from_bytes(line?.as_bytes()).map_err(Failure::new)?;
        let tried = runs.make(&asked.made, Duration::from_secs_f64(start.seconds))?;
        let ended_well = tried.capture.status.success() && !tried.late && !tried.is_stuck && tried.misuse.is_none();
        let outcome = Explorer::outcome(&asked.made, &tried)?;
        let rest = Rest { ended_well, machine: machine.clone() };
        let mut answer = Entry { outcome, rest, ..asked }.to_bytes();
        answer.push(b'\n');
        let mut output = io::stdout().lock();
        output.write_all(&answer).and_then(|()| output.flush())?;
    }
    Ok(Exit::Nothing)
}
