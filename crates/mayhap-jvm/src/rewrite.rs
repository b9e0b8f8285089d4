//! What is inserted into the code of classes: calls of the static native methods of one class that the agent defines.

use crate::class::code::{Code, Edit, Finally};
use crate::class::file::{ClassFile, flag};
use crate::class::instructions::{decides, may_throw, op, targets};
use crate::class::pool::Member;
use crate::descriptors::{Slots, argument_types, return_type};
use crate::library::{self, Call};

/// The class whose methods the inserted code calls. It lies in a package that every class may use.
pub(crate) const HOOKS: &str = "java/lang/Mayhap";

/// What a place in the code is about.
#[derive(Debug)]
pub(crate) enum What {
    /// Nothing that has a name.
    Plain,
    Field(Member),
    Call(Member),
}

/// A place in the code that calls a hook.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) method: String,
    pub(crate) line: u16,
    /// A value that was read before may have decided how the thread came here.
    pub(crate) branched: bool,
    /// It accesses a static field.
    pub(crate) is_constant: bool,
    pub(crate) what: What,
}

/// Gives each place its number.
pub(crate) type Number<'a> = dyn FnMut(Place) -> u32 + 'a;

/// Rewrites a class of the program; `None` where nothing is to change. Methods that would become too long stay as they are: `skipped` has them.
pub(crate) fn class(file: &mut ClassFile<'_>, number: &mut Number<'_>, skipped: &mut Vec<String>) -> Option<Vec<u8>> {
    let mut changed = Vec::new();
    for index in 0..file.methods.len() {
        let Some(contents) = file.methods[index].code() else { continue };
        match method(file, index, contents, number) {
            Some((flags, code)) => changed.push((index, flags, code)),
            None => skipped.push(file.methods[index].name.clone()),
        }
    }
    file.with(&changed)
}

/// Rewrites methods of a class of the library: each calls a hook when it is entered.
pub(crate) fn library_class(file: &mut ClassFile<'_>, number: &mut Number<'_>) -> Option<Vec<u8>> {
    let mut changed = Vec::new();
    for index in 0..file.methods.len() {
        let (name, descriptor) = (&file.methods[index].name, &file.methods[index].descriptor);
        let Some(entry) = library::entry(&file.name, name, descriptor) else { continue };
        let contents = file.methods[index].code()?;
        let code = Code::read(contents, &file.pool)?;
        let method = format!("{}.{name}", simple(&file.name));
        let line = code.lines().first().map_or(0, |(_, line)| *line);
        let site = number(Place { method, line, branched: true, is_constant: false, what: What::Plain });
        let mut emit = Emit { file, out: vec![op::ALOAD, entry.local] };
        emit.site(site)?;
        emit.call(entry.hook, "(Ljava/lang/Object;I)V")?;
        let entry = emit.out;
        let edits: Vec<(usize, Edit)> = code.starts()?.into_iter().map(|at| (at, Edit::default())).collect();
        let has_frames = file.major >= 50;
        let rewritten = code.with(&edits, &entry, code.max_locals, None, has_frames, &mut file.pool)?;
        changed.push((index, file.methods[index].flags, rewritten));
    }
    if changed.is_empty() { None } else { file.with(&changed) }
}

