//! Channels: what threads hand over through the kernel or a library.
//!
//! | in the program | in the trace |
//! |---|---|
//! | something is put into a channel | `wait` for what was put in before, by whichever thread; `notifyall` of a condition of its own |
//! | something is taken | `wait` for what was taken before, `wait` for the send that supplied the last of it, `notifyall` |
//! | the end of a channel is found | `wait` for the thread that hung up |
//! | a channel is found ready | `wait` for the last send; where there was no room before, for who made room |
//! | signal sent, got | `notifyall`, `wait` |
//! | lock of a file or a stream | `acq`, `racq`, `rel`, `rrel` |
//!
//! So operations at the same end of a channel keep their observed order, and a channel from which no thread takes orders nothing.

use std::collections::{HashMap, VecDeque};

use mayhap_trace::attachments::doubts::Role;
use mayhap_trace::{ConditionKind, Flags, LockKind, MemoryOrder, NONE, NameError, Op, VariableKind};
use mayhap_wire::channel::{self, ALL, flag, mark};
use mayhap_wire::ring::Tag;

use super::{Lowering, names};
use crate::ring_words::following;

/// Something that was put into a channel and not yet taken.
#[derive(Clone, Copy)]
struct Sent {
    amount: u64,
    mark: u64,
    /// Its number, from 1.
    nth: u64,
    thread: u16,
}

/// How much a pipe can hold.
const PIPE_BYTES: u64 = 1 << 16;

/// A condition of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    /// What was put in by the n-th send.
    Send(u64),
    /// What was taken.
    Taken,
    /// That an end hung up.
    End,
    /// That sleepers were woken.
    Woken,
    /// That the file lock of one owner was given up.
    Unlocked(u64),
}

#[derive(Default)]
struct Channel {
    name: String,
    is_pipe: bool,
    is_socket: bool,
    /// How much was ever put in.
    total: u64,
    sends: u64,
    last: Option<(u64, u16)>,
    open: VecDeque<Sent>,
    /// How much goes through is not known: who takes from it comes after all that was put in.
    unmeasured: bool,
    conditions: HashMap<Part, u32>,
    /// The variable that stands for whether something is in it.
    state: Option<u32>,
}

/// A lock that is known by key.
struct Keyed {
    lock: u32,
    /// Which thread took it, for which owner, how, and how often.
    holders: Vec<(u16, u64, bool, u32)>,
}

/// All channels of the run.
#[derive(Default)]
pub(super) struct Channels {
    channels: HashMap<u64, Channel>,
    locks: HashMap<u64, Keyed>,
    /// Conditions of signals, by signal and target.
    signals: HashMap<(u64, u64), u32>,
}

impl Channel {
    /// The send that supplied the last of `amount`, which is taken: its number and thread.
    fn take(&mut self, amount: u64, mark: u64) -> Option<(u64, u16)> {
        if amount == ALL || self.unmeasured {
            self.open.clear();
            return self.last;
        }
        if mark & mark::MESSAGE != 0 {
            let same = |sent: &Sent| sent.mark == mark && sent.amount == amount;
            let at = self.open.iter().position(same).or(self.open.iter().position(|sent| sent.mark == mark));
            return self.open.remove(at.unwrap_or(0)).map(|sent| (sent.nth, sent.thread));
        }
        let (mut left, mut supplier) = (amount, None);
        while left > 0
            && let Some(first) = self.open.front_mut()
        {
            supplier = Some((first.nth, first.thread));
            let part = first.amount.min(left);
            first.amount -= part;
            left -= part;
            if first.amount == 0 {
                self.open.pop_front();
            }
        }
        supplier
    }
}

/// What a channel of this kind is called.
fn noun(kind: u8) -> &'static str {
    match kind {
        channel::PIPE => "pipe",
        channel::SOCKET => "socket",
        channel::LISTENER => "listening socket",
        channel::EVENT => "eventfd",
        channel::TIMER => "timer",
        channel::QUEUE => "message queue",
        channel::SYSV_QUEUE => "System V message queue",
        channel::SYSV_SEMAPHORE => "System V semaphore",
        channel::FUTEX => "futex",
        channel::LIBRARY => "loaded library",
        channel::SERVICE => "thread of the C library",
        channel::REGISTRATION => "epoll registration",
        channel::ORPHAN => "robust mutex",
        _ => "channel",
    }
}

