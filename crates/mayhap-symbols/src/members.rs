//! What parts of global variables are called, by the debug information: `queue.head`, `grid[3][4]`, `shop.items[2].price`.
//!
//! Read once for each file: the variables with a fixed address, and the types that they are made of. A part is named by its first
//! byte. Of a union the first member that reaches there names it, of an enum of Rust the first variant. Bases of C++ and members
//! without a name add none of their own; nor do wrappers of one value (`UnsafeCell`, `std::atomic`), and what is inside a lock is the
//! lock. A variable inside a function is named with it: `next_id::count`.
//!
//! Cost: linear in the file's debug information, which is not read if nothing is asked or if it is larger than [`LARGEST`].

use std::borrow::Cow;
use std::collections::HashMap;

use addr2line::gimli::{
    self, AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Operation, Unit, UnitOffset,
};
use object::{Object, ObjectSection};

/// Bytes of debug information beyond which it is not read.
const LARGEST: u64 = 512 << 20;
/// Types inside types that are followed.
const DEEPEST: usize = 64;

pub(crate) type Slice<'a> = EndianSlice<'a, LittleEndian>;
pub(crate) type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// A type, by its place in [`Members::types`].
pub(crate) type TypeId = usize;

#[derive(Clone, Debug, Default)]
enum Shape {
    /// Nothing that has parts, or parts without names.
    #[default]
    Whole,
    /// Another name, or a qualifier.
    Same(TypeId),
    /// Elements of one type, with the length of each dimension.
    Array(TypeId, Vec<u64>),
    /// Members in their order.
    Members(Vec<Member>),
}

#[derive(Clone, Debug, Default)]
struct Type {
    size: u64,
    shape: Shape,
    /// What it holds is called as the whole.
    is_wrapper: bool,
}

#[derive(Clone, Debug)]
struct Member {
    /// Empty if it adds none: a base, a member without a name, the variants of an enum.
    name: String,
    offset: u64,
    size: u64,
    kind: TypeId,
}

#[derive(Clone, Debug)]
struct Variable {
    /// The function that it is in, if it is in one.
    function: Option<String>,
    name: String,
    kind: TypeId,
}

/// The parts of a file's variables.
#[derive(Debug, Default)]
pub(crate) struct Members {
    variables: HashMap<u64, Variable>,
    types: Vec<Type>,
}

impl Members {
    /// Reads a file's debug information, as far as there is any.
    pub(crate) fn of(bytes: &[u8]) -> Members {
        let Some(sections) = sections(bytes) else { return Members::default() };
        let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
        Reader::new(&dwarf).read()
    }

    /// The bytes of a type.
    pub(crate) fn size(&self, kind: TypeId) -> u64 {
        self.types.get(kind).map_or(0, |kind| kind.size)
    }

    /// What the bytes at `offset` from the start of the variable at `address` are called. `symbol` is the variable's name; `None`
    /// where nothing is known of it.
    pub(crate) fn name(&self, symbol: &str, address: u64, offset: u64) -> Option<String> {
        let variable = self.variables.get(&address)?;
        // C compilers put the function's name before that of a variable inside it, or a number after it.
        let before = symbol.strip_suffix(variable.name.as_str()).and_then(|before| before.strip_suffix('.'));
        let behind = symbol.strip_prefix(variable.name.as_str());
        let mut name = match (before, &variable.function) {
            (Some(function), _) if !function.is_empty() => format!("{function}::{}", variable.name),
            (_, Some(function)) if behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('.')) => {
                format!("{function}::{}", variable.name)
            }
            // LLVM appends a number to what it took out of a value.
            _ => match symbol.rsplit_once('.') {
                Some((name, number))
                    if name.ends_with(&variable.name) && number.bytes().all(|b| b.is_ascii_digit()) =>
                {
                    name.to_string()
                }
                _ => symbol.to_string(),
            },
        };
        self.part(&mut name, variable.kind, offset)?;
        Some(name)
    }

    /// Appends the names of the parts that lead to the byte at `offset` of a value; `None` where it has no such byte.
    pub(crate) fn part(&self, name: &mut String, kind: TypeId, mut offset: u64) -> Option<()> {
        let mut at = self.types.get(kind)?;
        for _ in 0..DEEPEST {
            at = match &at.shape {
                Shape::Same(other) => self.types.get(*other)?,
                Shape::Array(element, lengths) => {
                    let element = self.types.get(*element)?;
                    let mut stride = element.size * lengths.iter().skip(1).product::<u64>();
                    for (i, _) in lengths.iter().enumerate() {
                        name.push_str(&format!("[{}]", offset.checked_div(stride)?));
                        offset %= stride;
                        stride = stride.checked_div(lengths.get(i + 1).copied().unwrap_or(1)).unwrap_or(0).max(1);
                    }
                    element
                }
                Shape::Members(members) => {
                    let reaches = |member: &&Member| (member.offset..member.offset + member.size).contains(&offset);
                    let Some(member) = members.iter().find(reaches) else { break };
                    if !member.name.is_empty() && !at.is_wrapper {
                        name.push('.');
                        name.push_str(&member.name);
                    }
                    offset -= member.offset;
                    self.types.get(member.kind)?
                }
                Shape::Whole => break,
            };
        }
        if offset > 0 {
            name.push_str(&format!("+{offset}"));
        }
        Some(())
    }
}

