//! What is inserted into the code of classes: calls of the static native methods of one class that the agent defines.

mod branches;
mod invoke;

use crate::class::code::{Code, Edit, Finally};
use crate::class::file::{ClassFile, flag};
use crate::class::instructions::{op, targets};
use crate::places::{Place, What, simple};
use crate::{library, references};
use branches::Branches;

/// The class whose methods the inserted code calls. It lies in a package that every class may use.
pub(crate) const HOOKS: &str = "java/lang/Mayhap";

/// The type of the method that leaves the field out which was added to a class.
pub(crate) const VISIBLE: &str = "([Ljava/lang/reflect/Field;)[Ljava/lang/reflect/Field;";

/// Gives each place its number.
pub(crate) type Number<'a> = dyn FnMut(Place) -> u32 + 'a;

/// Rewrites a class of the program; `None` where nothing is to change. Methods that would become too long stay as they are: `skipped` has them.
pub(crate) fn class(file: &mut ClassFile<'_>, number: &mut Number<'_>, skipped: &mut Vec<String>) -> Option<Vec<u8>> {
    references::wrap(file)?;
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
        let site =
            number(Place { method, line, branched: true, is_super: false, is_constant: false, what: What::Plain });
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
    /// The instruction calls a method of a class that the own class extends.
    is_super: bool,
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
    let mut handlers = vec![false; code.bytes.len() + 1];
    for handler in &code.handlers {
        handlers[usize::from(handler[2])] = true;
    }
    let shown = format!("{}.{}", simple(&file.name), references::shown(&name));
    let is_static = flags & flag::STATIC != 0;
    let bracket = Bracket {
        is_static,
        is_synchronized: flags & flag::SYNCHRONIZED != 0 && (is_static || !stores_this(code.bytes, &starts)),
        is_entered: is_called_by_library(file, index),
    };
    let sees_initialised = (is_static || name == "<init>") && may_have_initialiser(file);
    let is_task = name == "beforeExecute" && file.methods[index].descriptor == BEFORE_EXECUTE;
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
        is_super: false,
        max_locals: code.max_locals,
        locals: code.max_locals,
    };
    let mut entry = work.begin(&bracket)?;
    if sees_initialised {
        let site = work.place(0, What::Plain);
        entry.extend(work.hook(&[], site, "initialises", "(I)V")?);
    }
    if is_task {
        let site = work.place(0, What::Plain);
        entry.extend(work.hook(&[op::ALOAD_0 + 2], site, "taken", "(Ljava/lang/Object;I)V")?);
    }
    let mut edits = Vec::new();
    let mut branches = Branches::new(!is_static && !stores_this(code.bytes, &starts));
    for &at in &starts {
        let opcode = code.bytes[at];
        let (before, after) = branches.at(code.bytes, at, labels[at]);
        work.branched |= labels[at] || before;
        let mut edit = work.edit(code.bytes, at)?;
        if matches!(opcode, op::IRETURN..=op::RETURN) {
            if name == "<clinit>" {
                let site = work.place(at, What::Plain);
                edit.before.extend(work.hook(&[], site, "initialised", "(I)V")?);
            }
            edit.before.extend(work.end(&bracket, at)?);
        }
        if handlers[at] {
            let site = work.place(at, What::Plain);
            let mut caught = work.hook(&[], site, "caught", "(I)V")?;
            caught.append(&mut edit.before);
            edit.before = caught;
        }
        work.branched |= after;
        edits.push((at, edit));
    }
    let finally = if bracket.has_end() { Some(work.finally(&bracket)?) } else { None };
    let locals = work.locals;
    let rewritten = code.with(&edits, &entry, locals, finally.as_ref(), major >= 50, &mut work.file.pool)?;
    Some((if bracket.is_synchronized { flags & !flag::SYNCHRONIZED } else { flags }, rewritten))
}

/// The method by which executors announce a task.
const BEFORE_EXECUTE: &str = "(Ljava/lang/Thread;Ljava/lang/Runnable;)V";

/// What a method does when it begins and, however it ends, undoes.
struct Bracket {
    is_static: bool,
    /// It takes a lock.
    is_synchronized: bool,
    /// The library may call it.
    is_entered: bool,
}

impl Bracket {
    fn has_end(&self) -> bool {
        self.is_synchronized || self.is_entered
    }
}

/// Whether the library may call a method: what lambdas and references name, and what may stand for a method of another class.
fn is_called_by_library(file: &ClassFile<'_>, index: usize) -> bool {
    let method = &file.methods[index];
    let name = method.name.as_str();
    let is_named = name == "main"
        || name.starts_with("lambda$")
        || name.starts_with(references::PREFIX)
        || ["toString", "equals", "hashCode", "compareTo", "finalize", "run", "call"].contains(&name);
    let overrides = file.superclass != "java/lang/Object" || file.has_interfaces || file.is_interface;
    let is_hidden = method.flags & (flag::STATIC | flag::PRIVATE) != 0;
    let is_code = !name.starts_with('<');
    is_code
        && (is_named || overrides && !is_hidden || method.is_annotated() || file.refers_to(name, &method.descriptor))
}

