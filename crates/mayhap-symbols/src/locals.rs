//! What variables on the stack are called, by the debug information: `run::total`, `worker::buffer[3]`; and what heap memory holds.
//!
//! Memory has the type that the variable points to which is declared in the line of the allocation, or that a C++ container allocates.
//!
//! A function is read when it is first asked for: its variables that lie in memory, where they lie from, and how far its stack pointer is
//! below where it was called. The debug information counts from there (its *frame base*), hooks know the stack pointer. Where the
//! stack pointer moves by an amount that the code does not say, nothing is known.

use std::collections::HashSet;
use std::ops::Range;

use addr2line::gimli::{
    self, AttributeValue, Dwarf, EndianSlice, Expression, LittleEndian, Operation, Register, Unit, UnitOffset,
};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register as Named};
use object::{Object, ObjectSection};

use crate::members::{self, Entry, Members, Reader, Slice, TypeId, refer};
use crate::scopes::{Block, Code, is_in};

/// The registers that frames are counted from, as DWARF numbers them.
const FRAME_POINTER: Register = gimli::X86_64::RBP;
const STACK_POINTER: Register = gimli::X86_64::RSP;
/// Bytes of the largest type whose parts are named in heap memory.
const LARGEST: u64 = 4096;
/// Bytes of a function in which its first call is looked for.
const PROLOGUE: u64 = 512;

/// A variable that lies at one place of its function's frame.
#[derive(Debug)]
struct Local {
    /// The function that it is in, which may have been inlined, and its name.
    function: String,
    name: String,
    /// Where it begins, from the frame base.
    offset: i64,
    kind: TypeId,
    /// The code in which it exists, and how many blocks are around it. No ranges: everywhere.
    scopes: Vec<Vec<gimli::Range>>,
    /// The block that it belongs to, unless that is its function.
    block: Option<Block>,
}

/// A variable that points to something.
#[derive(Debug)]
struct Pointer {
    /// The line that declares it.
    line: u64,
    /// The type that it points to, with its name.
    name: String,
    kind: TypeId,
    /// It is what a C++ allocator is called on, and the type that this one allocates.
    allocates: bool,
    scopes: Vec<Vec<gimli::Range>>,
}

/// The variables of a function.
#[derive(Debug, Default)]
pub(crate) struct Function {
    pointers: Vec<Pointer>,
    ranges: Vec<gimli::Range>,
    /// How far the frame base is above the stack pointer at calls of hooks.
    base: Option<i64>,
    locals: Vec<Local>,
    members: Members,
    /// Its lines, if it has variables in blocks.
    code: Code,
    /// It is Rust, whose variables are said to exist only once they have their first value.
    is_rust: bool,
}

/// Bytes of a frame that are looked at together, of which each may be another variable's.
const GRANULE: i64 = 8;

impl Function {
    /// Reads the function that the instruction at `pc` belongs to; empty where nothing is known of it.
    pub(crate) fn of(bytes: &[u8], pc: u64) -> Function {
        let Some(sections) = members::sections(bytes) else { return Function::default() };
        let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
        let units = members::units(&dwarf);
        let unknown = || Function { ranges: vec![gimli::Range { begin: pc, end: pc + 1 }], ..Function::default() };
        read(bytes, &dwarf, &units, pc).unwrap_or_else(unknown)
    }

    /// The instruction belongs to it.
    pub(crate) fn contains(&self, pc: u64) -> bool {
        is_in(&self.ranges, pc)
    }

    /// What lies at `address` while the function is at `pc` with this stack pointer.
    pub(crate) fn name(&self, pc: u64, stack_pointer: u64, address: u64) -> Option<String> {
        let local = self.local(pc, stack_pointer, address);
        let (local, offset) = local.or_else(|| self.local_to_be(pc, stack_pointer, address))?;
        let mut name = format!("{}::{}", local.function, local.name);
        self.members.part(&mut name, local.kind, (offset - local.offset) as u64)?;
        Some(name)
    }

    /// The variable that an address belongs to, and where the address is from the frame base.
    fn local(&self, pc: u64, stack_pointer: u64, address: u64) -> Option<(&Local, i64)> {
        let offset = address.wrapping_sub(stack_pointer) as i64 - self.base?;
        let exists = |local: &&Local| local.scopes.iter().all(|ranges| is_in(ranges, pc));
        let here = self.locals.iter().filter(|local| self.bytes(local).contains(&offset)).filter(exists);
        here.max_by_key(|local| local.scopes.len()).map(|local| (local, offset))
    }