/// The sections with debug information, if there are any and they are not too large.
pub(crate) fn sections(bytes: &[u8]) -> Option<gimli::DwarfSections<Cow<'_, [u8]>>> {
    let file = object::File::parse(bytes).ok()?;
    let size = file.section_by_name(".debug_info").map_or(0, |section| section.size());
    if size == 0 || size > LARGEST {
        return None;
    }
    let load = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, gimli::Error> {
        let section = file.section_by_name(id.name());
        Ok(section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default())
    };
    gimli::DwarfSections::load(load).ok()
}

/// All units of the debug information, in their order.
pub(crate) fn units<'a>(dwarf: &Dwarf<Slice<'a>>) -> Vec<Unit<Slice<'a>>> {
    let mut units = Vec::new();
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        units.extend(dwarf.unit(header));
    }
    units
}

/// Goes through the debug information of a file.
pub(crate) struct Reader<'d, 'a> {
    pub(crate) dwarf: &'d Dwarf<Slice<'a>>,
    pub(crate) members: Members,
    /// Types by where they stand.
    known: HashMap<usize, TypeId>,
}

impl<'d, 'a> Reader<'d, 'a> {
    pub(crate) fn new(dwarf: &'d Dwarf<Slice<'a>>) -> Self {
        Reader { dwarf, members: Members::default(), known: HashMap::new() }
    }

    fn read(mut self) -> Members {
        let units = units(self.dwarf);
        for unit in &units {
            // A unit that cannot be read leaves its variables without parts.
            let _ = self.read_unit(&units, unit);
        }
        self.members
    }

