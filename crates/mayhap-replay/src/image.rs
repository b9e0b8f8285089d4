//! The schedule as memory that the runtime maps ([`mayhap_wire::schedule`]), and what can be read in it while the program runs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

use mayhap_wire::schedule::{self as wire, AllocationSite, Got, Head, MAGIC, NO_MODULE, STACK, TABLES, Target, class};

use crate::plan::Plan;
use crate::sharing::Sharing;
use mayhap_trace::attachments::steps::{Block, Step, Steps};

/// A schedule in memory shared with the program.
pub struct Image {
    file: File,
    tables: [u64; TABLES],
}

/// How the targets go on when all have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Finish {
    /// The target that goes first.
    pub first: u32,
    /// End the process with a core instead.
    pub core: bool,
}

/// What a thread did instead of its next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// The thread.
    pub lane: u32,
    /// The step of the schedule that was expected of it, if one was.
    pub expected: Option<u32>,
    /// As [`wire::Step::kind`].
    pub kind: u8,
    /// One of [`wire::reason`].
    pub reason: u32,
    /// Where.
    pub pc: u64,
    /// On which address.
    pub address: u64,
}

/// A target as its thread stands before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// One of [`wire::arrival`].
    pub state: u32,
    /// Where.
    pub pc: u64,
    /// On which address.
    pub address: u64,
    /// What is there.
    pub value: Option<Vec<u8>>,
    /// Return addresses, innermost first.
    pub stack: Vec<u64>,
}

impl Image {
    /// Returns the schedule of a plan.
    pub fn create(steps: &Steps, plan: &Plan, finish: Finish) -> io::Result<Image> {
        let (bytes, tables) = Builder::new(steps).build(plan, finish);
        let file = File::from(rustix::fs::memfd_create("mayhap-schedule", rustix::fs::MemfdFlags::CLOEXEC)?);
        file.write_all_at(&bytes, 0)?;
        Ok(Image { file, tables })
    }

    /// How the program finds it, in [`wire::PATH_LENGTH`] bytes.
    pub fn path(&self) -> String {
        let path = format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd());
        "/".repeat(wire::PATH_LENGTH.saturating_sub(path.len())) + &path
    }

    fn word(&self, at: usize) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.file.read_exact_at(&mut bytes, at as u64)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn long(&self, at: usize) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, at as u64)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// See [`wire::mode`].
    pub fn mode(&self) -> io::Result<u32> {
        self.word(offset_of!(Head, mode))
    }

    /// Gives the replay up: the program runs on by itself.
    pub fn abandon(&self) -> io::Result<()> {
        self.file.write_all_at(&wire::mode::ABANDONED.to_le_bytes(), offset_of!(Head, mode) as u64)
    }

    /// Asks where the thread of a lane is, which does not go on.
    pub fn ask(&self, lane: u32) -> io::Result<()> {
        self.file.write_all_at(&(lane + 1).to_le_bytes(), offset_of!(Head, asked) as u64)
    }

    /// Where that thread is: return addresses, innermost first. `None` before it has answered.
    pub fn stuck(&self) -> io::Result<Option<Vec<u64>>> {
        let Some(depth) = self.word(offset_of!(Head, answered))?.checked_sub(1) else { return Ok(None) };
        let depth = (depth as usize).min(STACK);
        (0..depth).map(|i| self.long(offset_of!(Head, stuck) + 8 * i)).collect::<io::Result<Vec<_>>>().map(Some)
    }

    /// The number of the next step.
    pub fn next(&self) -> io::Result<u32> {
        self.word(offset_of!(Head, next))
    }

    /// The step under way, if the program was in one when it was last seen.
    pub fn performing(&self) -> io::Result<Option<u32>> {
        Ok(self.word(offset_of!(Head, performing))?.checked_sub(1))
    }

    /// Where a lane is, see [`wire::place`], and the kernel's number of its thread.
    pub fn place(&self, lane: u32) -> io::Result<(u32, u32)> {
        let at = self.tables[1] as usize + lane as usize * size_of::<wire::Lane>();
        Ok((self.word(at + offset_of!(wire::Lane, place))?, self.word(at + offset_of!(wire::Lane, tid))?))
    }

    /// How the run left the schedule.
    pub fn divergence(&self) -> io::Result<Divergence> {
        let at = offset_of!(Head, got);
        Ok(Divergence {
            lane: self.word(at + offset_of!(Got, lane))?,
            expected: self.word(at + offset_of!(Got, expected))?.checked_sub(1),
            kind: self.word(at + offset_of!(Got, kind))? as u8,
            reason: self.word(at + offset_of!(Got, reason))?,
            pc: self.long(at + offset_of!(Got, pc))?,
            address: self.long(at + offset_of!(Got, address))?,
        })
    }

    /// A target as it was found.
    pub fn arrival(&self, target: usize, size: u8) -> io::Result<Arrival> {
        let at = self.tables[5] as usize + target * size_of::<Target>();
        let depth = self.word(at + offset_of!(Target, depth))?.min(STACK as u32) as usize;
        let stack = (0..depth).map(|i| self.long(at + offset_of!(Target, stack) + 8 * i)).collect::<io::Result<_>>()?;
        let mut value = vec![0; usize::from(size).clamp(1, wire::VALUE)];
        self.file.read_exact_at(&mut value, (at + offset_of!(Target, value)) as u64)?;
        Ok(Arrival {
            state: self.word(at + offset_of!(Target, state))?,
            pc: self.long(at + offset_of!(Target, pc))?,
            address: self.long(at + offset_of!(Target, address))?,
            value: (self.word(at + offset_of!(Target, has_value))? != 0).then_some(value),
            stack,
        })
    }
}

