//! Tasks on a Ray cluster.
//!
//! Ray places tasks, starts workers anew where they or their machines end, and moves files. What we add is a driver in Python, which
//! is part of the executable and of the Python package: it passes tasks to Ray and answers back, all as lines of JSON. A task on the
//! cluster is a line for a worker process of this executable, which travels with it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::process::{LOOK, Program, last_words};

/// The driver.
const DRIVER: &str = include_str!("../../../python/mayhap/ray.py");
/// The variable that names the Python to use.
const PYTHON: &str = "MAYHAP_PYTHON";

/// The first message to the driver.
#[derive(Serialize)]
struct Opening<'a> {
    /// The address of the cluster; `auto` for one that runs on this machine, or a new one.
    address: &'a str,
    /// Workers of a cluster that is started here.
    workers: usize,
    executable: &'a Path,
    arguments: &'a [String],
    /// Files that every task needs, by the names that they have on the cluster.
    files: &'a [(String, PathBuf)],
}

/// The driver's first line.
#[derive(Deserialize)]
struct Ready {
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    processors: usize,
    #[serde(default)]
    nodes: usize,
    #[serde(default)]
    memory: u64,
    #[serde(default)]
    largest: u64,
    /// Where the cluster's machines keep the files.
    #[serde(default)]
    folder: PathBuf,
}

/// One task for the driver.
#[derive(Serialize)]
struct Asked<'a> {
    number: u64,
    /// The first line for a worker.
    start: &'a str,
    /// The second one.
    task: &'a str,
    /// Seconds that it may take.
    seconds: f64,
    /// A file that the task names; machines that do not have it get its contents.
    file: Option<&'a Path>,
}

/// What came of a task.
#[derive(Debug, Deserialize)]
pub struct Came {
    number: u64,
    /// The worker's answer.
    #[serde(default)]
    pub answer: Option<String>,
    /// The time was up.
    #[serde(default)]
    pub late: bool,
    /// How the worker ended without an answer.
    #[serde(default)]
    pub ended: String,
    /// The last that it printed to standard error.
    #[serde(default)]
    pub said: String,
}

type Waiting = Arc<Mutex<Option<HashMap<u64, Sender<Came>>>>>;

/// A cluster that does tasks.
#[derive(Debug)]
pub struct Cluster {
    child: Mutex<Child>,
    input: Mutex<Option<ChildStdin>>,
    waiting: Waiting,
    next: AtomicU64,
    said: Mutex<Option<JoinHandle<String>>>,
    /// Processors of all its machines.
    pub processors: usize,
    /// Its machines.
    pub nodes: usize,
    /// Bytes of memory that its machines have for tasks, all together; 0 if it does not say.
    pub memory: u64,
    /// The same of the machine that has most.
    pub largest: u64,
    /// The folder in which its machines keep the files that were given.
    pub folder: PathBuf,
}

