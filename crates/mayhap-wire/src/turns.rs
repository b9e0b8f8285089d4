//! Which thread comes next.

/// The environment variable that names a file of turns to the program: pairs of a thread's number and how many steps it makes, each in 32 bits.
pub const TURNS_ENVIRONMENT: &str = "MAYHAP_TURNS";

/// Added to a thread's number in such a file: the entry is no turn, but says how many steps the thread is expected to make.
pub const TURN_WEIGHT: u32 = 1 << 31;

/// Added to a thread's number in such a file: the entry is no turn, but says what comes of a [choice](choice) in the thread's last step: its kind, shifted by
/// [`CHOICE_SHIFT`], and the alternative.
pub const TURN_CHOICE: u32 = 1 << 30;

/// Where the kind of a choice begins in an entry of turns.
pub const CHOICE_SHIFT: u32 = 24;

/// In place of a thread's number in the first entry of such a file: the entry says which [choices](choice) are made that are only made if asked for, as bits.
pub const TURN_FAULTS: u32 = TURN_WEIGHT | TURN_CHOICE;

/// What something other than the order of steps decides. Alternative 0 is what happens where nothing else is said.
pub mod choice {
    /// Which of the threads that wait on a condition a notify wakes, by how long they have waited.
    pub const WAITER: u32 = 1;
    /// A wait ends before it was woken: its time is up.
    pub const TIMEOUT: u32 = 2;
    /// A wait on a condition ends before it was woken, and says that it was.
    pub const WAKEUP: u32 = 3;
    /// An allocation fails.
    pub const ALLOCATION: u32 = 4;
}

/// What is done with threads that sleep on a word.
pub mod futex {
    /// The thread does not sleep: the word has another value than it expects.
    pub const CHANGED: u64 = 1;
    /// The thread sleeps, for as long as it takes.
    pub const SLEEPS: u64 = 2;
    /// One thread that sleeps is woken, if there is one.
    pub const WAKES: u64 = 3;
    /// All threads that sleep are woken.
    pub const WAKES_ALL: u64 = 4;
    /// Anything else, or something changes the word that the recording does not see.
    pub const OTHER: u64 = 5;
    /// The word is that of a condition of Rust's library, which changes it for a notify.
    pub const NOTIFIES: u64 = 6;
}

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