/// Collects what the steps of a plan name, and puts it into tables.
struct Builder<'a> {
    steps: &'a Steps,
    modules: BTreeMap<u32, u32>,
    blocks: BTreeMap<Block, u32>,
}

impl<'a> Builder<'a> {
    fn new(steps: &'a Steps) -> Self {
        Builder { steps, modules: BTreeMap::new(), blocks: BTreeMap::new() }
    }

    fn module(&mut self, module: u32) -> u32 {
        let next = self.modules.len() as u32;
        *self.modules.entry(module).or_insert(next)
    }

    fn note(&mut self, step: &Step) {
        let site_module = |site: u32| self.steps.sites[site as usize].module;
        let mut modules = vec![step.site.and_then(site_module)];
        match step.object.class {
            class::GLOBAL => modules.push(Some(step.object.index)),
            class::HEAP => {
                let block = self.steps.blocks[step.object.index as usize];
                modules.push(site_module(block.site));
                self.blocks.insert(block, 0);
            }
            _ => {}
        }
        for module in modules.into_iter().flatten() {
            self.module(module);
        }
    }

    fn wire(&self, step: &Step) -> wire::Step {
        let site = step.site.map(|site| self.steps.sites[site as usize]);
        let module = site.and_then(|site| site.module).map_or(NO_MODULE, |module| self.modules[&module] as u16);
        let object = step.object;
        let index = match object.class {
            class::GLOBAL => self.modules[&object.index],
            class::HEAP => self.blocks[&self.steps.blocks[object.index as usize]],
            _ => object.index,
        };
        wire::Step {
            site: site.map_or(0, |site| site.offset),
            offset: object.offset,
            index,
            next: 0,
            lane: step.lane as u16,
            module,
            kind: step.kind,
            outcome: step.outcome,
            class: object.class,
            size: step.size,
        }
    }

