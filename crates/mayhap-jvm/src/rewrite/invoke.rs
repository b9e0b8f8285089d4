//! What is inserted around calls.

use super::{Emit, VISIBLE, What, Work, index};
use crate::class::code::Edit;
use crate::class::instructions::op;
use crate::class::pool::Member;
use crate::classes;
use crate::descriptors::{Slots, argument_texts, argument_types, return_type};
use crate::library::{self, Call};

/// An argument that the called method may look into: which one, and which arguments say from where and how far.
struct Looked {
    argument: usize,
    range: Option<(usize, usize)>,
}

/// The arguments of a call into the library that it may look into.
fn looked_into(method: &Member) -> Option<Vec<Looked>> {
    if (method.class.as_str(), method.name.as_str()) == ("java/lang/System", "arraycopy") {
        let part = |argument, start| Looked { argument, range: Some((start, 4)) };
        return Some(vec![part(0, 1), part(2, 3)]);
    }
    let texts = argument_texts(&method.descriptor)?;
    let next_are_numbers = |at: usize| {
        texts.get(at + 1).is_some_and(|text| text == "I") && texts.get(at + 2).is_some_and(|text| text == "I")
    };
    let is_concat = method.name == "concat";
    let takes = |number: usize, text: &str| match text.starts_with('[') {
        true => !is_concat,
        false => !library::is_inert(text) && library::on_argument(&method.class, &method.name, number).is_some(),
    };
    let looked = |(argument, text): (usize, &String)| Looked {
        argument,
        range: (text.starts_with('[') && next_are_numbers(argument)).then_some((argument + 1, argument + 2)),
    };
    Some(texts.iter().enumerate().filter(|(number, text)| takes(*number, text)).map(looked).collect())
}