impl Lowering {
    pub(super) fn channel_record(&mut self, tag: Tag, site: u32, body: &[u64]) -> Result<(), NameError> {
        let (first, second, third) = (following(body, 0), following(body, 1), following(body, 2));
        match tag {
            Tag::Channel => self.channel_opened(site, first, second as u8),
            Tag::Send => self.sent(site, body)?,
            Tag::SendEnd => self.sent_less(first, second, third),
            Tag::Receive => self.received(site, body)?,
            Tag::Ready => self.found_ready(site, body)?,
            Tag::HangUp => self.hung_up(site, first)?,
            Tag::SignalSent => self.signal_sent(site, first, second)?,
            Tag::SignalTaken => self.signal_taken(site, first)?,
            Tag::KeyedAcquire => self.keyed_acquire(site, body)?,
            Tag::KeyedRelease => self.keyed_release(site, first, second)?,
            _ => {}
        }
        // What came, or that it came, is read.
        self.thread().dirty |= matches!(tag, Tag::Receive | Tag::Ready | Tag::SignalTaken);
        Ok(())
    }

    /// A channel comes into use at a site, which names it.
    pub(super) fn channel_opened(&mut self, site: u32, key: u64, kind: u8) {
        let name = self.channel_name(site, kind, "created");
        // Its number may have been another one's before.
        let (is_pipe, is_socket) = (kind == channel::PIPE, kind == channel::SOCKET);
        self.channels.channels.insert(key, Channel { name, is_pipe, is_socket, ..Channel::default() });
    }

    fn channel_name(&mut self, site: u32, kind: u8, how: &str) -> String {
        let pc = self.sites.get(site).pc;
        let frames = self.symbols.frames(pc);
        let own = frames.iter().find(|place| !place.is_installed()).or(frames.first());
        match own {
            Some(place) if site != 0 => format!("{} {how} at {}", noun(kind), super::naming::base_name(&place.line)),
            _ => noun(kind).to_owned(),
        }
    }

    fn channel(&mut self, key: u64, site: u32) -> &mut Channel {
        if !self.channels.channels.contains_key(&key) {
            let name = self.channel_name(site, 0, "used");
            self.channels.channels.insert(key, Channel { name, ..Channel::default() });
        }
        self.channels.channels.entry(key).or_default()
    }

    /// What a channel is called.
    pub(super) fn name_of_channel(&mut self, key: u64, site: u32) -> String {
        self.channel(key, site).name.clone()
    }

    /// Returns the condition of a part of a channel.
    fn channel_condition(&mut self, key: u64, site: u32, part: Part) -> Result<u32, NameError> {
        let channel = self.channel(key, site);
        if let Some(&condition) = channel.conditions.get(&part) {
            return Ok(condition);
        }
        let name = match part {
            Part::Send(nth) => format!("send {nth} on {}", channel.name),
            Part::Taken => format!("receives on {}", channel.name),
            Part::End => format!("end of {}", channel.name),
            Part::Woken => format!("wake-up on futex, {}", channel.name),
            Part::Unlocked(owner) => format!("unlock {owner} of file lock, {}", channel.name),
        };
        let id = names::define(&mut self.tables.conditions, &name)?;
        self.tables.condition_kinds.set(id as usize, ConditionKind::Channel);
        self.channel(key, site).conditions.insert(part, id);
        Ok(id)
    }

    fn notify_part(&mut self, site: u32, key: u64, part: Part) -> Result<(), NameError> {
        let condition = self.channel_condition(key, site, part)?;
        self.decided(Op::NotifyAll, condition, site)?;
        self.objects.notified(condition, self.current, self.count);
        Ok(())
    }

    /// Waits for the latest notify of another thread, if there is one.
    fn wait_for_part(&mut self, site: u32, key: u64, part: Part) -> Result<(), NameError> {
        let condition = self.channel_condition(key, site, part)?;
        if self.objects.was_notified(condition, self.current, 0) {
            self.emit(Op::Wait, condition, site)?;
        }
        Ok(())
    }

    fn wait_for_send(&mut self, site: u32, key: u64, send: Option<(u64, u16)>) -> Result<(), NameError> {
        match send {
            Some((nth, thread)) if thread != self.current => self.wait_for_part(site, key, Part::Send(nth)),
            _ => Ok(()),
        }
    }