    fn build(mut self, plan: &Plan, finish: Finish) -> (Vec<u8>, [u64; TABLES]) {
        let all = &self.steps.steps;
        for &number in plan.steps.iter().chain(&plan.targets).chain(&plan.rest) {
            self.note(&all[number]);
        }
        for (number, (_, index)) in self.blocks.iter_mut().enumerate() {
            *index = number as u32;
        }
        let order = plan.steps.iter().chain(&plan.rest);
        let mut steps: Vec<wire::Step> = order.map(|&number| self.wire(&all[number])).collect();
        let lanes = self.steps.lanes.len();
        let mut first = vec![0u32; lanes];
        for (number, step) in steps.iter_mut().enumerate().rev() {
            let lane = usize::from(step.lane);
            step.next = std::mem::replace(&mut first[lane], number as u32 + 1);
        }
        let mut target_of = vec![0u32; lanes];
        for (number, &target) in plan.targets.iter().enumerate() {
            target_of[all[target].lane as usize] = number as u32 + 1;
        }
        let (sites, blocks, sites_of) = self.allocations(lanes);
        let (inputs, inputs_of) = self.inputs(lanes);
        let mut text = Vec::new();
        let modules = self.module_table(&mut text);
        let mut lane_table = Vec::new();
        for (number, lane) in self.steps.lanes.iter().enumerate() {
            let (from, count) = sites_of[number];
            let parent = lane.parent.map_or(0, |parent| parent + 1);
            let (input, end) = inputs_of[number];
            let complete = u32::from(plan.complete.contains(&(number as u32)));
            let fixed = [parent, lane.nth, first[number], target_of[number], from, count];
            for word in fixed.into_iter().chain([0, 0, 0, input, end, complete, 0, 0]) {
                lane_table.extend_from_slice(&word.to_le_bytes());
            }
        }
        let mut targets = Vec::new();
        for &target in &plan.targets {
            put_step(&mut targets, &self.wire(&all[target]));
            targets.resize(targets.len() + size_of::<Target>() - size_of::<wire::Step>(), 0);
        }
        let shared = self.shared();
        let mut step_table = Vec::with_capacity(steps.len() * size_of::<wire::Step>());
        for step in &steps {
            put_step(&mut step_table, step);
        }
        let counts = [
            steps.len(),
            lanes,
            self.modules.len(),
            sites.len() / size_of::<AllocationSite>(),
            self.blocks.len(),
            plan.targets.len(),
            text.len(),
            inputs.len() / 8,
            shared.len() / size_of::<wire::Step>(),
        ];
        assemble([step_table, lane_table, modules, sites, blocks, targets, text, inputs, shared], counts, plan, finish)
    }

    /// What several threads synchronise by, as far as the plan names its modules and blocks.
    fn shared(&self) -> Vec<u8> {
        let mut table = Vec::new();
        for (class, index, offset) in Sharing::of(self.steps).objects() {
            let index = match class {
                class::GLOBAL => self.modules.get(&index).copied(),
                class::HEAP => self.blocks.get(&self.steps.blocks[index as usize]).copied(),
                _ => Some(index),
            };
            if let Some(index) = index {
                put_step(&mut table, &wire::Step { class, index, offset, ..wire::Step::default() });
            }
        }
        table
    }

    fn module_table(&self, text: &mut Vec<u8>) -> Vec<u8> {
        let mut by_index: Vec<(u32, u32)> = self.modules.iter().map(|(&module, &index)| (index, module)).collect();
        by_index.sort_unstable();
        let mut table = Vec::new();
        for (_, module) in by_index {
            let path = self.steps.modules[module as usize].as_os_str().as_bytes();
            table.extend_from_slice(&(text.len() as u32).to_le_bytes());
            table.extend_from_slice(&(path.len() as u32).to_le_bytes());
            table.extend_from_slice(&[0; 16]);
            text.extend_from_slice(path);
        }
        table
    }

    /// What threads are to get from outside, and each lane's part of it in words.
    fn inputs(&self, lanes: usize) -> (Vec<u8>, Vec<(u32, u32)>) {
        let (mut table, mut of) = (Vec::new(), vec![(0, 0); lanes]);
        for (lane, part) in of.iter_mut().enumerate() {
            part.0 = (table.len() / 8) as u32;
            for input in self.steps.inputs.iter().filter(|input| input.lane as usize == lane) {
                let head = u64::from(input.source) | (input.bytes.len() as u64) << 8;
                table.extend_from_slice(&head.to_le_bytes());
                table.extend_from_slice(&input.result.to_le_bytes());
                table.extend_from_slice(&input.bytes);
                table.resize(table.len().next_multiple_of(8), 0);
            }
            part.1 = (table.len() / 8) as u32;
        }
        (table, of)
    }

