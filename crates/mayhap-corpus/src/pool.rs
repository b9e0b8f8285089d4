//! Worker processes: starts them, hands out tasks, and survives what becomes of them.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::process::{LOOK, Program, free_memory, last_words};
use crate::ray::Cluster;
use crate::worker::{Answer, Start, Task};
use crate::{Error, Failed, How, is_url};

/// Who does tasks.
#[derive(Debug)]
pub enum Hands {
    /// Worker processes on this machine.
    Processes(Program),
    /// A cluster.
    Cluster(Cluster),
}

impl Hands {
    /// Memory that workers may use together unless something else is asked for: most of what is free, or what the cluster has.
    pub fn memory(&self) -> u64 {
        match self {
            Hands::Cluster(Cluster { memory: memory @ 1.., .. }) => *memory,
            _ => free_memory() / 4 * 3,
        }
    }

    /// What one worker can use at most: what one machine has.
    pub(crate) fn largest(&self) -> u64 {
        match self {
            Hands::Cluster(Cluster { largest: largest @ 1.., .. }) => *largest,
            _ => u64::MAX,
        }
    }
}

/// Workers and what they may use.
pub(crate) struct Pool<'a> {
    pub(crate) hands: &'a Hands,
    pub(crate) start: Start,
    pub(crate) workers: usize,
    pub(crate) timeout: Duration,
    /// Whether to end early.
    pub(crate) stop: &'a (dyn Fn() -> bool + Sync),
}

type Queue<'a> = Mutex<VecDeque<&'a (usize, Task)>>;

/// Takes what came of the n-th task.
pub(crate) type Done<'a> = &'a (dyn Fn(usize, Result<Answer, Failed>) + Sync);

impl Pool<'_> {
    /// Does all tasks, in this order, unless it is stopped.
    pub(crate) fn run(&self, tasks: &[(usize, Task)], done: Done<'_>) -> Result<(), Error> {
        let queue: Queue<'_> = Mutex::new(tasks.iter().collect());
        let workers = self.workers.clamp(1, tasks.len().max(1));
        thread::scope(|scope| {
            let slot = || match self.hands {
                Hands::Processes(program) => self.slot(program, &queue, done),
                Hands::Cluster(cluster) => self.cluster_slot(cluster, &queue, done),
            };
            let slots: Vec<_> = (0..workers).map(|_| scope.spawn(slot)).collect();
            slots.into_iter().try_for_each(|slot| slot.join().expect("a slot does not panic"))
        })
    }

    /// One worker after the other, as long as there are tasks.
    fn slot(&self, program: &Program, queue: &Queue<'_>, done: Done<'_>) -> Result<(), Error> {
        let mut running: Option<Worker> = None;
        while !(self.stop)() {
            let next = queue.lock().expect("no slot panics").pop_front();
            let Some((number, task)) = next else { break };
            let mut worker = match running.take() {
                Some(worker) => worker,
                None => Worker::start(program, &self.start).map_err(Error::Worker)?,
            };
            match worker.perform(task, self.timeout, self.stop) {
                Performed::Answered(answer) => {
                    done(*number, Ok(answer));
                    running = Some(worker);
                }
                Performed::Stopped => worker.kill(),
                Performed::Late => {
                    worker.kill();
                    done(*number, Err(self.late()));
                }
                Performed::Ended => done(*number, Err(worker.ended())),
            }
        }
        running.into_iter().for_each(Worker::finish);
        Ok(())
    }

    /// One task on the cluster after the other.
    fn cluster_slot(&self, cluster: &Cluster, queue: &Queue<'_>, done: Done<'_>) -> Result<(), Error> {
        let line = |value: serde_json::Result<String>| value.map_err(|error| Error::Setting(error.to_string()));
        let start = line(serde_json::to_string(&self.start))?;
        while !(self.stop)() {
            let next = queue.lock().expect("no slot panics").pop_front();
            let Some((number, task)) = next else { break };
            let (text, file) = (line(serde_json::to_string(task))?, (!is_url(&task.path)).then_some(&*task.path));
            let Some(came) = cluster.perform(&start, &text, file, self.timeout, self.stop)? else { break };
            let answer = came.answer.as_deref().and_then(|answer| serde_json::from_str(answer).ok());
            done(*number, answer.ok_or_else(|| if came.late { self.late() } else { ended(&came.said, came.ended) }));
        }
        Ok(())
    }

    fn late(&self) -> Failed {
        let reason = format!("it took longer than {} s (--timeout)", self.timeout.as_secs_f64());
        Failed { how: How::TimedOut, reason }
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
        ended(&said, status.map_or_else(|error| error.to_string(), how))
    }
}

/// What it means that a worker ended so, after these words.
fn ended(said: &str, how: String) -> Failed {
    if said.contains("memory allocation of") || said.contains("out of memory") {
        return out_of_memory();
    }
    // The number of the thread, which comes before, is not the same twice.
    let words = match said.split_once("panicked at ") {
        Some((_, words)) => format!("panicked at {}", words.lines().take(2).collect::<Vec<_>>().join(" ")),
        None => how,
    };
    Failed { how: How::Crashed, reason: format!("the analysis crashed: {words}") }
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
