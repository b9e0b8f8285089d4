//! References to methods (`queue::add`): Java's library calls what they name without passing any code of the program. Each becomes a reference to a new
//! method that does nothing but call it, and gets hooks as all methods do.

use crate::class::code::Code;
use crate::class::file::ClassFile;
use crate::class::instructions::op;
use crate::class::pool::Member;
use crate::class::{put2, put4};
use crate::descriptors::{Slots, argument_texts, argument_types, return_type};
use crate::library::{self, Call};

/// How the names of the new methods begin.
pub(crate) const PREFIX: &str = "mayhap$";

const VIRTUAL: u8 = 5;
const STATIC: u8 = 6;
const INTERFACE: u8 = 9;

/// A reference in the code.
struct Reference {
    /// Where the class file has the number of its handle.
    at: usize,
    kind: u8,
    /// The number of the method, and which it is.
    number: u16,
    method: Member,
    /// What the place that makes the reference hands to it.
    captured: String,
    /// The method that the reference is in.
    inside: String,
    line: u16,
}

/// Makes new methods for references to methods outside of the class.
pub(crate) fn wrap(file: &mut ClassFile<'_>) -> Option<()> {
    let mut found: Vec<Reference> = Vec::new();
    for index in 0..file.methods.len() {
        let Some(contents) = file.methods[index].code() else { continue };
        let code = Code::read(contents, &file.pool)?;
        for at in code.starts()? {
            if code.bytes[at] == op::INVOKEDYNAMIC {
                let lines = code.lines();
                let line = lines.iter().rev().find(|(start, _)| usize::from(*start) <= at).map_or(0, |(_, line)| *line);
                let dynamic = u16::from_be_bytes([code.bytes[at + 1], code.bytes[at + 2]]);
                references(file, dynamic, &file.methods[index].name, line, &mut found);
            }
        }
    }
    for index in 0..found.len() {
        let reference = &found[index];
        let same: Vec<&Reference> = found.iter().filter(|other| other.at == reference.at).collect();
        // One handle for places that hand over different types cannot become a static method.
        let is_first = same.first().is_some_and(|first| std::ptr::eq(*first, reference));
        if is_first && same.iter().all(|other| other.captured == reference.captured) {
            wrap_one(file, index, reference);
        }
    }
    Some(())
}

fn references(file: &ClassFile<'_>, dynamic: u16, inside: &str, line: u16, found: &mut Vec<Reference>) {
    let Some((number, descriptor)) = file.pool.dynamic_call(dynamic) else { return };
    for (at, constant) in file.bootstrap(number) {
        let Some((kind, number, method)) = file.pool.handle(constant) else { continue };
        let is_call = matches!(kind, VIRTUAL | STATIC | INTERFACE);
        let is_pure = library::is_library(&method.class) && library::call(kind == STATIC, &method) == Call::Own;
        if is_call && !is_pure && method.class != file.name && !method.class.starts_with('[') {
            let captured = argument_texts(&descriptor).and_then(|texts| texts.into_iter().next()).unwrap_or_default();
            let inside = inside.replace(['<', '>'], "");
            found.push(Reference { at, kind, number, method, captured, inside, line });
        }
    }
}

fn wrap_one(file: &mut ClassFile<'_>, index: usize, reference: &Reference) -> Option<()> {
    let Reference { at, kind, number, method, captured, inside, line } = reference;
    let mut types = argument_types(&method.descriptor)?;
    let mut descriptor = method.descriptor.clone();
    if *kind != STATIC {
        let own = if captured.is_empty() { format!("L{};", method.class) } else { captured.clone() };
        descriptor = format!("({own}{}", descriptor.strip_prefix('(')?);
        types.insert(0, 'L');
    }
    let slots = Slots::of(&types, 0)?;
    let mut code = Vec::new();
    for (kind, slot) in types.iter().zip(&slots.each) {
        code.extend([op::ILOAD + nth(*kind), u8::try_from(*slot).ok()?]);
    }
    code.push(match *kind {
        STATIC => op::INVOKESTATIC,
        INTERFACE => op::INVOKEINTERFACE,
        _ => op::INVOKEVIRTUAL,
    });
    put2(&mut code, *number);
    if *kind == INTERFACE {
        code.extend([u8::try_from(slots.end).ok()?, 0]);
    }
    let returns = return_type(&method.descriptor);
    code.push(if returns == 'V' { op::RETURN } else { op::IRETURN + nth(returns) });
    let mut contents = Vec::new();
    put2(&mut contents, slots.end + 2);
    put2(&mut contents, slots.end);
    put4(&mut contents, code.len() as u32);
    contents.extend(code);
    // No handlers, and one line for all.
    put2(&mut contents, 0);
    put2(&mut contents, 1);
    put2(&mut contents, file.pool.named("LineNumberTable")?);
    put4(&mut contents, 6);
    for value in [1, 0, *line] {
        put2(&mut contents, value);
    }
    let name = format!("{PREFIX}{index}${inside}");
    let (class, is_interface) = (file.name.clone(), file.is_interface);
    let handle = file.pool.add_handle(&class, is_interface, &name, &descriptor)?;
    file.add_method(name, descriptor, contents)?;
    file.patch(*at, handle);
    Some(())
}

/// The name of a method as stacks show it: a reference belongs to the method that it is in.
pub(crate) fn shown(method: &str) -> &str {
    method.strip_prefix(PREFIX).and_then(|rest| rest.split_once('$')).map_or(method, |(_, inside)| inside)
}

/// How far the instruction for a type is from that for `int`.
fn nth(kind: char) -> u8 {
    match kind {
        'J' => 1,
        'F' => 2,
        'D' => 3,
        'L' => 4,
        _ => 0,
    }
}
