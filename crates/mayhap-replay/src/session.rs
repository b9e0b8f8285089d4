//! One replay: the program runs along a plan and is watched until it ends, blocks for good or is given up.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mayhap_wire::judgement;
use mayhap_wire::ring::Schedule;
use mayhap_wire::schedule::{ENVIRONMENT, arrival, goal, mode, place, reason};

use crate::debugger;
use crate::describe::{Places, action, verb};
use crate::effect::{Ended, effect};
pub use crate::effect::{Printed, Recorded};
use crate::fixed_addresses::fixed;
use crate::image::{Divergence, Finish, Image};
use crate::memory::{Judge, Threads};
use crate::outcome::{Effect, Outcome};
use crate::plan::Plan;
use crate::stall::Stall;
use mayhap_record::Error;
use mayhap_record::{self as record, Capture, Monitor, Process, Start};
use mayhap_symbols::{Place, Symbols};
use mayhap_trace::Trace;
use mayhap_trace::attachments::Run;
use mayhap_trace::attachments::steps::Steps;

/// How long all threads of a cycle must have been blocked before that counts as a deadlock.
const BLOCKED: Duration = Duration::from_millis(200);
/// How long a thread that does not go on may take to say where it is.
const ANSWER: Duration = Duration::from_millis(1000);
/// The signal of an abort.
const SIGABRT: i32 = 6;
/// Bytes of the program's output that are kept.
const KEPT: usize = 1 << 20;

/// How to replay.
#[derive(Debug)]
pub struct Options {
    /// Which of the targets' accesses is made first.
    pub first: u32,
    /// Leave a core when the state is reached.
    pub core: bool,
    /// How long nothing may happen before the replay is given up, or the program is taken to hang.
    pub patience: Duration,
    /// How long the whole may take.
    pub timeout: Duration,
    /// Keep what the program prints instead of passing it on.
    pub capture: bool,
    /// What it is given to read; what this process has, if nothing else is said.
    pub input: Option<Stdio>,
    /// The folder of the runtime library.
    pub runtime: PathBuf,
    /// Its addresses are the same in every run.
    pub fixed: bool,
    /// What to compare the end with.
    pub recorded: Option<Recorded>,
    /// Run the program in a debugger that stops when the state is reached, with the files in this folder ([`debugger`]). Time
    /// limits do not apply then.
    pub debugger: Option<PathBuf>,
}

/// A thread as it stood before its target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Side {
    /// The thread.
    pub thread: String,
    /// What it is about to do and where: "writes `total` at teller bank.c:70".
    pub what: String,
    /// What was there then.
    pub value: Option<Vec<u8>>,
    /// How it came there: function and line, innermost first.
    pub stack: Vec<String>,
}

/// What a replay came to.
pub struct Replayed {
    /// Whether the bad state was reached.
    pub outcome: Outcome,
    /// What came of the program.
    pub effect: Effect,
    /// The threads as they stood at the end of the schedule.
    pub sides: Vec<Side>,
    /// Steps of the schedule that were made, and all.
    pub steps: (usize, usize),
    /// How the program ended.
    pub status: ExitStatus,
    /// What it printed, if that was kept.
    pub printed: Option<Printed>,
    /// What it recorded.
    pub taken: Capture,
}

/// The steps of a recorded trace.
pub fn steps(path: &Path, trace: &Trace) -> Result<Steps, Error> {
    let file = File::open(path).map_err(|error| Error::at(path, error))?;
    let none = "the trace does not say how to replay it: record the program with `mayhap record -o TRACE.mhp`";
    let read = Steps::read(BufReader::with_capacity(1 << 17, file), trace).ok_or_else(|| Error::at(path, none))?;
    read.map_err(|_| Error::at(path, "the steps for a replay are damaged or of another version"))
}