    /// The variable of a Rust function that gets its first value there. The debug information lets it exist only after that. No other one
    /// ever lies in that place.
    fn local_to_be(&self, pc: u64, stack_pointer: u64, address: u64) -> Option<(&Local, i64)> {
        let offset = address.wrapping_sub(stack_pointer) as i64 - self.base.filter(|_| self.is_rust)?;
        let mut here = self.locals.iter().filter(|local| self.bytes(local).contains(&offset));
        let local = here.next().filter(|_| here.next().is_none())?;
        let (own, around) = local.scopes.split_last()?;
        let begins_later = own.iter().all(|range| pc < range.begin);
        (begins_later && around.iter().all(|ranges| is_in(ranges, pc))).then_some((local, offset))
    }

    /// Where a variable lies, from the frame base.
    fn bytes(&self, local: &Local) -> Range<i64> {
        let size = i64::try_from(self.members.size(local.kind)).unwrap_or(0);
        local.offset..local.offset.saturating_add(size)
    }

    /// The block of the variable at an address, if no variable of anything else ever lies in the same eight bytes.
    pub(crate) fn block(&self, pc: u64, stack_pointer: u64, address: u64) -> Option<&Block> {
        let (local, offset) = self.local(pc, stack_pointer, address)?;
        let block = local.block.as_ref()?;
        let start = offset - (address % GRANULE as u64) as i64;
        let is_here = |other: &&Local| {
            let bytes = self.bytes(other);
            bytes.start < start + GRANULE && start < bytes.end
        };
        self.locals.iter().filter(is_here).all(|other| other.block.as_ref() == Some(block)).then_some(block)
    }

    /// The instruction is surely reached only after the block was left.
    pub(crate) fn is_after(&self, block: &Block, pc: u64) -> bool {
        self.code.is_after(block, pc)
    }

    /// The type of the memory that the call at `pc`, in this line, allocates.
    pub(crate) fn allocated(&self, pc: u64, line: u64) -> Option<TypeId> {
        let here: Vec<&Pointer> =
            self.pointers.iter().filter(|pointer| pointer.scopes.iter().all(|ranges| is_in(ranges, pc))).collect();
        let allocator = here.iter().filter(|pointer| pointer.allocates).max_by_key(|pointer| pointer.scopes.len());
        if let Some(allocator) = allocator {
            return Some(allocator.kind);
        }
        // A declaration is in force only after the call.
        let mut declared = self.pointers.iter().filter(|pointer| pointer.line == line && !pointer.allocates);
        let first = declared.next()?;
        declared.all(|other| other.name == first.name).then_some(first.kind)
    }

    /// No two bytes of such a value have the same name, as members of two C++ bases may have.
    pub(crate) fn is_unambiguous(&self, kind: TypeId) -> bool {
        let size = self.members.size(kind);
        let name = |offset| {
            let mut name = String::new();
            self.members.part(&mut name, kind, offset)?;
            Some(name)
        };
        let names: Option<HashSet<String>> = (0..size.min(LARGEST)).map(name).collect();
        size <= LARGEST && names.is_some_and(|names| names.len() as u64 == size)
    }

    /// What the byte at `offset` of a block of `size` bytes is called that holds such values: `Session.refs`, `Session[2].refs`. `None` where
    /// that does not fit.
    pub(crate) fn part(&self, kind: TypeId, offset: u64, size: u64) -> Option<String> {
        let each = self.members.size(kind);
        let mut name = self.pointers.iter().find(|pointer| pointer.kind == kind)?.name.clone();
        // An access may reach beyond the block.
        if each == 0 || offset >= size || !size.is_multiple_of(each) {
            return None;
        }
        if size > each {
            name.push_str(&format!("[{}]", offset / each));
        }
        self.members.part(&mut name, kind, offset % each)?;
        Some(name)
    }
}

fn ranges<'a>(dwarf: &Dwarf<Slice<'a>>, unit: &Unit<Slice<'a>>, entry: &Entry<'a>) -> Vec<gimli::Range> {
    let mut found = Vec::new();
    if let Ok(mut ranges) = dwarf.die_ranges(unit, entry) {
        while let Ok(Some(range)) = ranges.next() {
            found.push(range);
        }
    }
    found
}

