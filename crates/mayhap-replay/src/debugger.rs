//! A replay in a debugger: gdb, or lldb where there is none. gdb goes along the schedule, forward and backward: each time it asks for another
//! step, it ends, and the program runs again up to there in a new one.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use mayhap_record::Error;
use mayhap_trace::attachments::steps::{Lane, Steps};
use mayhap_wire::ring::Tag;

use crate::describe::{Places, verb};
use crate::plan::Plan;

/// The commands that gdb gets before the program starts. Their comments say how they work.
const SCRIPT: &str = include_str!("gdb.py");
/// Where the debugger stops: a function of the runtime that is called when all threads stand where they should.
const STOP: &str = "mayhap_replay_reached";

/// The files through which gdb and mayhap speak to each other.
pub struct Debugging {
    folder: tempfile::TempDir,
}

impl Debugging {
    /// Prepares the debugging of a plan.
    pub fn new(steps: &Steps, plan: &Plan) -> Result<Debugging, Error> {
        let folder =
            tempfile::tempdir().map_err(|error| Error::new(format_args!("cannot create a folder: {error}")))?;
        let places = Places::new(steps);
        let line = |&number: &usize| {
            let step = &steps.steps[number];
            let words = [verb(step.kind).to_string(), places.object(step), places.place(step)];
            let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
            format!("{}\t{}\n", steps.lane_name(step.lane), words.join(" ").replace(['\n', '\t'], " "))
        };
        let all = Debugging { folder };
        all.write("steps", &plan.steps.iter().map(line).collect::<String>())?;
        all.write("gdb.py", &format!("FOLDER = {:?}\n{SCRIPT}", all.folder.path()))?;
        Ok(all)
    }

    /// The next run stops before this step of the plan.
    pub fn stops_at(&self, steps: &Steps, plan: &Plan, at: usize) -> Result<(), Error> {
        self.write("at", &format!("{at}\n"))?;
        // Threads are numbered by gdb in the order in which they are created.
        let mut created = vec![0; steps.lanes.len()];
        let mut names = vec![steps.lane_name(0)];
        for step in plan.steps.iter().take(at).map(|&number| &steps.steps[number]) {
            if step.kind == Tag::Fork as u8 {
                let nth = &mut created[step.lane as usize];
                *nth += 1;
                let is_child = |lane: &Lane| lane.parent == Some(step.lane) && lane.nth == *nth;
                names.extend(steps.lanes.iter().position(is_child).map(|lane| steps.lane_name(lane as u32)));
            }
        }
        self.write("threads", &names.iter().map(|name| format!("{name}\n")).collect::<String>())
    }

    /// The step that gdb asked for before it ended, if it did.
    pub fn asked(&self) -> Option<usize> {
        let path = self.folder.path().join("next");
        let step = fs::read_to_string(&path).ok()?.trim().parse().ok();
        // It counts once.
        let _ = fs::remove_file(path);
        step
    }

    /// The folder with the files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path: PathBuf = self.folder.path().join(name);
        fs::write(&path, text).map_err(|error| Error::at(&path, error))
    }
}

/// The program in a debugger that reads what lies in the folder.
pub(crate) fn command(program: &[OsString], folder: &Path) -> Result<Vec<OsString>, Error> {
    let words: Vec<String> = if on_path("gdb") {
        let script = format!("source {}", folder.join("gdb.py").display());
        let commands = [&script, "run", "mayhap where", "thread apply all backtrace"].map(str::to_string);
        let commands = commands.into_iter().flat_map(|command| ["-ex".to_string(), command]);
        ["gdb", "-q"].map(str::to_string).into_iter().chain(commands).chain(["--args".to_string()]).collect()
    } else if on_path("lldb") {
        let commands = [format!("breakpoint set -n {STOP}"), "run".to_string(), "thread list".to_string()];
        let commands = commands.into_iter().flat_map(|command| ["-o".to_string(), command]);
        ["lldb".to_string()].into_iter().chain(commands).chain(["--".to_string()]).collect()
    } else {
        return Err(Error::new("no debugger found: neither gdb nor lldb is installed"));
    };
    Ok(words.into_iter().map(OsString::from).chain(program.iter().cloned()).collect())
}

/// The program is installed.
pub(crate) fn on_path(name: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(name).is_file()))
}