/// Replays a plan once.
pub fn replay(program: &[OsString], steps: &Steps, plan: &Plan, mut options: Options) -> Result<Replayed, Error> {
    let finish = Finish { first: options.first, core: options.core };
    let memory = |error| Error::new(format_args!("cannot create shared memory for the schedule: {error}"));
    let image = Image::create(steps, plan, finish).map_err(memory)?;
    let judge = Judge::create(plan.reads_new == Some(options.first)).map_err(memory)?;
    let mut command = if let Some(folder) = &options.debugger {
        record::command(&debugger::command(program, folder)?, &options.runtime)?
    } else if options.fixed {
        record::command(&fixed(program), &options.runtime)?
    } else {
        record::command(program, &options.runtime)?
    };
    command.env(ENVIRONMENT, image.path());
    if options.debugger.is_none() {
        command.env(judgement::ENVIRONMENT, judge.path());
    }
    let mut readers = Vec::new();
    if let Some(input) = options.input.take() {
        command.stdin(input);
    }
    if options.capture {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    let recording = record::Options {
        output: std::path::PathBuf::new(),
        seed: 0,
        schedule: Schedule::Free,
        slice: record::usual_slice(Schedule::Free),
        inputs: false,
        values: false,
        linger: record::LINGER,
        limits: record::Limits::default(),
        finish: true,
        root: None,
    };
    let mut watch = Watch::new(&image, steps, plan, &options, &mut readers);
    let taken = record::execute(Start::New(command), &recording, &std::env::temp_dir(), &mut watch)?;
    let (stalled, ended, process) = (watch.stalled.take(), watch.ended, watch.process);
    let printed = options.capture.then(|| printed(readers, process));
    let symbols = taken.symbols();
    let places = Places::new(steps);
    let story = Story { image: &image, plan, places: &places, symbols: &symbols };
    let mut outcome = if !taken.is_recorded() {
        Outcome::NotReached("the program is not built for recording: build it with `mayhap cc` or `mayhap c++`".into())
    } else {
        story.outcome(stalled.as_ref(), ended, taken.status).map_err(memory)?
    };
    if let Outcome::Diverged { sources, .. } = &mut outcome
        && steps.inputs.is_empty()
    {
        *sources = taken.sources();
    }
    let effect = match outcome {
        Outcome::Confirmed if options.core && taken.status.signal() == Some(SIGABRT) => Effect::Core,
        Outcome::Confirmed => match judge.found(&symbols, Threads::OfSchedule(steps)).map_err(memory)? {
            Some(error) if ended != Some(Ended::Deadlock) => Effect::Memory(Box::new(error)),
            _ => effect(&outcome, ended, taken.status, printed.as_ref(), options.recorded.as_ref()),
        },
        _ => effect(&outcome, ended, taken.status, printed.as_ref(), options.recorded.as_ref()),
    };
    let made = image.next().map_err(memory)? as usize;
    let sides = story.sides().map_err(memory)?;
    Ok(Replayed { outcome, effect, sides, steps: (made, plan.steps.len()), status: taken.status, printed, taken })
}

fn printed(readers: Vec<JoinHandle<Vec<u8>>>, process: u32) -> Printed {
    let mut texts = readers.into_iter().map(|reader| reader.join().unwrap_or_default());
    Printed { out: texts.next().unwrap_or_default(), err: texts.next().unwrap_or_default(), process }
}

/// Reads a stream to its end and keeps its beginning; `show` gets all of it.
pub fn keep(mut stream: impl Read + Send + 'static, mut show: impl Write + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let (mut kept, mut buffer) = (Vec::new(), [0; 1 << 14]);
        while let Ok(n @ 1..) = stream.read(&mut buffer) {
            // Where it cannot be shown, it is kept all the same.
            let _ = show.write_all(&buffer[..n]);
            kept.extend_from_slice(&buffer[..n.min(KEPT.saturating_sub(kept.len()))]);
        }
        kept
    })
}

