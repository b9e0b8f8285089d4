//! Why a replay makes no progress: what the thread does that was to go on.

use mayhap_wire::schedule::place;

use crate::image::Image;
use crate::plan::Plan;
use mayhap_trace::attachments::steps::Steps;

/// A replay that makes no progress any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stall {
    /// The step of the schedule that does not come.
    pub(crate) next: usize,
    /// The thread that it is expected of.
    pub(crate) lane: u32,
    /// Where that thread is, see [`place`].
    pub(crate) place: u32,
    /// What it does, if that is to wait for something that the trace does not know.
    pub(crate) waits: Option<String>,
}

impl Stall {
    /// Looks where the thread of the next step is in the process; `spins` says that the process uses the processor all the time.
    pub(crate) fn look(image: &Image, steps: &Steps, plan: &Plan, process: u32, spins: bool) -> std::io::Result<Stall> {
        let next = image.next()? as usize;
        let away = |&&step: &&usize| {
            let number = plan.targets.iter().position(|&target| target == step).unwrap_or(0);
            image.arrival(number, 1).is_ok_and(|arrival| arrival.state == mayhap_wire::schedule::arrival::AWAY)
        };
        let step = plan.steps.get(next).or_else(|| plan.targets.iter().find(away));
        let lane = step.map_or(0, |&step| steps.steps[step].lane);
        let (place, tid) = image.place(lane)?;
        let waits = if place == place::RUNNING && step.is_some() { what(process, tid, spins) } else { None };
        Ok(Stall { next, lane, place, waits })
    }
}

/// What a thread does that is in code without hooks: it sleeps in a system call, or spins. Time passes by itself, so a thread
/// that only sleeps for a while waits for no other.
fn what(process: u32, thread: u32, spins: bool) -> Option<String> {
    let folder = format!("/proc/{process}/task/{thread}");
    let stat = std::fs::read_to_string(format!("{folder}/stat")).ok()?;
    let state = stat.rsplit_once(')')?.1.trim_start().chars().next()?;
    if state == 'R' {
        return spins.then(|| "spins".to_string());
    }
    let call = std::fs::read_to_string(format!("{folder}/syscall")).unwrap_or_default();
    match call.split_whitespace().next().and_then(|number| number.parse::<i64>().ok()) {
        Some(35 | 230) => None,
        Some(number) => Some(format!("sleeps in the system call {}", name(number))),
        None => Some("sleeps in a system call".to_string()),
    }
}

/// The names of system calls that wait.
fn name(number: i64) -> String {
    let name = match number {
        0 => "read",
        1 => "write",
        7 => "poll",
        17 => "pread64",
        23 => "select",
        34 => "pause",
        42 => "connect",
        43 => "accept",
        45 => "recvfrom",
        47 => "recvmsg",
        61 => "wait4",
        65 => "semop",
        70 => "msgrcv",
        72 => "fcntl",
        73 => "flock",
        128 => "rt_sigtimedwait",
        130 => "rt_sigsuspend",
        202 => "futex",
        220 => "semtimedop",
        232 => "epoll_wait",
        243 => "mq_timedreceive",
        247 => "waitid",
        270 => "pselect6",
        271 => "ppoll",
        281 => "epoll_pwait",
        288 => "accept4",
        other => return format!("number {other}"),
    };
    name.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_in_a_call_is_seen_and_one_that_lets_time_pass_is_not() {
        let (mut sleeper, mut reader) = (
            std::process::Command::new("sleep").arg("30").spawn().unwrap(),
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap(),
        );
        let asleep = |id: u32| {
            let syscall = || std::fs::read_to_string(format!("/proc/{id}/syscall")).unwrap_or_default();
            let waits = |text: String| text.starts_with("230 ") || text.starts_with("0 ");
            let started = std::time::Instant::now();
            while !waits(syscall()) && started.elapsed().as_secs() < 20 {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            what(id, id, false)
        };
        assert_eq!(asleep(sleeper.id()), None);
        assert_eq!(asleep(reader.id()).as_deref(), Some("sleeps in the system call read"));
        for child in [&mut sleeper, &mut reader] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