impl Work<'_, '_, '_> {
    pub(super) fn invoke(&mut self, code: &[u8], at: usize) -> Option<Edit> {
        let (opcode, method) = (code[at], self.file.pool.member(index(code, at))?);
        let is_static = opcode == op::INVOKESTATIC;
        if method.name == "<init>" {
            return self.construct(&method, at);
        }
        self.is_super = opcode == op::INVOKESPECIAL && method.class != self.file.name;
        if library::names_field(&method) {
            return self.naming(method, at, is_static);
        }
        match library::call(is_static, &method) {
            Call::Own if !is_static && opcode != op::INVOKEINTERFACE && self.may_be_inherited(&method) => {
                self.watched(method, at, false)
            }
            Call::Own if library::has_frame(&method) => self.framed(at),
            Call::Own => self.library_call(method, at, is_static, None),
            Call::Outside { returns_object } => {
                let mut edit = self.library_call(method.clone(), at, is_static, None)?;
                let mut emit = Emit { file: self.file, out: Vec::new() };
                emit.call("out", "()V")?;
                edit.before.extend(emit.out);
                if (method.class.as_str(), method.name.as_str()) == ("java/lang/Class", "getDeclaredFields") {
                    let mut emit = Emit { file: self.file, out: Vec::new() };
                    emit.call("visible", VISIBLE)?;
                    edit.after.extend(emit.out);
                }
                if returns_object {
                    let site = self.place(at, What::Call(method));
                    edit.after.extend(self.hook(&[op::DUP], site, "made", "(Ljava/lang/Object;I)V")?);
                }
                Some(edit)
            }
            Call::Replaced(name) => {
                let site = self.place(at, What::Call(method.clone()));
                let erase = |kind: char| if kind == 'L' { "Ljava/lang/Object;".into() } else { kind.to_string() };
                let arguments: String = argument_types(&method.descriptor)?.into_iter().map(erase).collect();
                let descriptor = format!("(Ljava/lang/Object;{arguments}I){}", return_type(&method.descriptor));
                let types: String = argument_types(&method.descriptor)?.into_iter().collect();
                let instead = Some(self.hook(&[], site, &format!("{name}{types}"), &descriptor)?);
                Some(Edit { instead, ..Edit::default() })
            }
            Call::Watched => self.watched(method, at, is_static),
        }
    }

    /// A call that makes something that accesses a field, whose class and name are arguments.
    fn naming(&mut self, method: Member, at: usize, is_static: bool) -> Option<Edit> {
        let arguments = argument_types(&method.descriptor)?;
        let name = argument_texts(&method.descriptor)?.iter().position(|text| text == "Ljava/lang/String;")?;
        let slots = Slots::of(&arguments, self.max_locals)?;
        self.locals = self.locals.max(slots.end);
        let site = self.place(at, What::Call(method.clone()));
        // What comes before a call on an object puts the arguments into the same variables.
        let mut edit = if is_static { Edit::default() } else { self.watched(method, at, false)? };
        let mut emit = Emit { file: self.file, out: Vec::new() };
        if is_static {
            for (&kind, &slot) in arguments.iter().zip(&slots.each).rev() {
                emit.local(op::ISTORE, kind, slot);
            }
            for (&kind, &slot) in arguments.iter().zip(&slots.each) {
                emit.local(op::ILOAD, kind, slot);
            }
            edit.before = std::mem::take(&mut emit.out);
        }
        emit.ops(&[op::DUP]);
        emit.local(op::ILOAD, 'L', slots.each[0]);
        emit.local(op::ILOAD, 'L', slots.each[name]);
        emit.site(site)?;
        emit.call("named", "(Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;I)V")?;
        edit.after.extend(emit.out);
        Some(edit)
    }

    /// A call whose target is computed: text is put together, or a lambda is made.
    pub(super) fn dynamic(&mut self, code: &[u8], at: usize) -> Option<Edit> {
        let (_, descriptor) = self.file.pool.dynamic_call(index(code, at))?;
        let is_text = descriptor.ends_with(")Ljava/lang/String;");
        let mut edit = Edit::default();
        if is_text {
            let method = Member { class: "java/lang/String".into(), name: "concat".into(), descriptor };
            edit = self.library_call(method, at, true, None)?;
        }
        let mut emit = Emit { file: self.file, out: Vec::new() };
        // Putting text together does not wait, so that what was recorded of its parts stays true.
        emit.call(if is_text { "aside" } else { "out" }, "()V")?;
        edit.before.extend(emit.out);
        Some(edit)
    }

    /// One hook comes before the call, one after it.
    fn watched(&mut self, method: Member, at: usize, is_static: bool) -> Option<Edit> {
        let returns = return_type(&method.descriptor);
        let site = self.place(at, What::Call(method.clone()));
        let is_attempt = method.name == "tryLock" && !is_static;
        let mut edit = self.library_call(method, at, is_static, Some(site))?;
        edit.after.extend(match returns {
            'Z' if is_attempt => self.hook(&[], site, "afterTry", "(II)Z")?,
            'V' | 'F' | 'D' => self.hook(&[], site, "after", "(I)V")?,
            'J' => self.hook(&[op::DUP2], site, "afterJ", "(JI)V")?,
            'L' => self.hook(&[op::DUP], site, "afterL", "(Ljava/lang/Object;I)V")?,
            _ => self.hook(&[op::DUP], site, "afterI", "(II)V")?,
        });
        Some(edit)
    }

    /// Whether a method that the code names as one of a class of the program may be one of a class of the library that it extends.
    fn may_be_inherited(&self, method: &Member) -> bool {
        if library::is_library(&method.class) || method.class.starts_with('[') {
            return false;
        }
        let mut class = method.class.clone();
        if class == self.file.name {
            if self.file.methods.iter().any(|own| own.name == method.name && own.descriptor == method.descriptor) {
                return false;
            }
            class.clone_from(&self.file.superclass);
        }
        match classes::named(&class) {
            Some(known) => !known.declares(method) && known.extends_library(),
            None => class != "java/lang/Object",
        }
    }

    /// A call of the program's own code: stacks have it.
    fn framed(&mut self, at: usize) -> Option<Edit> {
        let site = self.place(at, What::Plain);
        let before = self.hook(&[], site, "called", "(I)V")?;
        let after = self.hook(&[], site, "returned", "(I)V")?;
        Some(Edit { before, instead: None, after })
    }

    /// A call into the library. Hands the arguments that it may look into to a hook; if the call itself has a place, also the object whose method is
    /// called, with the first reference among its arguments.
    fn library_call(&mut self, method: Member, at: usize, is_static: bool, site: Option<u32>) -> Option<Edit> {
        let looked = looked_into(&method)?;
        let is_on_object = site.is_some() && !is_static;
        if looked.is_empty() && !is_on_object {
            let before = match site {
                Some(site) => self.hook(&[], site, "beforeStatic", "(I)V")?,
                None => Vec::new(),
            };
            return Some(Edit { before, ..Edit::default() });
        }
        let arguments = argument_types(&method.descriptor)?;
        let has_limit =
            method.descriptor.contains("JLjava/util/concurrent/TimeUnit;)") && method.name.starts_with("try");
        let slots = Slots::of(&arguments, self.max_locals)?;
        self.locals = self.locals.max(slots.end);
        let second = if looked.is_empty() { 0 } else { self.place(at, What::Call(method)) };
        let mut emit = Emit { file: self.file, out: Vec::new() };
        for (&kind, &slot) in arguments.iter().zip(&slots.each).rev() {
            emit.local(op::ISTORE, kind, slot);
        }
        emit.look(&looked, &slots, second, "argument")?;
        if let (Some(site), true) = (site.filter(|_| is_on_object), has_limit) {
            emit.local(op::ILOAD, 'J', slots.each[slots.each.len() - 2]);
            emit.local(op::ILOAD, 'L', slots.each[slots.each.len() - 1]);
            emit.site(site)?;
            emit.call("limit", "(JLjava/lang/Object;I)V")?;
        }
        match site {
            Some(site) if is_on_object => {
                emit.ops(&[op::DUP]);
                match arguments.iter().position(|&kind| kind == 'L') {
                    Some(first) => emit.local(op::ILOAD, 'L', slots.each[first]),
                    None => emit.ops(&[op::ACONST_NULL]),
                }
                emit.site(site)?;
                emit.call("before", "(Ljava/lang/Object;Ljava/lang/Object;I)V")?;
            }
            Some(site) => {
                emit.site(site)?;
                emit.call("beforeStatic", "(I)V")?;
            }
            None => {}
        }
        for (&kind, &slot) in arguments.iter().zip(&slots.each) {
            emit.local(op::ILOAD, kind, slot);
        }
        let before = std::mem::take(&mut emit.out);
        emit.look(&looked, &slots, second, "argumentAfter")?;
        let after = emit.out;
        Some(Edit { before, instead: None, after })
    }

    /// A constructor is called.
    fn construct(&mut self, method: &Member, at: usize) -> Option<Edit> {
        let mut edit = match library::is_library(&method.class) {
            true => self.library_call(method.clone(), at, true, None)?,
            false => self.framed(at)?,
        };
        let mut ops = None;
        if self.fresh.last().is_some_and(|(class, _)| *class == method.class) {
            ops = self.fresh.pop().filter(|(_, twice)| *twice).map(|_| op::DUP);
        } else if self.is_constructor && !self.is_initialised {
            self.is_initialised = true;
            ops = Some(op::ALOAD_0);
        }
        if let Some(ops) = ops {
            let site = self.place(at, What::Plain);
            edit.after.extend(self.hook(&[ops], site, "alloc", "(Ljava/lang/Object;I)V")?);
        }
        Some(edit)
    }
}

impl Emit<'_, '_> {
    /// Hands arguments that lie in local variables to a hook.
    fn look(&mut self, looked: &[Looked], slots: &Slots, site: u32, hook: &str) -> Option<()> {
        for Looked { argument, range } in looked {
            self.local(op::ILOAD, 'L', slots.each[*argument]);
            match range {
                Some((start, count)) => {
                    self.local(op::ILOAD, 'I', slots.each[*start]);
                    self.local(op::ILOAD, 'I', slots.each[*count]);
                }
                None => self.ops(&[op::ICONST_0, op::ICONST_M1]),
            }
            // Which argument it is.
            self.ops(&[op::BIPUSH, u8::try_from(*argument).ok()?]);
            self.site(site)?;
            self.call(hook, "(Ljava/lang/Object;IIII)V")?;
        }
        Some(())
    }
}