/// Watches a replay while it runs.
struct Watch<'a> {
    image: &'a Image,
    steps: &'a Steps,
    plan: &'a Plan,
    options: &'a Options,
    readers: &'a mut Vec<JoinHandle<Vec<u8>>>,
    started: Instant,
    /// What showed progress when, last.
    seen: (u32, u32, u64, u64),
    since: Instant,
    /// When something was done that the program records, last, and the processor time used until then.
    did: ((u32, u32, u64), Instant, u64),
    blocked_since: Option<Instant>,
    /// Why the replay makes no progress, and when that was found.
    stalled: Option<Stall>,
    stalled_since: Option<Instant>,
    ended: Option<Ended>,
    process: u32,
}

impl<'a> Watch<'a> {
    fn new(
        image: &'a Image,
        steps: &'a Steps,
        plan: &'a Plan,
        options: &'a Options,
        readers: &'a mut Vec<JoinHandle<Vec<u8>>>,
    ) -> Self {
        let now = Instant::now();
        Watch {
            image,
            steps,
            plan,
            options,
            readers,
            started: now,
            seen: Default::default(),
            since: now,
            did: (Default::default(), now, 0),
            blocked_since: None,
            stalled: None,
            stalled_since: None,
            ended: None,
            process: 0,
        }
    }

    fn end(&mut self, child: &mut Process<'_>, why: Ended) {
        if self.ended.is_none() {
            self.ended = Some(why);
            child.kill();
        }
    }

    fn all_blocked(&self) -> std::io::Result<bool> {
        for target in 0..self.plan.targets.len() {
            if self.image.arrival(target, 1)?.state != arrival::BLOCKED {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The replay makes no progress any more: looks where the thread is that was to go on, and asks it for its stack if it waits for
    /// something unknown.
    fn stall(&mut self, process: u32, spins: bool) -> std::io::Result<()> {
        let stall = Stall::look(self.image, self.steps, self.plan, process, spins)?;
        if stall.waits.is_some() {
            self.image.ask(stall.lane)?;
        }
        self.stalled = Some(stall);
        self.stalled_since = Some(Instant::now());
        Ok(())
    }

    /// Gives a replay up that makes no progress, once the thread that was asked for its stack has answered or had the time for it.
    fn give_up(&mut self, since: Instant) -> std::io::Result<()> {
        let waits = self.stalled.as_ref().is_some_and(|stall| stall.waits.is_some());
        if !waits || since.elapsed() >= ANSWER || self.image.stuck()?.is_some() {
            self.image.abandon()?;
            self.stalled_since = None;
            self.since = Instant::now();
        }
        Ok(())
    }

    /// Whether the program does nothing but use the processor, for longer than the recorded run took for all that it did.
    fn spins(&mut self, progress: (u32, u32, u64), busy: u64) -> bool {
        if self.did.0 != progress || self.did.2 == 0 {
            self.did = (progress, Instant::now(), busy);
        }
        let used = Duration::from_millis(busy.saturating_sub(self.did.2) * 10);
        let recorded = self.options.recorded.as_ref().map_or(0.0, |recorded| recorded.run.seconds);
        used >= self.options.patience && used.as_secs_f64() >= 2.0 * recorded && self.did.1.elapsed() >= used
    }
}

impl Monitor for Watch<'_> {
    fn look(&mut self, child: &mut Process<'_>, words: u64) -> Result<(), Error> {
        self.process = child.id();
        if let Some(out) = child.stdout.take() {
            self.readers.push(keep(out, std::io::sink()));
        }
        if let Some(err) = child.stderr.take() {
            self.readers.push(keep(err, std::io::sink()));
        }
        if self.options.debugger.is_some() {
            return Ok(());
        }
        let failed = |error| Error::new(format_args!("the schedule's shared memory: {error}"));
        let (mode, next) = (self.image.mode().map_err(failed)?, self.image.next().map_err(failed)?);
        let now = Instant::now();
        if mode == mode::FREE && self.plan.goal == goal::BLOCK && self.all_blocked().map_err(failed)? {
            let since = *self.blocked_since.get_or_insert(now);
            if now - since >= BLOCKED {
                self.end(child, Ended::Deadlock);
            }
        } else {
            self.blocked_since = None;
        }
        let busy = cpu_ticks(child.id());
        if self.seen != (mode, next, words, busy) {
            self.seen = (mode, next, words, busy);
            self.since = now;
        }
        if let Some(since) = self.stalled_since {
            self.give_up(since).map_err(failed)?;
        } else if mode == mode::FOLLOWING && self.spins((mode, next, words), busy) {
            self.stall(child.id(), true).map_err(failed)?;
        } else if now - self.since >= self.options.patience {
            if mode == mode::FOLLOWING {
                self.stall(child.id(), false).map_err(failed)?;
            } else {
                self.end(child, Ended::Hang);
            }
            self.since = now;
        }
        if now - self.started >= self.options.timeout {
            self.end(child, Ended::Timeout);
        }
        Ok(())
    }

    fn interrupted(&mut self, child: &mut Process<'_>) {
        if self.options.debugger.is_none() {
            self.end(child, Ended::Interrupted);
        }
    }
}

/// The CPU time that a process has used, in the kernel's ticks; 0 if it is unknown.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// What the end of a replay is judged by.
struct Story<'a> {
    image: &'a Image,
    plan: &'a Plan,
    places: &'a Places<'a>,
    symbols: &'a Symbols,
}

impl Story<'_> {
    fn outcome(&self, stalled: Option<&Stall>, ended: Option<Ended>, status: ExitStatus) -> std::io::Result<Outcome> {
        let (mode, next) = (self.image.mode()?, self.image.next()? as usize);
        let all = self.plan.steps.len();
        // A step that ends the process is never seen to be done.
        let died_in = status.signal().and(self.image.performing()?);
        let last = died_in.is_some_and(|step| step as usize + 1 == all) && self.plan.goal == goal::SEQUENCE;
        Ok(match mode {
            mode::DIVERGED => self.diverged(&self.image.divergence()?),
            mode::ABANDONED => self.stalled(stalled)?,
            mode::FREE if self.plan.goal == goal::BLOCK && ended != Some(Ended::Deadlock) => {
                Outcome::NotReached("all threads of the cycle reached their locks, but did not stay blocked".into())
            }
            mode::REACHED | mode::GUIDED | mode::FREE => Outcome::Confirmed,
            _ if last => Outcome::Confirmed,
            _ if next < all => {
                let what = format!("the program ended before step {} of {all}: {}", next + 1, self.step(next));
                Outcome::NotReached(what)
            }
            _ => Outcome::NotReached("the program ended before all threads stood before their accesses".into()),
        })
    }

