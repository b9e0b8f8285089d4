//! Which thread comes next.

/// The environment variable that names a file of turns to the program: pairs of a thread's number and how many steps it makes, each in 32 bits.
pub const TURNS_ENVIRONMENT: &str = "MAYHAP_TURNS";

/// Added to a thread's number in such a file: the entry is no turn, but says how many steps the thread is expected to make.
pub const TURN_WEIGHT: u32 = 1 << 31;

/// How the token passes: after slices of random length, first come first served where nothing else is said.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u32)]
pub enum Schedule {
    /// First come, first served.
    Free = 0,
    /// To a random waiting thread, after short slices and at half of all synchronisation.
    Random = 1,
    /// Always to the waiting thread of highest random priority; priorities change at random moments.
    Pct = 2,
    /// Always to the thread whose next slice has the highest random priority.
    Pos = 3,
    /// Step by step as a list says ([`TURNS_ENVIRONMENT`]). After its end, with slices of 1, to the thread that ran until it cannot go on; with longer slices to a random
    /// thread after each, or if the list has [weights](TURN_WEIGHT), before each step.
    Turns = 4,
}

impl Schedule {
    /// Returns the schedule with this number.
    pub const fn from_code(code: u32) -> Option<Schedule> {
        const ALL: [Schedule; 5] = [Schedule::Free, Schedule::Random, Schedule::Pct, Schedule::Pos, Schedule::Turns];
        if code < 5 { Some(ALL[code as usize]) } else { None }
    }
}