    /// Something is put into a channel.
    pub(super) fn sent(&mut self, site: u32, body: &[u64]) -> Result<(), NameError> {
        let &[key, amount, mark, flags] = body else { return Ok(()) };
        if !self.facts.received.contains(&key) {
            if flags & flag::WITHIN == 0 {
                self.other_process(Role::Releases);
            }
            return Ok(());
        }
        if flags & flag::WAKES != 0 {
            return if self.marks(site).silent { Ok(()) } else { self.notify_part(site, key, Part::Woken) };
        }
        let thread = self.current;
        let before = self.channel(key, site).last;
        self.wait_for_send(site, key, before)?;
        let channel = self.channel(key, site);
        channel.total = channel.total.saturating_add(amount);
        // More than a pipe can hold needs room that others have made.
        if flags & flag::WAITED != 0 || channel.is_pipe && channel.total > PIPE_BYTES {
            self.wait_for_part(site, key, Part::Taken)?;
        }
        let channel = self.channel(key, site);
        channel.sends += 1;
        let nth = channel.sends;
        if flags & flag::SET != 0 {
            channel.open.clear();
        }
        channel.unmeasured |= flags & flag::UNMEASURED != 0;
        channel.last = Some((nth, thread));
        if amount > 0 || mark != 0 {
            channel.open.push_back(Sent { amount, mark, nth, thread });
        }
        self.notify_part(site, key, Part::Send(nth))?;
        self.touch_state(site, key, Op::Write)
    }

    /// A thread found a channel empty. What it does next may depend on that: whether something is in the channel is a variable.
    pub(super) fn found_empty(&mut self, site: u32, key: u64) -> Result<(), NameError> {
        self.touch_state(site, key, Op::Read)?;
        self.thread().dirty = true;
        Ok(())
    }

    /// Something was put into a channel or taken from it, or a thread looked whether it was. Only where a thread once found it empty.
    fn touch_state(&mut self, site: u32, key: u64, op: Op) -> Result<(), NameError> {
        if !self.facts.found_empty.contains(&key) || !self.facts.received.contains(&key) {
            return Ok(());
        }
        let variable = match self.channel(key, site).state {
            Some(variable) => variable,
            None => {
                let name = format!("state of {}", self.channel(key, site).name);
                let variable = names::define_variable(&mut self.variables, &mut self.tables.variables, &name)?;
                self.tables.variable_kinds.set(variable as usize, VariableKind::Atomic);
                self.channel(key, site).state = Some(variable);
                variable
            }
        };
        let flags = Flags::atomic(MemoryOrder::SequentiallyConsistent);
        self.emit_with(op, variable, site, flags, NONE)
    }

    /// The lock of this key, if it is one that excludes threads.
    pub(super) fn known_keyed_lock(&self, key: u64) -> Option<u32> {
        self.channels.locks.get(&key).map(|keyed| keyed.lock)
    }

    /// The latest send of the current thread into a channel moved less than it announced.
    pub(super) fn sent_less(&mut self, key: u64, announced: u64, moved: u64) {
        let thread = self.current;
        let Some(channel) = self.channels.channels.get_mut(&key) else { return };
        if let Some(at) = channel.open.iter().rposition(|sent| sent.thread == thread) {
            channel.open[at].amount = channel.open[at].amount.saturating_sub(announced - moved.min(announced));
            if moved == 0 {
                channel.open.remove(at);
            }
        }
    }

    /// Something was taken from a channel, or its end was found.
    pub(super) fn received(&mut self, site: u32, body: &[u64]) -> Result<(), NameError> {
        let &[key, amount, mark, flags] = body else { return Ok(()) };
        self.wait_for_part(site, key, Part::Taken)?;
        if flags & flag::ENDED != 0 {
            self.wait_for_part(site, key, Part::End)?;
        } else {
            let channel = self.channel(key, site);
            channel.unmeasured |= flags & flag::UNMEASURED != 0;
            let supplier = channel.take(amount, mark);
            if supplier.is_none() && (channel.is_pipe || channel.is_socket) {
                self.other_process(Role::Waits);
            }
            self.wait_for_send(site, key, supplier)?;
            if flags & flag::UNMEASURED != 0 {
                self.wait_for_part(site, key, Part::End)?;
            }
        }
        self.touch_state(site, key, Op::Write)?;
        self.notify_part(site, key, Part::Taken)
    }