    fn step(&self, number: usize) -> String {
        let step = self.plan.steps.get(number).or_else(|| self.plan.targets.first());
        step.map_or(String::new(), |&step| self.places.step(&self.places.steps.steps[step]))
    }

    fn diverged(&self, got: &Divergence) -> Outcome {
        let thread = self.places.steps.lane_name(got.lane);
        let target = || {
            let of_lane = |&&step: &&usize| self.places.steps.steps[step].lane == got.lane;
            self.plan.targets.iter().find(of_lane).map(|&step| self.places.step(&self.places.steps.steps[step]))
        };
        let (step, expected) = match got.expected {
            Some(step) => (step as usize + 1, self.step(step as usize)),
            None => (self.plan.steps.len() + 1, target().unwrap_or_else(|| format!("nothing more of {thread}"))),
        };
        if got.reason == reason::ELSEWHERE {
            return Outcome::NotReached("the threads stood before their accesses, but not to the same memory".into());
        }
        let place = if got.pc == 0 { String::new() } else { format!(" at {}", self.symbols.place(got.pc)) };
        let object = self.symbols.data(got.address).map_or(String::new(), |name| format!(" {name}"));
        let done = format!("{thread}: {}{object}{place}", verb(got.kind));
        let got = match got.reason {
            reason::BLOCKS => "it would have had to wait".into(),
            reason::ENDED => format!("{thread} ended"),
            reason::OUTCOME => format!("{done}, with a different outcome"),
            _ => done,
        };
        Outcome::Diverged { step, expected, got, sources: Vec::new() }
    }