fn read<'a>(bytes: &[u8], dwarf: &Dwarf<Slice<'a>>, units: &[Unit<Slice<'a>>], pc: u64) -> Option<Function> {
    let covers = |unit: &&Unit<Slice<'a>>| {
        let Ok(mut ranges) = dwarf.unit_ranges(unit) else { return false };
        while let Ok(Some(range)) = ranges.next() {
            if (range.begin..range.end).contains(&pc) {
                return true;
            }
        }
        false
    };
    let unit = units.iter().find(covers)?;
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs().ok()? {
        if entry.tag() == gimli::DW_TAG_subprogram {
            let ranges = ranges(dwarf, unit, entry);
            if is_in(&ranges, pc) {
                let entry = unit.entry(entry.offset()).ok()?;
                return read_function(bytes, Reader::new(dwarf), units, unit, &entry, ranges);
            }
        }
    }
    None
}

fn read_function<'a>(
    bytes: &[u8],
    mut reader: Reader<'_, 'a>,
    units: &[Unit<Slice<'a>>],
    unit: &Unit<Slice<'a>>,
    entry: &Entry<'a>,
    ranges: Vec<gimli::Range>,
) -> Option<Function> {
    let above_call = ranges.first().and_then(|range| stack_at_first_call(bytes, range.begin));
    let base = match entry.attr_value(gimli::DW_AT_frame_base)? {
        AttributeValue::Exprloc(expression) => match only(unit, expression)? {
            Operation::CallFrameCFA => above_call,
            Operation::Register { register: FRAME_POINTER } => above_call.map(|above| above - 16),
            Operation::Register { register: STACK_POINTER } => Some(0),
            _ => None,
        },
        _ => None,
    };
    let found = read_locals(&mut reader, units, unit, (entry.offset(), base)).unwrap_or_default();
    let Found { locals, pointers, inlined } = found;
    let has_blocks = locals.iter().any(|local| local.block.is_some());
    let code = has_blocks.then(|| Code::read(reader.dwarf, unit, &ranges, inlined)).flatten().unwrap_or_default();
    let is_rust = is_rust(unit);
    Some(Function { pointers, ranges, base, locals, members: reader.members, code, is_rust })
}

/// The unit was compiled from Rust.
fn is_rust(unit: &Unit<Slice<'_>>) -> bool {
    let mut entries = unit.entries();
    let root = entries.next_dfs().ok().flatten();
    let language = root.and_then(|root| root.attr_value(gimli::DW_AT_language));
    language == Some(AttributeValue::Language(gimli::DW_LANG_Rust))
}

/// A block or function around an entry.
struct Around {
    /// How deep it is.
    depth: isize,
    /// Its name, if it is a function.
    name: Option<String>,
    code: Vec<gimli::Range>,
    /// Its number, if it is an inlined function.
    inlined: Option<usize>,
}

/// What a function's entries say.
#[derive(Default)]
struct Found {
    locals: Vec<Local>,
    pointers: Vec<Pointer>,
    /// The code of the functions inlined in it, outer ones first.
    inlined: Vec<Vec<gimli::Range>>,
}

/// The innermost block that has these blocks and functions around it, unless that is a function.
fn block_of(around: &[Around]) -> Option<Block> {
    let innermost = around.iter().rfind(|outer| !outer.code.is_empty()).filter(|outer| outer.name.is_none())?;
    let inlined = around.iter().rev().find_map(|outer| outer.inlined);
    Some(Block { code: innermost.code.clone(), inlined })
}