/// The name of a class as the language writes it, without its package.
pub(crate) fn simple(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Instructions being written.
struct Emit<'a, 'b> {
    file: &'a mut ClassFile<'b>,
    out: Vec<u8>,
}

impl Emit<'_, '_> {
    fn ops(&mut self, ops: &[u8]) {
        self.out.extend(ops);
    }

    fn site(&mut self, site: u32) -> Option<()> {
        let index = self.file.pool.add_integer(site)?;
        self.out.push(op::LDC_W);
        self.out.extend(index.to_be_bytes());
        Some(())
    }

    fn call(&mut self, name: &str, descriptor: &str) -> Option<()> {
        let index = self.file.pool.add_method(HOOKS, name, descriptor)?;
        self.out.push(op::INVOKESTATIC);
        self.out.extend(index.to_be_bytes());
        Some(())
    }

    /// Moves a local variable; `first` is the instruction for `int`.
    fn local(&mut self, first: u8, kind: char, index: u16) {
        let nth = match kind {
            'J' => 1,
            'F' => 2,
            'D' => 3,
            'L' => 4,
            _ => 0,
        };
        self.out.extend([op::WIDE, first + nth]);
        self.out.extend(index.to_be_bytes());
    }
}

/// A method being rewritten.
struct Work<'a, 'b, 'n> {
    file: &'a mut ClassFile<'b>,
    number: &'a mut Number<'n>,
    /// Class and method, as stacks show them.
    name: String,
    is_constructor: bool,
    lines: Vec<(u16, u16)>,
    branched: bool,
    /// Objects that were allocated and not initialised yet: their class, and whether a second reference lies on the stack.
    fresh: Vec<(String, bool)>,
    is_initialised: bool,
    /// The next place accesses a static field.
    is_static: bool,
    max_locals: u16,
    locals: u16,
}

fn method(file: &mut ClassFile<'_>, index: usize, contents: &[u8], number: &mut Number<'_>) -> Option<(u16, Vec<u8>)> {
    let (name, flags) = (file.methods[index].name.clone(), file.methods[index].flags);
    let code = Code::read(contents, &file.pool)?;
    let starts = code.starts()?;
    let mut labels = vec![false; code.bytes.len() + 1];
    for &at in &starts {
        for target in targets(code.bytes, at)? {
            labels[target] = true;
        }
    }
    for handler in &code.handlers {
        labels[usize::from(handler[2])] = true;
    }
    let shown = format!("{}.{name}", simple(&file.name));
    let is_static = flags & flag::STATIC != 0;
    let synchronized = flags & flag::SYNCHRONIZED != 0 && (is_static || !stores_this(code.bytes, &starts));
    let is_entry = library::is_called_by_library(&name);
    let major = file.major;
    let mut work = Work {
        file,
        number,
        name: shown,
        is_constructor: name == "<init>",
        lines: code.lines(),
        branched: true,
        fresh: Vec::new(),
        is_initialised: name != "<init>",
        is_static: false,
        max_locals: code.max_locals,
        locals: code.max_locals,
    };
    let entry = if synchronized { work.lock(is_static, true, 0)? } else { Vec::new() };
    let mut edits = Vec::new();
    for &at in &starts {
        work.branched |= labels[at];
        let opcode = code.bytes[at];
        let mut edit = work.edit(code.bytes, at)?;
        if matches!(opcode, op::IRETURN..=op::RETURN) {
            if synchronized {
                edit.before.extend(work.lock(is_static, false, at)?);
            }
            edit.before.extend(work.leave(&name, is_entry, at)?);
        }
        work.branched |= decides(opcode) || may_throw(opcode);
        edits.push((at, edit));
    }
    let finally = if synchronized { Some(work.finally(is_static)?) } else { None };
    let locals = work.locals;
    let rewritten = code.with(&edits, &entry, locals, finally.as_ref(), major >= 50, &mut work.file.pool)?;
    Some((if synchronized { flags & !flag::SYNCHRONIZED } else { flags }, rewritten))
}

/// Whether the code puts something else where `this` is.
fn stores_this(code: &[u8], starts: &[usize]) -> bool {
    starts.iter().any(|&at| {
        code[at] == op::ASTORE_0
            || code[at] == op::ASTORE && code[at + 1] == 0
            || code[at] == op::WIDE && code[at + 1] == op::ASTORE
    })
}

