//! The atomics and fences that [`crate::protocol`] is built from. A model of the protocol gives it others that explore all
//! interleavings (`tests/protocol_model.rs`).

use core::sync::atomic::compiler_fence;
pub(crate) use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use crate::sys;

/// The cheap half of an asymmetric fence: the compiler keeps the order, and the processor does when another thread runs a
/// [`heavy_fence`].
#[inline(always)]
pub(crate) fn light_fence() {
    compiler_fence(Ordering::SeqCst);
}

/// The expensive half of an asymmetric fence: every running thread of the process passes a full memory barrier. `false` where the
/// kernel cannot do that.
pub(crate) fn heavy_fence() -> bool {
    sys::barrier()
}