    /// Allocation sites and blocks, and each lane's part of the sites.
    fn allocations(&self, lanes: usize) -> (Vec<u8>, Vec<u8>, Vec<(u32, u32)>) {
        let (mut sites, mut blocks) = (Vec::new(), Vec::new());
        let mut of = vec![(0u32, 0u32); lanes];
        let list: Vec<&Block> = self.blocks.keys().collect();
        for (number, group) in list.chunk_by(|a, b| (a.lane, a.site) == (b.lane, b.site)).enumerate() {
            let head = group[0];
            let site = self.steps.sites[head.site as usize];
            let module = site.module.map_or(u32::MAX, |module| self.modules[&module]);
            sites.extend_from_slice(&site.offset.to_le_bytes());
            let before = blocks.len() as u32 / size_of::<wire::Block>() as u32;
            for word in [module, before, group.len() as u32, 0] {
                sites.extend_from_slice(&word.to_le_bytes());
            }
            for block in group {
                blocks.extend_from_slice(&u64::from(block.nth).to_le_bytes());
                blocks.extend_from_slice(&[0; 8]);
            }
            let part = &mut of[head.lane as usize];
            if part.1 == 0 {
                part.0 = number as u32;
            }
            part.1 += 1;
        }
        (sites, blocks, of)
    }
}

fn put_step(out: &mut Vec<u8>, step: &wire::Step) {
    out.extend_from_slice(&step.site.to_le_bytes());
    out.extend_from_slice(&step.offset.to_le_bytes());
    out.extend_from_slice(&step.index.to_le_bytes());
    out.extend_from_slice(&step.next.to_le_bytes());
    out.extend_from_slice(&step.lane.to_le_bytes());
    out.extend_from_slice(&step.module.to_le_bytes());
    out.extend_from_slice(&[step.kind, step.outcome, step.class, step.size]);
}