    fn read_unit(&mut self, units: &[Unit<Slice<'a>>], unit: &Unit<Slice<'a>>) -> gimli::Result<()> {
        // The functions that the entry is in, by depth.
        let mut functions: Vec<(isize, String)> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            functions.retain(|(outer, _)| *outer < depth);
            match entry.tag() {
                gimli::DW_TAG_subprogram => {
                    let name = self.text(unit, entry, gimli::DW_AT_name);
                    functions.push((depth, name.unwrap_or_default()));
                }
                gimli::DW_TAG_variable => {
                    let Some(address) = self.address(unit, entry) else { continue };
                    let Some((name, at)) = self.declared(units, unit, entry.offset()) else { continue };
                    let kind = self.kind(units, at.0, at.1, 0);
                    let function = functions.last().map(|(_, name)| name.clone()).filter(|name| !name.is_empty());
                    self.members.variables.entry(address).or_insert(Variable { function, name, kind });
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn text(&self, unit: &Unit<Slice<'a>>, entry: &Entry<'a>, name: gimli::DwAt) -> Option<String> {
        let value = self.dwarf.attr_string(unit, entry.attr_value(name)?).ok()?;
        Some(value.to_string_lossy().into_owned())
    }

    /// Returns the fixed address of a variable.
    fn address(&self, unit: &Unit<Slice<'a>>, entry: &Entry<'a>) -> Option<u64> {
        let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location)? else { return None };
        let mut operations = expression.operations(unit.encoding());
        let address = match operations.next().ok()?? {
            Operation::Address { address } => address,
            Operation::AddressIndex { index } => self.dwarf.address(unit, index).ok()?,
            _ => return None,
        };
        // A thread's own variables have more to them.
        operations.next().ok()?.is_none().then_some(address)
    }

    /// The name of a variable and where its type stands; a definition may refer to its declaration.
    pub(crate) fn declared<'u>(
        &self,
        units: &'u [Unit<Slice<'a>>],
        unit: &'u Unit<Slice<'a>>,
        offset: UnitOffset,
    ) -> Option<(String, (&'u Unit<Slice<'a>>, UnitOffset))> {
        let (mut unit, mut offset) = (unit, offset);
        let mut name = None;
        for _ in 0..4 {
            let entry = unit.entry(offset).ok()?;
            name = name.or_else(|| self.text(unit, &entry, gimli::DW_AT_name));
            if let Some(kind) = refer(units, unit, &entry, gimli::DW_AT_type) {
                return Some((name?, kind));
            }
            (unit, offset) = refer(units, unit, &entry, gimli::DW_AT_specification)
                .or_else(|| refer(units, unit, &entry, gimli::DW_AT_abstract_origin))?;
        }
        None
    }

    /// The type that stands there.
    pub(crate) fn kind(
        &mut self,
        units: &[Unit<Slice<'a>>],
        unit: &Unit<Slice<'a>>,
        offset: UnitOffset,
        depth: usize,
    ) -> TypeId {
        let place = offset.to_debug_info_offset(&unit.header).map_or(usize::MAX, |offset| offset.0);
        if let Some(&known) = self.known.get(&place) {
            return known;
        }
        let id = self.members.types.len();
        self.members.types.push(Type::default());
        self.known.insert(place, id);
        if depth < DEEPEST
            && let Some(kind) = self.new_kind(units, unit, offset, depth + 1)
        {
            self.members.types[id] = kind;
        }
        id
    }

    fn new_kind(
        &mut self,
        units: &[Unit<Slice<'a>>],
        unit: &Unit<Slice<'a>>,
        offset: UnitOffset,
        depth: usize,
    ) -> Option<Type> {
        let entry = unit.entry(offset).ok()?;
        let size = entry.attr(gimli::DW_AT_byte_size).and_then(|size| size.udata_value());
        let name = self.text(unit, &entry, gimli::DW_AT_name).unwrap_or_default();
        let whole = |size: u64| Some(Type { size, ..Type::default() });
        let inner = refer(units, unit, &entry, gimli::DW_AT_type);
        match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_atomic_type
            | gimli::DW_TAG_restrict_type => {
                let (unit, offset) = inner?;
                let other = self.kind(units, unit, offset, depth);
                let size = self.members.types[other].size;
                if is_lock(&name) {
                    whole(size)
                } else {
                    Some(Type { size, shape: Shape::Same(other), is_wrapper: false })
                }
            }
            gimli::DW_TAG_array_type => {
                let (inner_unit, inner_offset) = inner?;
                let element = self.kind(units, inner_unit, inner_offset, depth);
                let lengths = lengths(unit, offset)?;
                let size = size.unwrap_or(self.members.types[element].size * lengths.iter().product::<u64>());
                Some(Type { size, shape: Shape::Array(element, lengths), is_wrapper: false })
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                if is_lock(&name) {
                    return whole(size?);
                }
                let members = self.members_of(units, unit, offset, depth);
                Some(Type { size: size.unwrap_or(0), shape: Shape::Members(members), is_wrapper: is_wrapper(&name) })
            }
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
                whole(size.unwrap_or(8))
            }
            _ => whole(size?),
        }
    }

    fn members_of(
        &mut self,
        units: &[Unit<Slice<'a>>],
        unit: &Unit<Slice<'a>>,
        offset: UnitOffset,
        depth: usize,
    ) -> Vec<Member> {
        let mut members = Vec::new();
        for found in self.find_members(units, unit, offset).unwrap_or_default() {
            let kind = self.kind(units, found.kind.0, found.kind.1, depth);
            let size = found.size.unwrap_or(self.members.types[kind].size);
            // A base without members takes a byte that is another's.
            if matches!(&self.members.types[kind].shape, Shape::Members(none) if none.is_empty()) {
                continue;
            }
            members.push(Member { name: found.name, offset: found.offset, size, kind });
        }
        members
    }

    fn find_members<'u>(
        &self,
        units: &'u [Unit<Slice<'a>>],
        unit: &'u Unit<Slice<'a>>,
        offset: UnitOffset,
    ) -> gimli::Result<Vec<Found<'u, 'a>>> {
        let mut found = Vec::new();
        let mut entries = unit.entries_at_offset(offset)?;
        let outermost = entries.next_dfs()?.map_or(0, |entry| entry.depth());
        // Inside other types and functions nothing belongs to this one.
        let mut foreign = isize::MAX;
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            if depth <= outermost {
                break;
            }
            if depth > foreign {
                continue;
            }
            foreign = isize::MAX;
            match entry.tag() {
                // The variants of an enum stand one below the other, their members below them.
                gimli::DW_TAG_variant_part | gimli::DW_TAG_variant => {}
                gimli::DW_TAG_member | gimli::DW_TAG_inheritance => {
                    if let Some(kind) = refer(units, unit, entry, gimli::DW_AT_type)
                        && let Some((offset, size)) = extent(entry)
                    {
                        let own = entry.tag() == gimli::DW_TAG_member && depth == outermost + 1;
                        let name = self.text(unit, entry, gimli::DW_AT_name).filter(|_| own).unwrap_or_default();
                        // Tuples of Rust.
                        let digits = name.strip_prefix("__").filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
                        let name = digits.map_or(name.clone(), str::to_string);
                        found.push(Found { name, offset, size, kind });
                    }
                }
                _ => foreign = depth,
            }
        }
        Ok(found)
    }
}

