//! What threads of one process hand things over through besides memory: descriptors, queues, signals, file locks.
//!
//! A channel has a *key* with the highest bit set, so that it is never an address. Two ends of one channel have the same key; the two
//! directions of a connection have two.

/// A pipe or FIFO.
pub const PIPE: u8 = 1;
/// One direction of a connection, or an address that datagrams go to.
pub const SOCKET: u8 = 2;
/// A socket that connections come to.
pub const LISTENER: u8 = 3;
/// An eventfd.
pub const EVENT: u8 = 4;
/// A timerfd.
pub const TIMER: u8 = 5;
/// A POSIX message queue.
pub const QUEUE: u8 = 6;
/// A System V message queue.
pub const SYSV_QUEUE: u8 = 7;
/// One semaphore of a System V set.
pub const SYSV_SEMAPHORE: u8 = 8;
/// A word that threads sleep on in the kernel.
pub const FUTEX: u8 = 9;
/// A library that was loaded while the program ran.
pub const LIBRARY: u8 = 10;
/// What the C library does in threads of its own.
pub const SERVICE: u8 = 11;
/// A lock of a file.
pub const FILE_LOCK: u8 = 12;
/// The lock of a stream of the C library.
pub const STREAM_LOCK: u8 = 13;

/// A descriptor, as an object with a life.
pub const DESCRIPTOR: u8 = 14;
/// An ordinary file.
pub const FILE: u8 = 15;
/// A descriptor's registration with an epoll instance.
pub const REGISTRATION: u8 = 16;
/// A robust mutex whose owner has died.
pub const ORPHAN: u8 = 17;

/// A signal that any thread of the process may get.
pub const PROCESS: u64 = u64::MAX;
/// The amount of whatever is there.
pub const ALL: u64 = u64::MAX;

/// Tells messages of a channel apart; 0 for streams of bytes.
pub mod mark {
    /// What is sent is one message, with its type or priority in the bits below.
    pub const MESSAGE: u64 = 1 << 63;
}

/// How an operation on a channel came about.
pub mod flag {
    /// The channel was full, or ready, only after the thread had waited.
    pub const WAITED: u64 = 1;
    /// The channel has no more to give: its other end hung up.
    pub const ENDED: u64 = 2;
    /// There is room in the channel, rather than something to take.
    pub const ROOM: u64 = 4;
    /// What was there before is gone: the amount is all there is now.
    pub const SET: u64 = 8;
    /// How much goes through the channel is not known.
    pub const UNMEASURED: u64 = 16;
    /// Threads that sleep on a word are woken, or were.
    pub const WAKES: u64 = 32;
    /// Only threads of this process can notice.
    pub const WITHIN: u64 = 64;
}

/// Returns a key for two numbers of the kernel's.
pub const fn key(kind: u8, a: u64, b: u64) -> u64 {
    let mut x = a ^ (kind as u64) << 56;
    let mut rounds = 0;
    while rounds < 2 {
        x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        x ^= b.rotate_left(17);
        rounds += 1;
    }
    x ^ x >> 32 | 1 << 63
}

/// Returns the key of what stands for the death of a robust mutex's owner: whoever is told of it comes after it.
pub const fn orphan(mutex: u64) -> u64 {
    key(ORPHAN, mutex, 0)
}

/// What a recording could not see into.
pub mod doubt {
    /// Inline assembly that could not be read.
    pub const ASSEMBLY: u8 = 1;
    /// A thread that no thread was seen to start.
    pub const THREAD: u8 = 2;
    /// A call of a library without hooks; the address of the function follows.
    pub const LIBRARY: u8 = 3;
    /// Another process was waited for, or was started if [`RELEASES`] follows.
    pub const PROCESS: u8 = 4;
    /// What came before it may reach other threads.
    pub const RELEASES: u64 = 1;
    /// Memory that other processes or the kernel may share; its address follows, its size, and 1 if it has a file.
    pub const SHARED: u8 = 5;
    /// Something came from a descriptor of a kind that is not modelled.
    pub const DESCRIPTOR: u8 = 6;
    /// A call of a function that may belong to one of the system's libraries and is not known; its address follows.
    pub const FUNCTION: u8 = 7;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_no_addresses_and_differ() {
        let keys = [key(PIPE, 1, 2), key(PIPE, 2, 1), key(SOCKET, 1, 2), key(PIPE, 1, 3), key(PIPE, 0, 0)];
        for (i, key) in keys.iter().enumerate() {
            assert!(key >> 63 == 1 && !keys[..i].contains(key));
        }
    }
}