fn assemble(
    tables: [Vec<u8>; TABLES],
    counts: [usize; TABLES],
    plan: &Plan,
    finish: Finish,
) -> (Vec<u8>, [u64; TABLES]) {
    let mut bytes = vec![0; size_of::<Head>()];
    let mut offsets = [0; TABLES];
    for (table, offset) in tables.iter().zip(&mut offsets) {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        *offset = bytes.len() as u64;
        bytes.extend_from_slice(table);
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let length = bytes.len() as u64;
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(offset_of!(Head, magic), &MAGIC.to_le_bytes());
    put(offset_of!(Head, bytes), &length.to_le_bytes());
    for (i, offset) in offsets.iter().enumerate() {
        put(offset_of!(Head, tables) + 8 * i, &offset.to_le_bytes());
    }
    for (i, &count) in counts.iter().enumerate() {
        put(offset_of!(Head, counts) + 4 * i, &(count as u32).to_le_bytes());
    }
    put(offset_of!(Head, goal), &plan.goal.to_le_bytes());
    put(offset_of!(Head, leading), &(plan.steps.len() as u32).to_le_bytes());
    put(offset_of!(Head, first), &finish.first.to_le_bytes());
    put(offset_of!(Head, core), &u32::from(finish.core).to_le_bytes());
    (bytes, offsets)
}

#[cfg(test)]
mod tests {
    use mayhap_wire::schedule::{READ, WRITE, goal, mode, place};

    use super::*;
    use crate::plan::tests::steps;
    use mayhap_trace::attachments::steps::Site;

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    fn plan() -> Plan {
        Plan {
            steps: vec![2, 0, 1],
            rest: vec![3],
            targets: vec![4],
            complete: vec![0],
            goal: goal::STAND,
            reads_new: None,
        }
    }

    #[test]
    fn each_lane_finds_its_steps_in_their_order_and_its_target() {
        let all = steps(&[(0, WRITE, 1), (1, WRITE, 1), (0, READ, 1), (0, READ, 1), (1, READ, 1)]);
        let (bytes, tables) = Builder::new(&all).build(&plan(), Finish { first: 0, core: true });
        let step = |number: usize, field: usize| tables[0] as usize + number * size_of::<wire::Step>() + field;
        let lane = |number: usize, field: usize| tables[1] as usize + number * size_of::<wire::Lane>() + field;
        // Lane 0 has the steps 0, 1 and 3 of the schedule, lane 1 has step 2 and the target.
        assert_eq!(word(&bytes, lane(0, offset_of!(wire::Lane, first))), 1);
        assert_eq!([0, 1, 2, 3].map(|n| word(&bytes, step(n, offset_of!(wire::Step, next)))), [2, 4, 0, 0]);
        assert_eq!(word(&bytes, lane(1, offset_of!(wire::Lane, first))), 3);
        assert_eq!([0, 1].map(|n| word(&bytes, lane(n, offset_of!(wire::Lane, target)))), [0, 1]);
        assert_eq!([0, 1].map(|n| word(&bytes, lane(n, offset_of!(wire::Lane, complete)))), [1, 0]);
        assert_eq!(word(&bytes, offset_of!(Head, leading)), 3);
        assert_eq!(word(&bytes, offset_of!(Head, core)), 1);
        assert_eq!(bytes.len() as u64, u64::from_le_bytes(bytes[8..16].try_into().unwrap()));
    }

    #[test]
    fn blocks_of_one_place_stand_together_in_order() {
        let mut all = steps(&[(0, WRITE, 1), (1, WRITE, 1), (0, READ, 1), (0, READ, 1), (1, READ, 1)]);
        all.modules.push("/bin/program".into());
        all.sites.push(Site { module: Some(0), offset: 0x40 });
        all.blocks = vec![Block { lane: 1, site: 0, nth: 9 }, Block { lane: 1, site: 0, nth: 2 }];
        for (step, block) in [(0, 0), (1, 1)] {
            all.steps[step].object =
                mayhap_trace::attachments::steps::Object { class: class::HEAP, index: block, offset: 16 };
        }
        let (bytes, tables) = Builder::new(&all).build(&plan(), Finish::default());
        let block = |number: usize| word(&bytes, tables[4] as usize + number * size_of::<wire::Block>());
        assert_eq!([block(0), block(1)], [2, 9]);
        // The schedule's second step is about the ninth, its third about the second.
        let index =
            |number: usize| tables[0] as usize + number * size_of::<wire::Step>() + offset_of!(wire::Step, index);
        assert_eq!([1, 2].map(|n| word(&bytes, index(n))), [1, 0]);
        let text = tables[6] as usize;
        assert_eq!(&bytes[text..text + 12], b"/bin/program");
    }

    #[test]
    fn what_the_program_has_not_touched_is_as_it_was_made() {
        let all = steps(&[(0, WRITE, 1), (1, WRITE, 1), (0, READ, 1), (0, READ, 1), (1, READ, 1)]);
        let image = Image::create(&all, &plan(), Finish::default()).unwrap();
        assert_eq!((image.mode().unwrap(), image.next().unwrap()), (mode::FOLLOWING, 0));
        assert_eq!(image.performing().unwrap(), None);
        assert_eq!(image.place(1).unwrap(), (place::NOWHERE, 0));
        let arrival = image.arrival(0, 4).unwrap();
        assert_eq!((arrival.state, arrival.value, arrival.stack), (wire::arrival::AWAY, None, vec![]));
        assert_eq!(image.divergence().unwrap().expected, None);
        image.abandon().unwrap();
        assert_eq!(image.mode().unwrap(), mode::ABANDONED);
    }
}