/// A member, and where its type stands.
struct Found<'u, 'a> {
    name: String,
    offset: u64,
    /// If it is not that of its type.
    size: Option<u64>,
    kind: (&'u Unit<Slice<'a>>, UnitOffset),
}

/// Where a member starts in its structure, and its size if that is not the type's; `None` for a static one.
fn extent(entry: &Entry<'_>) -> Option<(u64, Option<u64>)> {
    let number = |name| entry.attr(name).and_then(|value| value.udata_value());
    if entry.attr(gimli::DW_AT_external).is_some() || entry.attr(gimli::DW_AT_const_value).is_some() {
        return None;
    }
    if let (Some(start), Some(bits)) = (number(gimli::DW_AT_data_bit_offset), number(gimli::DW_AT_bit_size)) {
        return Some((start / 8, Some((start + bits).div_ceil(8) - start / 8)));
    }
    Some((number(gimli::DW_AT_data_member_location).unwrap_or(0), None))
}

/// Returns the lengths of an array's dimensions.
fn lengths(unit: &Unit<Slice<'_>>, offset: UnitOffset) -> Option<Vec<u64>> {
    let mut entries = unit.entries_at_offset(offset).ok()?;
    let outermost = entries.next_dfs().ok()??.depth();
    let mut lengths = Vec::new();
    while let Ok(Some(entry)) = entries.next_dfs()
        && entry.depth() > outermost
    {
        if entry.tag() == gimli::DW_TAG_subrange_type {
            let number = |name| entry.attr(name).and_then(|value| value.udata_value());
            // The last index of an array without elements is -1.
            let counted = number(gimli::DW_AT_upper_bound).map(|last| last.wrapping_add(1));
            lengths.push(number(gimli::DW_AT_count).or(counted).unwrap_or(0));
        }
    }
    Some(lengths)
}

/// Returns the entry that another one refers to.
pub(crate) fn refer<'u, 'a>(
    units: &'u [Unit<Slice<'a>>],
    unit: &'u Unit<Slice<'a>>,
    entry: &Entry<'a>,
    name: gimli::DwAt,
) -> Option<(&'u Unit<Slice<'a>>, UnitOffset)> {
    match entry.attr_value(name)? {
        AttributeValue::UnitRef(offset) => Some((unit, offset)),
        AttributeValue::DebugInfoRef(offset) => {
            let start = |unit: &Unit<Slice<'a>>| unit.debug_info_offset().map_or(usize::MAX, |start| start.0);
            let at = units.partition_point(|unit| start(unit) <= offset.0).checked_sub(1)?;
            Some((&units[at], offset.to_unit_offset(&units[at].header)?))
        }
        _ => None,
    }
}

/// What is inside is the lock's own business.
fn is_lock(name: &str) -> bool {
    const LOCKS: [&str; 18] = [
        "pthread_mutex_t",
        "pthread_cond_t",
        "pthread_rwlock_t",
        "pthread_spinlock_t",
        "pthread_barrier_t",
        "pthread_once_t",
        "sem_t",
        "mtx_t",
        "cnd_t",
        "mutex",
        "recursive_mutex",
        "timed_mutex",
        "recursive_timed_mutex",
        "shared_mutex",
        "shared_timed_mutex",
        "condition_variable",
        "condition_variable_any",
        "once_flag",
    ];
    LOCKS.contains(&name)
}

/// Types around one value that people speak of as that value.
fn is_wrapper(name: &str) -> bool {
    const WRAPPERS: [&str; 9] = [
        "UnsafeCell<",
        "Cell<",
        "SyncUnsafeCell<",
        "MaybeUninit<",
        "ManuallyDrop<",
        "Atomic",
        "atomic<",
        "__atomic_base<",
        "__atomic_float<",
    ];
    WRAPPERS.iter().any(|wrapper| name.starts_with(wrapper))
}
