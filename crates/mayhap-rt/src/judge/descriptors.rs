//! Descriptors that the program closes: a thread that uses one of them while no other file has its number is wrong.

use core::sync::atomic::Ordering;

use libc::c_int;
use mayhap_wire::channel::{self, key};
use mayhap_wire::judgement::{error, usage};

use super::{judge, objects};
use crate::{sys, tls};

/// What a number is known by among the objects that ended.
fn object(number: u64) -> u64 {
    key(channel::DESCRIPTOR, number, 0)
}

/// Whether the descriptor is open.
pub(crate) fn is_there(fd: c_int) -> bool {
    // SAFETY: asks only.
    unsafe { sys::call(libc::SYS_fcntl, [fd as usize, libc::F_GETFD as usize, 0, 0, 0, 0]) >= 0 }
}

/// The descriptor is about to be used.
pub(super) fn used(number: u64, pc: u64) {
    if let Some(life) = objects::life(object(number))
        && !is_there(number as c_int)
    {
        judge(error::USE_AFTER_FREE, usage::DESCRIPTOR, (number, 0), life, pc);
    }
}

/// The descriptor is about to be closed. Programs close numbers at random, but not those that another thread has closed.
pub(super) fn closed(number: u64, pc: u64) {
    if is_there(number as c_int) {
        objects::revived(object(number));
        return objects::destroyed(object(number), 0, pc);
    }
    let slot = tls::active().map_or(0, |thread| thread.replay.thread_slot.load(Ordering::Relaxed));
    if let Some(life) = objects::life(object(number))
        && life.freed.is_some_and(|stack| stack.lane.load(Ordering::Relaxed) != slot)
    {
        judge(error::DOUBLE_FREE, usage::CLOSE, (number, 0), life, pc);
    }
}