fn read_locals<'a>(
    reader: &mut Reader<'_, 'a>,
    units: &[Unit<Slice<'a>>],
    unit: &Unit<Slice<'a>>,
    (function, base): (UnitOffset, Option<i64>),
) -> gimli::Result<Found> {
    let Found { mut locals, mut pointers, mut inlined } = Found::default();
    let mut around: Vec<Around> = Vec::new();
    let mut entries = unit.entries_at_offset(function)?;
    let mut outermost = None;
    while let Some(entry) = entries.next_dfs()? {
        let depth = entry.depth();
        if outermost.is_some_and(|outermost| depth <= outermost) {
            break;
        }
        around.retain(|outer| outer.depth < depth);
        match entry.tag() {
            gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine | gimli::DW_TAG_lexical_block => {
                let is_function = entry.tag() != gimli::DW_TAG_lexical_block;
                let name = is_function.then(|| called(reader, units, unit, entry.offset()).unwrap_or_default());
                // The outermost one contains everything that is asked for.
                let code = if outermost.is_some() { ranges(reader.dwarf, unit, entry) } else { Vec::new() };
                let number = (is_function && outermost.is_some()).then_some(inlined.len());
                inlined.extend(number.map(|_| code.clone()));
                around.push(Around { depth, name, code, inlined: number });
                outermost.get_or_insert(depth);
            }
            gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                let Some((name, at)) = reader.declared(units, unit, entry.offset()) else { continue };
                let scopes: Vec<_> =
                    around.iter().filter(|outer| !outer.code.is_empty()).map(|outer| outer.code.clone()).collect();
                if let Some((to, allocates)) = pointee(reader, units, at) {
                    let line = declared_at(units, unit, entry.offset()).unwrap_or(0);
                    if let Some(type_name) = named(reader, to) {
                        let kind = reader.kind(units, to.0, to.1, 0);
                        pointers.push(Pointer { line, name: type_name, kind, allocates, scopes: scopes.clone() });
                    }
                }
                let Some(offset) = in_frame(reader.dwarf, unit, entry, base) else { continue };
                let Some(function) = around.iter().rev().find_map(|outer| outer.name.clone()) else { continue };
                let kind = reader.kind(units, at.0, at.1, 0);
                locals.push(Local { function, name, offset, kind, scopes, block: block_of(&around) });
            }
            _ => {}
        }
    }
    Ok(Found { locals, pointers, inlined })
}

/// The line that declares a variable, of which an entry may be a copy.
fn declared_at<'a>(units: &[Unit<Slice<'a>>], unit: &Unit<Slice<'a>>, offset: UnitOffset) -> Option<u64> {
    let (mut unit, mut offset) = (unit, offset);
    for _ in 0..4 {
        let entry = unit.entry(offset).ok()?;
        if let Some(line) = entry.attr(gimli::DW_AT_decl_line).and_then(|line| line.udata_value()) {
            return Some(line);
        }
        (unit, offset) = refer(units, unit, &entry, gimli::DW_AT_abstract_origin)?;
    }
    None
}

/// An entry and the unit that it is in.
type At<'u, 'a> = (&'u Unit<Slice<'a>>, UnitOffset);

/// The type that a value of a type points to, without qualifiers. For a C++ allocator: the type that it allocates.
fn pointee<'u, 'a>(
    reader: &Reader<'_, 'a>,
    units: &'u [Unit<Slice<'a>>],
    at: At<'u, 'a>,
) -> Option<(At<'u, 'a>, bool)> {
    let mut at = at;
    let mut is_pointer = false;
    for _ in 0..8 {
        let entry = at.0.entry(at.1).ok()?;
        match entry.tag() {
            gimli::DW_TAG_pointer_type if !is_pointer => is_pointer = true,
            gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type | gimli::DW_TAG_restrict_type => {}
            gimli::DW_TAG_typedef if !is_pointer => {}
            gimli::DW_TAG_class_type | gimli::DW_TAG_structure_type if is_pointer => {
                let name = reader.text(at.0, &entry, gimli::DW_AT_name).unwrap_or_default();
                let is_allocator = ["__new_allocator<", "new_allocator<"].iter().any(|n| name.starts_with(n));
                return if is_allocator { Some((argument(units, at)?, true)) } else { Some((at, false)) };
            }
            _ => return is_pointer.then_some((at, false)),
        }
        at = refer(units, at.0, &entry, gimli::DW_AT_type)?;
    }
    None
}

/// The first type argument of a template.
fn argument<'u, 'a>(units: &'u [Unit<Slice<'a>>], at: At<'u, 'a>) -> Option<At<'u, 'a>> {
    let mut entries = at.0.entries_at_offset(at.1).ok()?;
    let outermost = entries.next_dfs().ok()??.depth();
    while let Some(entry) = entries.next_dfs().ok()?.filter(|entry| entry.depth() > outermost) {
        if entry.tag() == gimli::DW_TAG_template_type_parameter && entry.depth() == outermost + 1 {
            return refer(units, at.0, entry, gimli::DW_AT_type);
        }
    }
    None
}