impl Cluster {
    /// Connects to a cluster, or starts one on this machine with so many workers. Tasks are done by `program`. A cluster that does not
    /// answer is waited for by Ray for a while, unless it is to stop.
    pub fn start(
        address: &str,
        workers: usize,
        program: &Program,
        files: &[(String, PathBuf)],
        stop: &dyn Fn() -> bool,
    ) -> Result<Cluster, Error> {
        let python = std::env::var_os(PYTHON).unwrap_or_else(|| OsString::from("python3"));
        let mut command = Command::new(&python);
        command.arg("-c").arg(DRIVER).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for the process that started this one.
        command.process_group(0);
        let none = |error| Error::Cluster(format!("cannot start `{}` ({PYTHON}): {error}", python.to_string_lossy()));
        let mut child = command.spawn().map_err(none)?;
        let (mut input, stderr) = (child.stdin.take(), child.stderr.take());
        let said = thread::spawn(move || stderr.map_or_else(String::new, last_words));
        let output = BufReader::with_capacity(1 << 16, child.stdout.take().expect("it is a pipe"));
        let opening = Opening { address, workers, executable: &program.path, arguments: &program.arguments, files };
        // A driver that is gone already says why.
        let _ = send(&mut input, &opening);
        let waiting: Waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        let first = listen(output, Arc::clone(&waiting));
        let first = loop {
            match first.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) if stop() => {
                    // It may have ended by itself.
                    let _ = child.kill().and_then(|()| child.wait());
                    return Err(Error::Cluster("interrupted before the cluster answered".to_string()));
                }
                Err(RecvTimeoutError::Timeout) => {}
                line => break line.unwrap_or_default(),
            }
        };
        let ready: Option<Ready> = serde_json::from_str(&first).ok();
        let ready = match ready {
            Some(Ready { error: None, processors: 1.., .. }) => ready.expect("it matched"),
            other => {
                drop(input);
                let _ = child.wait();
                let words = last_line(&said.join().unwrap_or_default());
                return Err(Error::Cluster(other.and_then(|ready| ready.error).unwrap_or(words)));
            }
        };
        Ok(Cluster {
            child: Mutex::new(child),
            input: Mutex::new(input),
            waiting,
            next: AtomicU64::new(0),
            said: Mutex::new(Some(said)),
            processors: ready.processors,
            nodes: ready.nodes,
            memory: ready.memory,
            largest: ready.largest,
            folder: ready.folder,
        })
    }

    /// Has a task done, and waits for what comes of it; `None` if it is to stop before.
    pub fn perform(
        &self,
        start: &str,
        task: &str,
        file: Option<&Path>,
        limit: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Came>, Error> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = channel();
        match self.waiting.lock().expect("no task panics").as_mut() {
            Some(waiting) => drop(waiting.insert(number, sender)),
            None => return Err(self.gone()),
        }
        let asked = Asked { number, start, task, seconds: limit.as_secs_f64(), file };
        if send(&mut self.input.lock().expect("no task panics"), &asked).is_err() {
            return Err(self.gone());
        }
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(came) => return Ok(Some(came)),
                Err(RecvTimeoutError::Timeout) if stop() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone()),
            }
        }
    }

    /// Why the driver is gone.
    fn gone(&self) -> Error {
        let said = self.said.lock().ok().and_then(|mut said| said.take());
        let words = said.map(|said| last_line(&said.join().unwrap_or_default())).unwrap_or_default();
        Error::Cluster(format!("the driver ended: {words}"))
    }
}

/// Passes answers on to those that wait for them. Returns the first line.
fn listen(output: BufReader<ChildStdout>, waiting: Waiting) -> Receiver<String> {
    let (send, first) = channel();
    thread::spawn(move || {
        let mut lines = output.lines().map_while(Result::ok);
        // A driver that is no longer waited for is about to end.
        let _ = send.send(lines.next().unwrap_or_default());
        for line in lines {
            let Ok(came) = serde_json::from_str::<Came>(&line) else { continue };
            let to = waiting.lock().ok().and_then(|mut waiting| waiting.as_mut()?.remove(&came.number));
            // The answer of a task that is no longer waited for is dropped.
            let _ = to.map(|to| to.send(came));
        }
        // No task waits for a driver that is gone.
        if let Ok(mut waiting) = waiting.lock() {
            *waiting = None;
        }
    });
    first
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The driver ends with its input, and a cluster that it started with it.
        drop(self.input.lock().map(|mut input| input.take()));
        let _ = self.child.lock().map(|mut child| child.wait());
    }
}

fn send(to: &mut Option<ChildStdin>, line: &impl Serialize) -> std::io::Result<()> {
    let Some(to) = to else { return Err(std::io::ErrorKind::BrokenPipe.into()) };
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    to.write_all(&text)?;
    to.flush()
}

/// The last line of a text that says something.
fn last_line(text: &str) -> String {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it did not say why").trim().to_string()
}
