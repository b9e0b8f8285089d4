//! Worker processes: starts them, hands out tasks, and survives what becomes of them.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::worker::{Answer, Start, Task};
use crate::{Error, Failed, How};

/// How workers are started: the executable and its arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// What makes it a worker.
    pub arguments: Vec<String>,
}

/// Workers and what they may use.
pub(crate) struct Pool<'a> {
    pub(crate) program: &'a Program,
    pub(crate) start: Start,
    pub(crate) workers: usize,
    pub(crate) timeout: Duration,
    /// Whether to end early.
    pub(crate) stop: &'a (dyn Fn() -> bool + Sync),
}

/// Takes what came of the n-th task.
pub(crate) type Done<'a> = &'a (dyn Fn(usize, Result<Answer, Failed>) + Sync);

impl Pool<'_> {
    /// Does all tasks, in this order, unless it is stopped.
    pub(crate) fn run(&self, tasks: &[(usize, Task)], done: Done<'_>) -> Result<(), Error> {
        let queue: Mutex<VecDeque<&(usize, Task)>> = Mutex::new(tasks.iter().collect());
        let workers = self.workers.clamp(1, tasks.len().max(1));
        thread::scope(|scope| {
            let slots: Vec<_> = (0..workers).map(|_| scope.spawn(|| self.slot(&queue, done))).collect();
            slots.into_iter().try_for_each(|slot| slot.join().expect("a slot does not panic"))
        })
    }

    /// One worker after the other, as long as there are tasks.
    fn slot(&self, queue: &Mutex<VecDeque<&(usize, Task)>>, done: Done<'_>) -> Result<(), Error> {
        let mut running: Option<Worker> = None;
        while !(self.stop)() {
            let next = queue.lock().expect("no slot panics").pop_front();
            let Some((number, task)) = next else { break };
            let mut worker = match running.take() {
                Some(worker) => worker,
                None => Worker::start(self.program, &self.start).map_err(Error::Worker)?,
            };
            match worker.perform(task, self.timeout, self.stop) {
                Performed::Answered(answer) => {
                    done(*number, Ok(answer));
                    running = Some(worker);
                }
                Performed::Stopped => worker.kill(),
                Performed::Late => {
                    worker.kill();
                    let reason = format!("it took longer than {} s (--timeout)", self.timeout.as_secs_f64());
                    done(*number, Err(Failed { how: How::TimedOut, reason }));
                }
                Performed::Ended => done(*number, Err(worker.ended())),
            }
        }
        running.into_iter().for_each(Worker::finish);
        Ok(())
    }
}

/// How waiting for an answer ended.
enum Performed {
    Answered(Answer),
    /// The worker is gone.
    Ended,
    /// The time is up.
    Late,
    /// The whole is to end.
    Stopped,
}

/// A worker process.
struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<String>,
    /// The last that it printed to standard error.
    said: JoinHandle<String>,
}

/// How often a slot looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);
/// How much of what a worker prints to standard error is kept.
const KEPT: usize = 1 << 14;

impl Worker {
    fn start(program: &Program, start: &Start) -> std::io::Result<Worker> {
        let mut command = Command::new(&program.path);
        command.args(&program.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A panic is one line of the report. Ctrl-C is for the process that started this one.
        command.env_remove("RUST_BACKTRACE").process_group(0);
        let mut child = command.spawn()?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (send, answers) = channel();
        thread::spawn(move || {
            let lines = stdout.into_iter().flat_map(|pipe| BufReader::with_capacity(1 << 16, pipe).lines());
            lines.map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        let said = thread::spawn(move || stderr.map_or_else(String::new, last_words));
        let mut worker = Worker { input: child.stdin.take(), child, answers, said };
        // A worker that is gone already is noticed with its first task.
        let _ = worker.send(&serde_json::to_string(start)?);
        Ok(worker)
    }

    fn send(&mut self, line: &str) -> std::io::Result<()> {
        let Some(input) = &mut self.input else { return Ok(()) };
        input.write_all(line.as_bytes())?;
        input.write_all(b"\n")?;
        input.flush()
    }

    fn perform(&mut self, task: &Task, timeout: Duration, stop: &dyn Fn() -> bool) -> Performed {
        let Ok(line) = serde_json::to_string(task) else { return Performed::Ended };
        if self.send(&line).is_err() {
            return Performed::Ended;
        }
        let began = Instant::now();
        loop {
            match self.answers.recv_timeout(LOOK.min(timeout)) {
                Ok(line) => return serde_json::from_str(&line).map_or(Performed::Ended, Performed::Answered),
                Err(RecvTimeoutError::Disconnected) => return Performed::Ended,
                Err(RecvTimeoutError::Timeout) if stop() => return Performed::Stopped,
                Err(RecvTimeoutError::Timeout) if began.elapsed() >= timeout => return Performed::Late,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn kill(mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Ends a worker that has nothing to do.
    fn finish(mut self) {
        self.input = None;
        let _ = self.child.wait();
    }

    /// How a worker that is gone has ended.
    fn ended(mut self) -> Failed {
        self.input = None;
        let status = self.child.kill().and_then(|()| self.child.wait());
        let said = self.said.join().unwrap_or_default();
        if said.contains("memory allocation of") || said.contains("out of memory") {
            return out_of_memory();
        }
        // The number of the thread, which comes before, is not the same twice.
        let words = match said.split_once("panicked at ") {
            Some((_, words)) => format!("panicked at {}", words.lines().take(2).collect::<Vec<_>>().join(" ")),
            None => status.map_or_else(|error| error.to_string(), how),
        };
        Failed { how: How::Crashed, reason: format!("the analysis crashed: {words}") }
    }
}

pub(crate) fn out_of_memory() -> Failed {
    let reason = "it needs more memory than it may use (--memory; --window needs less)".to_string();
    Failed { how: How::OutOfMemory, reason }
}

fn how(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("signal {signal}"),
        None => format!("exit code {}", status.code().unwrap_or(-1)),
    }
}

/// The end of what a process prints.
fn last_words(mut pipe: impl Read) -> String {
    let (mut kept, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(n @ 1..) = pipe.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..n]);
        if kept.len() > 2 * KEPT {
            kept.drain(..kept.len() - KEPT);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Counts what is found while tasks run.
#[derive(Clone, Default)]
pub(crate) struct Found(Arc<Mutex<std::collections::BTreeSet<String>>>);

impl Found {
    /// Adds findings; returns how many different ones there are.
    pub(crate) fn add(&self, fingerprints: &[String]) -> u64 {
        let mut all = self.0.lock().expect("no slot panics");
        all.extend(fingerprints.iter().cloned());
        all.len() as u64
    }
}