impl Work<'_, '_, '_> {
    fn line(&self, at: usize) -> u16 {
        let after = self.lines.partition_point(|&(start, _)| usize::from(start) <= at);
        after.checked_sub(1).map_or(0, |index| self.lines[index].1)
    }

    /// The number of a new place; what comes next is decided by nothing that was read before it.
    fn place(&mut self, at: usize, what: What) -> u32 {
        let branched = std::mem::take(&mut self.branched);
        let is_constant = std::mem::take(&mut self.is_static);
        let place = Place { method: self.name.clone(), line: self.line(at), branched, is_constant, what };
        (self.number)(place)
    }

    /// `ops`, then the number of the place, then a call.
    fn hook(&mut self, ops: &[u8], site: u32, name: &str, descriptor: &str) -> Option<Vec<u8>> {
        let mut emit = Emit { file: self.file, out: ops.to_vec() };
        emit.site(site)?;
        emit.call(name, descriptor)?;
        Some(emit.out)
    }

    /// Takes or gives up the lock of a synchronized method.
    fn lock(&mut self, is_static: bool, takes: bool, at: usize) -> Option<Vec<u8>> {
        let mut object = vec![op::ALOAD_0];
        if is_static {
            let name = self.file.name.clone();
            object = vec![op::LDC_W];
            object.extend(self.file.pool.add_class(&name)?.to_be_bytes());
        }
        let site = self.place(at, What::Plain);
        let name = if takes { "enter" } else { "exit" };
        let mut out = self.hook(&object, site, name, "(Ljava/lang/Object;I)V")?;
        out.extend(object);
        out.push(if takes { op::MONITORENTER } else { op::MONITOREXIT });
        Some(out)
    }

    fn finally(&mut self, is_static: bool) -> Option<Finally> {
        self.branched = true;
        let mut code = self.lock(is_static, false, 0)?;
        code.push(op::ATHROW);
        let name = self.file.name.clone();
        let locals = if is_static { Vec::new() } else { vec![self.file.pool.add_class(&name)?] };
        Some(Finally { code, locals, thrown: self.file.pool.add_class("java/lang/Throwable")? })
    }

    /// The method returns.
    fn leave(&mut self, name: &str, is_entry: bool, at: usize) -> Option<Vec<u8>> {
        if name == "<clinit>" {
            let site = self.place(at, What::Plain);
            return self.hook(&[], site, "initialised", "(I)V");
        }
        if is_entry {
            let mut emit = Emit { file: self.file, out: Vec::new() };
            emit.call("out", "()V")?;
            return Some(emit.out);
        }
        Some(Vec::new())
    }

    fn edit(&mut self, code: &[u8], at: usize) -> Option<Edit> {
        let opcode = code[at];
        match opcode {
            op::GETFIELD | op::PUTFIELD | op::GETSTATIC | op::PUTSTATIC => self.field(code, at),
            op::IALOAD..=op::SALOAD => {
                let site = self.place(at, What::Plain);
                let before = self.hook(&[op::DUP2], site, "load", "(Ljava/lang/Object;II)V")?;
                Some(Edit { before, ..Edit::default() })
            }
            op::IASTORE..=op::SASTORE => self.array_store(opcode, at),
            op::MONITORENTER | op::MONITOREXIT => {
                let site = self.place(at, What::Plain);
                let name = if opcode == op::MONITORENTER { "enter" } else { "exit" };
                let before = self.hook(&[op::DUP], site, name, "(Ljava/lang/Object;I)V")?;
                Some(Edit { before, ..Edit::default() })
            }
            op::NEW => {
                let class = self.file.pool.class(index(code, at))?;
                self.fresh.push((class, code.get(at + 3) == Some(&op::DUP)));
                Some(Edit::default())
            }
            op::NEWARRAY | op::ANEWARRAY | op::MULTIANEWARRAY => {
                let site = self.place(at, What::Plain);
                let after = self.hook(&[op::DUP], site, "alloc", "(Ljava/lang/Object;I)V")?;
                Some(Edit { after, ..Edit::default() })
            }
            op::INVOKEDYNAMIC => {
                let mut emit = Emit { file: self.file, out: Vec::new() };
                emit.call("out", "()V")?;
                Some(Edit { before: emit.out, ..Edit::default() })
            }
            op::INVOKEVIRTUAL..=op::INVOKEINTERFACE => self.invoke(code, at),
            _ => Some(Edit::default()),
        }
    }

    fn field(&mut self, code: &[u8], at: usize) -> Option<Edit> {
        let (opcode, field) = (code[at], self.file.pool.member(index(code, at))?);
        // Before a constructor has called another one there is no object that could be handed to a hook.
        if opcode == op::PUTFIELD && !self.is_initialised {
            return Some(Edit::default());
        }
        let kind = field.descriptor.chars().next()?;
        let is_wide = matches!(kind, 'J' | 'D');
        let is_own = field.class == self.file.name;
        self.is_static = matches!(opcode, op::GETSTATIC | op::PUTSTATIC);
        let site = self.place(at, What::Field(field));
        let mut before = Vec::new();
        if matches!(opcode, op::GETSTATIC | op::PUTSTATIC) && !is_own {
            // The class is initialised before the access is announced.
            before.push(op::GETSTATIC);
            before.extend(&code[at + 1..at + 3]);
            before.push(if is_wide { op::POP2 } else { op::POP });
        }
        before.extend(match (opcode, kind) {
            (op::GETFIELD, _) => self.hook(&[op::DUP], site, "get", "(Ljava/lang/Object;I)V")?,
            (op::GETSTATIC, _) => self.hook(&[], site, "getStatic", "(I)V")?,
            (op::PUTFIELD, 'J' | 'D') => {
                let ops = [op::DUP2_X1, op::POP2, op::DUP_X2];
                self.hook(&ops, site, &format!("put{kind}"), &format!("({kind}Ljava/lang/Object;I){kind}"))?
            }
            (op::PUTFIELD, _) => {
                let (letter, erased) = erased(kind);
                self.hook(&[op::DUP2], site, &format!("put{letter}"), &format!("(Ljava/lang/Object;{erased}I)V"))?
            }
            (_, 'J' | 'D') => self.hook(&[op::DUP2], site, &format!("putStatic{kind}"), &format!("({kind}I)V"))?,
            _ => {
                let (letter, erased) = erased(kind);
                self.hook(&[op::DUP], site, &format!("putStatic{letter}"), &format!("({erased}I)V"))?
            }
        });
        Some(Edit { before, ..Edit::default() })
    }

    fn array_store(&mut self, opcode: u8, at: usize) -> Option<Edit> {
        let (ops, kind) = match opcode {
            op::LASTORE => ([op::DUP2_X2, op::POP2, op::DUP2_X2], "J"),
            op::DASTORE => ([op::DUP2_X2, op::POP2, op::DUP2_X2], "D"),
            op::FASTORE => ([op::DUP_X2, op::POP, op::DUP2_X1], "F"),
            op::AASTORE => ([op::DUP_X2, op::POP, op::DUP2_X1], "Ljava/lang/Object;"),
            _ => ([op::DUP_X2, op::POP, op::DUP2_X1], "I"),
        };
        let site = self.place(at, What::Plain);
        let name = format!("store{}", &kind[..1]);
        let before = self.hook(&ops, site, &name, &format!("({kind}Ljava/lang/Object;II){kind}"))?;
        Some(Edit { before, ..Edit::default() })
    }

    fn invoke(&mut self, code: &[u8], at: usize) -> Option<Edit> {
        let (opcode, method) = (code[at], self.file.pool.member(index(code, at))?);
        if method.name == "<init>" {
            return self.constructed(&method, at);
        }
        let mut edit = Edit::default();
        match library::call(opcode == op::INVOKESTATIC, &method) {
            Call::Own => {}
            Call::Outside { returns_object } => {
                let mut emit = Emit { file: self.file, out: Vec::new() };
                emit.call("out", "()V")?;
                edit.before = emit.out;
                if returns_object {
                    let site = self.place(at, What::Plain);
                    edit.after = self.hook(&[op::DUP], site, "alloc", "(Ljava/lang/Object;I)V")?;
                }
            }
            Call::Replaced(name) => {
                let site = self.place(at, What::Call(method.clone()));
                let erase = |kind: char| if kind == 'L' { "Ljava/lang/Object;".into() } else { kind.to_string() };
                let arguments: String = argument_types(&method.descriptor)?.into_iter().map(erase).collect();
                let descriptor = format!("(Ljava/lang/Object;{arguments}I){}", return_type(&method.descriptor));
                let types: String = argument_types(&method.descriptor)?.into_iter().collect();
                edit.instead = Some(self.hook(&[], site, &format!("{name}{types}"), &descriptor)?);
            }
            Call::Watched => {
                let returns = return_type(&method.descriptor);
                let arguments = argument_types(&method.descriptor)?;
                let is_static = opcode == op::INVOKESTATIC;
                let site = self.place(at, What::Call(method));
                edit.before = if is_static {
                    self.hook(&[], site, "beforeStatic", "(I)V")?
                } else {
                    self.receiver(&arguments, site)?
                };
                edit.after = match returns {
                    'V' | 'F' | 'D' => self.hook(&[], site, "after", "(I)V")?,
                    'J' => self.hook(&[op::DUP2], site, "afterJ", "(JI)V")?,
                    'L' => self.hook(&[op::DUP], site, "afterL", "(Ljava/lang/Object;I)V")?,
                    _ => self.hook(&[op::DUP], site, "afterI", "(II)V")?,
                };
            }
        }
        Some(edit)
    }

    /// Hands the object whose method is called, and the first reference among its arguments, to a hook.
    fn receiver(&mut self, arguments: &[char], site: u32) -> Option<Vec<u8>> {
        let slots = Slots::of(arguments, self.max_locals)?;
        self.locals = self.locals.max(slots.end);
        let mut emit = Emit { file: self.file, out: Vec::new() };
        for (&kind, &slot) in arguments.iter().zip(&slots.each).rev() {
            emit.local(op::ISTORE, kind, slot);
        }
        emit.ops(&[op::DUP]);
        let first = arguments.iter().position(|&kind| kind == 'L');
        match first {
            Some(first) => emit.local(op::ILOAD, 'L', slots.each[first]),
            // No object.
            None => emit.ops(&[1]),
        }
        emit.site(site)?;
        emit.call("before", "(Ljava/lang/Object;Ljava/lang/Object;I)V")?;
        for (&kind, &slot) in arguments.iter().zip(&slots.each) {
            emit.local(op::ILOAD, kind, slot);
        }
        Some(emit.out)
    }

    /// A constructor has run.
    fn constructed(&mut self, method: &Member, at: usize) -> Option<Edit> {
        let mut ops = None;
        if self.fresh.last().is_some_and(|(class, _)| *class == method.class) {
            ops = self.fresh.pop().filter(|(_, twice)| *twice).map(|_| op::DUP);
        } else if self.is_constructor && !self.is_initialised {
            self.is_initialised = true;
            ops = Some(op::ALOAD_0);
        }
        let Some(ops) = ops else { return Some(Edit::default()) };
        let site = self.place(at, What::Plain);
        let after = self.hook(&[ops], site, "alloc", "(Ljava/lang/Object;I)V")?;
        Some(Edit { after, ..Edit::default() })
    }
}

/// The type that a hook takes for a field's: its letter, and its descriptor.
fn erased(kind: char) -> (char, &'static str) {
    match kind {
        'F' => ('F', "F"),
        'L' | '[' => ('L', "Ljava/lang/Object;"),
        _ => ('I', "I"),
    }
}

fn index(code: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([code[at + 1], code[at + 2]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hooks_fit_their_types() {
        assert_eq!((erased('Z'), erased('[').0, erased('F')), (('I', "I"), 'L', ('F', "F")));
        assert_eq!(simple("a/b/C$D"), "C$D");
    }
}