/// The name of a type, if it is one that people gave it: libraries begin those of their own types with an underscore.
fn named<'a>(reader: &Reader<'_, 'a>, at: At<'_, 'a>) -> Option<String> {
    let entry = at.0.entry(at.1).ok()?;
    let name = reader.text(at.0, &entry, gimli::DW_AT_name)?;
    let name = name.split('<').next().unwrap_or_default().replace(' ', "_");
    (!name.is_empty() && !name.starts_with('_')).then_some(name)
}

/// The name of a function, of which an entry may be a copy.
fn called<'a>(
    reader: &Reader<'_, 'a>,
    units: &[Unit<Slice<'a>>],
    unit: &Unit<Slice<'a>>,
    offset: UnitOffset,
) -> Option<String> {
    let (mut unit, mut offset) = (unit, offset);
    for _ in 0..4 {
        let entry = unit.entry(offset).ok()?;
        if let Some(name) = reader.text(unit, &entry, gimli::DW_AT_name) {
            // Functions without a name in the source.
            let is_closure = name == "operator()" || name.starts_with("{closure");
            return Some(if is_closure { "lambda".into() } else { name });
        }
        (unit, offset) = refer(units, unit, &entry, gimli::DW_AT_abstract_origin)
            .or_else(|| refer(units, unit, &entry, gimli::DW_AT_specification))?;
    }
    None
}

/// The only operation of an expression.
fn only<'a>(unit: &Unit<Slice<'a>>, expression: Expression<Slice<'a>>) -> Option<Operation<Slice<'a>>> {
    let mut operations = expression.operations(unit.encoding());
    let first = operations.next().ok()??;
    operations.next().ok()?.is_none().then_some(first)
}

/// How far from the frame base a variable begins, if it lies in the frame. `base` is how far that is above the stack pointer.
fn in_frame<'a>(dwarf: &Dwarf<Slice<'a>>, unit: &Unit<Slice<'a>>, entry: &Entry<'a>, base: Option<i64>) -> Option<i64> {
    let offset = |expression| match only(unit, expression)? {
        Operation::FrameOffset { offset } => Some(offset),
        Operation::RegisterOffset { register: STACK_POINTER, offset, .. } => Some(offset - base?),
        _ => None,
    };
    match entry.attr_value(gimli::DW_AT_location)? {
        AttributeValue::Exprloc(expression) => offset(expression),
        list => {
            let mut locations = dwarf.attr_locations(unit, list).ok()??;
            while let Some(location) = locations.next().ok()? {
                if let Some(offset) = offset(location.data) {
                    return Some(offset);
                }
            }
            None
        }
    }
}

/// How far the stack pointer is, at the first call of the function that begins at `start`, below where it was before the function was
/// called. That call is the one of the hook at function entry; `None` where the code does not say.
fn stack_at_first_call(bytes: &[u8], start: u64) -> Option<i64> {
    let file = object::File::parse(bytes).ok()?;
    let section =
        file.sections().find(|section| (section.address()..section.address() + section.size()).contains(&start))?;
    let length = PROLOGUE.min(section.address() + section.size() - start);
    let code = section.data_range(start, length).ok()??;
    // The call has put the return address there.
    let mut below = 8;
    for instruction in &mut Decoder::with_ip(64, code, start, DecoderOptions::NONE) {
        match instruction.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall => return Some(below),
            FlowControl::Next | FlowControl::ConditionalBranch => below += pushed(&instruction)?,
            _ => return None,
        }
    }
    None
}

/// How much further down an instruction moves the stack pointer; `None` if it does not say.
fn pushed(instruction: &Instruction) -> Option<i64> {
    let to_stack_pointer = instruction.op_count() > 0
        && instruction.op_kind(0) == OpKind::Register
        && instruction.op0_register() == Named::RSP;
    let is_constant = instruction.op_count() > 1
        && matches!(instruction.op_kind(1), OpKind::Immediate8to64 | OpKind::Immediate32to64 | OpKind::Immediate64);
    match instruction.mnemonic() {
        Mnemonic::Push => Some(8),
        Mnemonic::Sub if to_stack_pointer && is_constant => Some(instruction.immediate(1) as i64),
        Mnemonic::Add if to_stack_pointer && is_constant => Some(-(instruction.immediate(1) as i64)),
        Mnemonic::Cmp | Mnemonic::Test => Some(0),
        Mnemonic::Pop | Mnemonic::Enter | Mnemonic::Leave => None,
        _ if to_stack_pointer => None,
        _ => Some(0),
    }
}
