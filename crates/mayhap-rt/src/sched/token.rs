//! Proof, checked by the compiler, that the calling thread holds the token.
//!
//! [`Grant`] is what the scheduler gives to a thread together with the token. It is neither `Copy` nor `Clone`, so a thread that
//! gives the token up gives its grant up too. [`Token`] borrows from a grant: the functions that write the ring, number sites
//! or pass the token on ask for one, and none can be kept beyond a call that may block.
//!
//! Both have no size: they exist while the runtime is compiled and cost nothing while it runs.
//!
//! A token also proves that a ring is in use, since no thread is granted the token before one was claimed. Once the recording has
//! stopped because its reader died, threads no longer wait for the token: what they write then is never read.

use core::marker::PhantomData;

/// The calling thread's right to run instrumented code.
pub(crate) struct Grant(PhantomData<*const ()>);

/// Proof that the calling thread holds the token, for as long as its [`Grant`] is borrowed. A function that takes one may let
/// other threads run in between, but returns only when the calling thread holds the token again.
#[derive(Clone, Copy)]
pub(crate) struct Token<'grant>(PhantomData<(&'grant Grant, *const ())>);

const _: () = assert!(size_of::<Grant>() == 0 && size_of::<Token<'_>>() == 0);

impl Grant {
    /// The scheduler has given the calling thread the token.
    #[inline(always)]
    pub(super) fn new() -> Grant {
        Grant(PhantomData)
    }

    /// The grant of a hook that found out by itself that its thread holds the token.
    ///
    /// # Safety
    /// The calling thread is marked busy and has read its own number from [`OWNER`](super::OWNER) after that, or runs in a
    /// callback of a function that holds a [`Token`].
    #[inline(always)]
    pub(crate) unsafe fn assume() -> Grant {
        Grant(PhantomData)
    }

    /// The proof that goes with the grant.
    #[inline(always)]
    pub(crate) fn token(&self) -> Token<'_> {
        Token(PhantomData)
    }
}