    /// Channels were found ready.
    pub(super) fn found_ready(&mut self, site: u32, body: &[u64]) -> Result<(), NameError> {
        for pair in body.chunks_exact(2) {
            let (key, flags) = (pair[0], pair[1]);
            if flags & flag::WAKES != 0 {
                if !self.marks(site).silent {
                    self.wait_for_part(site, key, Part::Woken)?;
                }
                continue;
            }
            if flags & flag::ROOM != 0 {
                self.wait_for_part(site, key, Part::Taken)?;
                continue;
            }
            if flags & flag::ENDED != 0 {
                self.wait_for_part(site, key, Part::End)?;
            }
            let last = self.channel(key, site).last;
            self.wait_for_send(site, key, last)?;
        }
        Ok(())
    }

    /// No more comes from one end of a channel.
    pub(super) fn hung_up(&mut self, site: u32, key: u64) -> Result<(), NameError> {
        if !self.facts.received.contains(&key) {
            return Ok(());
        }
        let last = self.channel(key, site).last;
        self.wait_for_send(site, key, last)?;
        self.wait_for_part(site, key, Part::End)?;
        self.notify_part(site, key, Part::End)
    }

    fn signal_condition(&mut self, signal: u64, target: u64) -> Result<u32, NameError> {
        if let Some(&condition) = self.channels.signals.get(&(signal, target)) {
            return Ok(condition);
        }
        let name = match self.threads.get(target as usize).filter(|_| target != channel::PROCESS) {
            Some(thread) => format!("signal {signal} to {}", thread.name),
            None => format!("signal {signal} to the process"),
        };
        let id = names::define(&mut self.tables.conditions, &name)?;
        self.tables.condition_kinds.set(id as usize, ConditionKind::Signal);
        self.channels.signals.insert((signal, target), id);
        Ok(id)
    }

    /// A signal is sent.
    pub(super) fn signal_sent(&mut self, site: u32, signal: u64, target: u64) -> Result<(), NameError> {
        let condition = self.signal_condition(signal, target)?;
        // Whoever gets it comes after all who have sent it.
        if self.objects.was_notified(condition, self.current, 0) {
            self.emit(Op::Wait, condition, site)?;
        }
        self.decided(Op::NotifyAll, condition, site)?;
        self.objects.notified(condition, self.current, self.count);
        Ok(())
    }

    /// The current thread has got a signal.
    pub(super) fn signal_taken(&mut self, site: u32, signal: u64) -> Result<(), NameError> {
        let me = u64::from(self.current);
        let mine = |&&(other, target): &&(u64, u64)| {
            (signal == 0 || other == signal) && (target == me || target == channel::PROCESS)
        };
        let mut found: Vec<(u64, u64)> = self.channels.signals.keys().filter(mine).copied().collect();
        found.sort_unstable();
        for (signal, target) in found {
            let condition = self.signal_condition(signal, target)?;
            if self.objects.was_notified(condition, self.current, 0) {
                self.emit(Op::Wait, condition, site)?;
            }
        }
        Ok(())
    }

    fn keyed_lock(&mut self, site: u32, key: u64, owner: u64) -> Result<u32, NameError> {
        if let Some(keyed) = self.channels.locks.get(&key) {
            return Ok(keyed.lock);
        }
        let (name, kind) = match owner {
            0 => (self.channel_name(site, 0, "used"), LockKind::Stream),
            _ => (self.channel_name(site, 0, "used"), LockKind::File),
        };
        let noun = if kind == LockKind::Stream { "stream lock" } else { "file lock" };
        let name = name.replacen("channel", noun, 1);
        let lock = names::define(&mut self.tables.locks, &name)?;
        self.tables.lock_kinds.set(lock as usize, kind);
        self.channels.locks.insert(key, Keyed { lock, holders: Vec::new() });
        Ok(lock)
    }

    /// A lock of a file or a stream was taken. A stream's belongs to the thread, a file's to a description of the file.
    pub(super) fn keyed_acquire(&mut self, site: u32, body: &[u64]) -> Result<(), NameError> {
        let &[key, shared, owner] = body else { return Ok(()) };
        if self.facts.common_locks.contains(&key) {
            return self.take_in_order(site, key, owner);
        }
        let (lock, me, shared) = (self.keyed_lock(site, key, owner)?, self.current, shared != 0);
        self.thread().attempt = Flags::NONE;
        let Some(keyed) = self.channels.locks.get_mut(&key) else { return Ok(()) };
        let same = |holder: &&mut (u16, u64, bool, u32)| holder.1 == owner && (owner != 0 || holder.0 == me);
        let before = keyed.holders.iter_mut().find(same).map(|holder| {
            let before = *holder;
            holder.3 += u32::from(owner == 0);
            before
        });
        match before {
            // Once more, or by another thread through the same description, which it does not exclude.
            Some((_, _, how, _)) if how == shared => return Ok(()),
            Some((thread, ..)) => {
                keyed.holders.retain(|holder| holder.1 != owner);
                self.release_of(thread, site, lock, !shared)?;
            }
            None => {}
        }
        if let Some(keyed) = self.channels.locks.get_mut(&key) {
            keyed.holders.push((me, owner, shared, 1));
        }
        self.decided(if shared { Op::SharedAcquire } else { Op::Acquire }, lock, site)
    }