    fn stalled(&self, stalled: Option<&Stall>) -> std::io::Result<Outcome> {
        let Some(stall) = stalled else { return Ok(Outcome::NotReached("the replay was given up".into())) };
        let thread = self.places.steps.lane_name(stall.lane);
        let target = || {
            let of_lane = |&&step: &&usize| self.places.steps.steps[step].lane == stall.lane;
            self.plan.targets.iter().find(of_lane).map(|&step| self.places.step(&self.places.steps.steps[step]))
        };
        let is_step = stall.next < self.plan.steps.len();
        let expected = if is_step { self.step(stall.next) } else { target().unwrap_or_default() };
        if let Some(how) = &stall.waits {
            let stack = self.image.stuck()?.unwrap_or_default();
            // A thread that waits in the runtime itself waits for the token.
            let in_runtime = stack.first().and_then(|&pc| self.symbols.module_at(pc)).is_some_and(|(_, module)| {
                module.path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libmayhap_rt"))
            });
            if !in_runtime {
                let (step, how) = (stall.next + 1, how.clone());
                return Ok(Outcome::Blocked { step, expected, thread, how, stack: self.waits_at(&stack) });
            }
        }
        if !is_step {
            return Ok(Outcome::NotReached("not all threads came to their accesses".into()));
        }
        let got = match stall.place {
            place::NOWHERE => format!("{thread} did not start"),
            place::ENDED => format!("{thread} ended"),
            place::BLOCKING => format!("{thread} stayed in a blocking call"),
            _ => format!("{thread} did not reach it"),
        };
        Ok(Outcome::Diverged { step: stall.next + 1, expected, got, sources: Vec::new() })
    }

    /// The stack of a thread that waits, down to the program's outermost function that has a line.
    fn waits_at(&self, stack: &[u64]) -> Vec<String> {
        let frames = stack.iter().flat_map(|&pc| self.symbols.frames(pc));
        let frames: Vec<Place> = frames.filter(|place| !place.line.contains("mayhap-rt/src/")).collect();
        let outermost = frames.iter().rposition(|place| !place.line.contains("+0x")).unwrap_or(frames.len());
        frames.iter().take(outermost + 1).map(Place::to_string).collect()
    }

    fn sides(&self) -> std::io::Result<Vec<Side>> {
        let mut sides = Vec::new();
        for (number, &target) in self.plan.targets.iter().enumerate() {
            let step = &self.places.steps.steps[target];
            let arrival = self.image.arrival(number, step.size)?;
            if arrival.state == arrival::AWAY {
                continue;
            }
            // The runtime's own frames lie above the access, the C library's start-up code below the program.
            let skip = arrival.stack.iter().position(|&pc| pc == arrival.pc).unwrap_or(0);
            let frames = arrival.stack[skip..].iter().flat_map(|&pc| self.symbols.frames(pc));
            let known = |place: &Place| !place.line.contains("+0x") && !place.line.contains("mayhap-rt/src/");
            let stack = frames.filter(known).map(|place| place.to_string()).collect();
            let object = self.places.object(step);
            let object = if object.contains(' ') { object } else { format!("`{object}`") };
            let what = format!("{} {object}", action(step.kind));
            sides.push(Side {
                thread: self.places.steps.lane_name(step.lane),
                what: format!("{what} at {}", self.symbols.place(arrival.pc)),
                value: arrival.value,
                stack,
            });
        }
        Ok(sides)
    }
}

/// What the trace at `path` says of its run, to compare with.
pub fn recorded(path: &Path) -> Option<Recorded> {
    Run::load(path).map(|run| Recorded { run, output: None, late: false })
}

/// What a replay came to, in one line.
pub fn effect_and_outcome(replayed: &Replayed) -> String {
    match &replayed.outcome {
        Outcome::Confirmed => format!("confirmed; {}", replayed.effect),
        outcome => outcome.to_string(),
    }
}