/// Whether the class or one that it extends may have an initialiser.
fn may_have_initialiser(file: &ClassFile<'_>) -> bool {
    file.methods.iter().any(|method| method.name == "<clinit>") || !library::is_library(&file.superclass)
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
        let (method, line, is_super) = (self.name.clone(), self.line(at), self.is_super);
        let place = Place { method, line, branched, is_super, is_constant, what };
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

    /// The method begins.
    fn begin(&mut self, bracket: &Bracket) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        if bracket.is_entered {
            let site = self.place(0, What::Plain);
            out = self.hook(&[], site, "entered", "(I)V")?;
        }
        if bracket.is_synchronized {
            out.extend(self.lock(bracket.is_static, true, 0)?);
        }
        Some(out)
    }

    /// The method ends.
    fn end(&mut self, bracket: &Bracket, at: usize) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        if bracket.is_synchronized {
            out = self.lock(bracket.is_static, false, at)?;
        }
        if bracket.is_entered {
            let site = self.place(at, What::Plain);
            out.extend(self.hook(&[], site, "left", "(I)V")?);
        }
        Some(out)
    }

    fn finally(&mut self, bracket: &Bracket) -> Option<Finally> {
        self.branched = true;
        let mut code = self.end(bracket, 0)?;
        code.push(op::ATHROW);
        let name = self.file.name.clone();
        let needs_this = bracket.is_synchronized && !bracket.is_static;
        let locals = if needs_this { vec![self.file.pool.add_class(&name)?] } else { Vec::new() };
        Some(Finally { code, locals, thrown: self.file.pool.add_class("java/lang/Throwable")? })
    }

    fn edit(&mut self, code: &[u8], at: usize) -> Option<Edit> {
        let opcode = code[at];
        self.is_super = false;
        match opcode {
            op::GETFIELD | op::PUTFIELD | op::GETSTATIC | op::PUTSTATIC => self.field(code, at),
            op::IALOAD..=op::SALOAD => {
                let site = self.place(at, What::Plain);
                let kind = &"IJFDLBCS"[usize::from(opcode - op::IALOAD)..][..1];
                // What the element holds is read once more, and handed to the hook.
                let (_, erased) = erased(kind.chars().next()?);
                let descriptor = format!("(Ljava/lang/Object;I{erased}I)V");
                let before = self.hook(&[op::DUP2, op::DUP2, opcode], site, &format!("load{kind}"), &descriptor)?;
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
            op::INVOKEDYNAMIC => self.dynamic(code, at),
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
        let is_static = matches!(opcode, op::GETSTATIC | op::PUTSTATIC);
        // The next place with a hook also stands for a branch before this one. A static field shows that its class is initialised.
        if !is_static && field.class == self.file.name && self.file.is_final(&field.name, &field.descriptor) {
            return Some(Edit::default());
        }
        let kind = field.descriptor.chars().next()?;
        let is_wide = matches!(kind, 'J' | 'D');
        let is_own = field.class == self.file.name;
        self.is_static = is_static;
        let site = self.place(at, What::Field(field));
        let mut before = Vec::new();
        if opcode == op::PUTSTATIC && !is_own {
            // The class is initialised before the access is announced.
            before.push(op::GETSTATIC);
            before.extend(&code[at + 1..at + 3]);
            before.push(if is_wide { op::POP2 } else { op::POP });
        }
        // What is about to be read is read once more, and handed to the hook.
        let read = [opcode, code[at + 1], code[at + 2]];
        let (letter, erased) = erased(kind);
        before.extend(match (opcode, kind) {
            (op::GETFIELD, _) => {
                let ops = [&[op::DUP, op::DUP][..], &read].concat();
                self.hook(&ops, site, &format!("get{letter}"), &format!("(Ljava/lang/Object;{erased}I)V"))?
            }
            (op::GETSTATIC, _) => self.hook(&read, site, &format!("getStatic{letter}"), &format!("({erased}I)V"))?,
            (op::PUTFIELD, 'J' | 'D') => {
                let ops = [op::DUP2_X1, op::POP2, op::DUP_X2];
                self.hook(&ops, site, &format!("put{kind}"), &format!("({kind}Ljava/lang/Object;I){kind}"))?
            }
            (op::PUTFIELD, _) => {
                self.hook(&[op::DUP2], site, &format!("put{letter}"), &format!("(Ljava/lang/Object;{erased}I)V"))?
            }
            (_, 'J' | 'D') => self.hook(&[op::DUP2], site, &format!("putStatic{kind}"), &format!("({kind}I)V"))?,
            _ => self.hook(&[op::DUP], site, &format!("putStatic{letter}"), &format!("({erased}I)V"))?,
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
}

/// The type that a hook takes for a field's: its letter, and its descriptor.
fn erased(kind: char) -> (char, &'static str) {
    match kind {
        'F' => ('F', "F"),
        'J' => ('J', "J"),
        'D' => ('D', "D"),
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