    /// A lock that several threads take for one owner excludes none of these, only other owners: it comes after all their releases.
    fn take_in_order(&mut self, site: u32, key: u64, owner: u64) -> Result<(), NameError> {
        let others = self.channel(key, site).conditions.keys().filter_map(|part| match *part {
            Part::Unlocked(other) if other != owner => Some(other),
            _ => None,
        });
        let mut others: Vec<u64> = others.collect();
        others.sort_unstable();
        for other in others {
            self.wait_for_part(site, key, Part::Unlocked(other))?;
        }
        Ok(())
    }

    /// The thread that took a lock gives it up, though another may do it.
    fn release_of(&mut self, thread: u16, site: u32, lock: u32, shared: bool) -> Result<(), NameError> {
        let me = std::mem::replace(&mut self.current, thread);
        let op = if shared { Op::SharedRelease } else { Op::Release };
        let result = if me == thread { self.decided(op, lock, site) } else { self.emit(op, lock, 0) };
        self.current = me;
        result
    }

    /// A lock of a file or a stream is given up.
    pub(super) fn keyed_release(&mut self, site: u32, key: u64, owner: u64) -> Result<(), NameError> {
        let me = self.current;
        if self.facts.common_locks.contains(&key) {
            return self.notify_part(site, key, Part::Unlocked(owner));
        }
        let Some(keyed) = self.channels.locks.get_mut(&key) else { return Ok(()) };
        let lock = keyed.lock;
        let same = |holder: &(u16, u64, bool, u32)| holder.1 == owner && (owner != 0 || holder.0 == me);
        let Some(at) = keyed.holders.iter().position(same) else { return Ok(()) };
        keyed.holders[at].3 -= 1;
        if keyed.holders[at].3 > 0 {
            return Ok(());
        }
        let (thread, _, shared, _) = keyed.holders.remove(at);
        self.release_of(thread, site, lock, shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(channel: &mut Channel, amount: u64, mark: u64) {
        channel.sends += 1;
        channel.last = Some((channel.sends, 1));
        channel.open.push_back(Sent { amount, mark, nth: channel.sends, thread: 1 });
    }

    #[test]
    fn a_read_takes_what_the_earliest_writes_supplied() {
        let mut pipe = Channel::default();
        for amount in [3, 2, 4] {
            put(&mut pipe, amount, 0);
        }
        assert_eq!(pipe.take(2, 0), Some((1, 1)));
        assert_eq!(pipe.take(2, 0), Some((2, 1)));
        assert_eq!(pipe.take(9, 0), Some((3, 1)));
        assert_eq!(pipe.take(1, 0), None);
        put(&mut pipe, 1, 0);
        put(&mut pipe, 1, 0);
        assert_eq!(pipe.take(ALL, 0), Some((5, 1)));
        assert_eq!(pipe.take(1, 0), None);
    }

    #[test]
    fn messages_are_told_apart_by_type() {
        let mut queue = Channel::default();
        for kind in [1, 2, 1] {
            put(&mut queue, 1, mark::MESSAGE | kind);
        }
        assert_eq!(queue.take(1, mark::MESSAGE | 2), Some((2, 1)));
        assert_eq!(queue.take(1, mark::MESSAGE | 1), Some((1, 1)));
        assert_eq!(queue.take(1, mark::MESSAGE | 7), Some((3, 1)));
        assert_eq!(queue.take(1, mark::MESSAGE), None);
    }

    #[test]
    fn where_amounts_are_not_known_all_that_was_sent_counts() {
        let mut stream = Channel { unmeasured: true, ..Channel::default() };
        put(&mut stream, 0, 0);
        put(&mut stream, 0, 0);
        assert_eq!(stream.take(1, 0), Some((2, 1)));
    }
}
