//! A class file as a whole: its parts are found, and those that change are put in the place of the others.

use std::collections::HashSet;

use super::pool::Pool;
use super::{Bytes, put2, put4};

/// Bits of access flags.
pub(crate) mod flag {
    pub(crate) const PUBLIC: u16 = 0x1;
    pub(crate) const PRIVATE: u16 = 0x2;
    pub(crate) const STATIC: u16 = 0x8;
    pub(crate) const FINAL: u16 = 0x10;
    pub(crate) const SYNCHRONIZED: u16 = 0x20;
    pub(crate) const VOLATILE: u16 = 0x40;
    pub(crate) const TRANSIENT: u16 = 0x80;
    pub(crate) const NATIVE: u16 = 0x100;
    pub(crate) const INTERFACE: u16 = 0x200;
    pub(crate) const SYNTHETIC: u16 = 0x1000;
}

/// A field or method.
pub(crate) struct Item<'a> {
    pub(crate) flags: u16,
    pub(crate) name: String,
    pub(crate) descriptor: String,
    name_index: u16,
    descriptor_index: u16,
    attributes: Vec<(String, u16, &'a [u8])>,
}

impl<'a> Item<'a> {
    pub(crate) fn code(&self) -> Option<&'a [u8]> {
        self.attributes.iter().find(|(name, _, _)| name == "Code").map(|(_, _, contents)| *contents)
    }

    pub(crate) fn is_annotated(&self) -> bool {
        self.attributes.iter().any(|(name, _, _)| name == "RuntimeVisibleAnnotations")
    }
}

/// A class file.
pub(crate) struct ClassFile<'a> {
    bytes: &'a [u8],
    pub(crate) major: u16,
    pub(crate) pool: Pool<'a>,
    pool_at: (usize, usize),
    pub(crate) name: String,
    pub(crate) superclass: String,
    pub(crate) is_interface: bool,
    pub(crate) has_interfaces: bool,
    pub(crate) fields: Vec<Item<'a>>,
    pub(crate) methods: Vec<Item<'a>>,
    /// Where the fields begin.
    fields_at: usize,
    /// From where to where the methods are.
    methods_at: (usize, usize),
    /// A field that was added: its flags, its name and its descriptor.
    added_field: Option<[u16; 3]>,
    pub(crate) source: String,
    /// What the class gives to the methods that make lambdas: for each of those, where its arguments are in the file.
    bootstraps: Vec<Vec<usize>>,
    /// Arguments of them that have become other constants.
    patches: Vec<(usize, u16)>,
    /// Names and descriptors of the class's own methods that they name.
    referred: HashSet<String>,
}

fn attributes<'a>(bytes: &mut Bytes<'a>, pool: &Pool<'_>) -> Option<Vec<(String, u16, &'a [u8])>> {
    let mut all = Vec::new();
    for _ in 0..bytes.u2()? {
        let name = bytes.u2()?;
        let length = bytes.u4()? as usize;
        all.push((pool.text(name)?, name, bytes.take(length)?));
    }
    Some(all)
}

fn items<'a>(bytes: &mut Bytes<'a>, pool: &Pool<'_>) -> Option<Vec<Item<'a>>> {
    let mut all = Vec::new();
    for _ in 0..bytes.u2()? {
        let (flags, name_index, descriptor_index) = (bytes.u2()?, bytes.u2()?, bytes.u2()?);
        let (name, descriptor) = (pool.text(name_index)?, pool.text(descriptor_index)?);
        all.push(Item { flags, name, descriptor, name_index, descriptor_index, attributes: attributes(bytes, pool)? });
    }
    Some(all)
}

impl<'a> ClassFile<'a> {
    pub(crate) fn read(all: &'a [u8]) -> Option<ClassFile<'a>> {
        let mut bytes = Bytes::new(all);
        if bytes.u4()? != 0xcafe_babe {
            return None;
        }
        bytes.u2()?;
        let major = bytes.u2()?;
        let pool_start = bytes.at;
        let pool = Pool::read(all, &mut bytes)?;
        let pool_at = (pool_start, bytes.at);
        let (flags, this, superclass) = (bytes.u2()?, bytes.u2()?, bytes.u2()?);
        let interfaces = usize::from(bytes.u2()?);
        bytes.take(2 * interfaces)?;
        let fields_at = bytes.at;
        let fields = items(&mut bytes, &pool)?;
        let start = bytes.at;
        let methods = items(&mut bytes, &pool)?;
        let methods_at = (start, bytes.at);
        let own = attributes(&mut bytes, &pool)?;
        let named = |wanted: &str| own.iter().find(|(name, _, _)| name == wanted).map(|(_, _, contents)| *contents);
        let source = named("SourceFile").and_then(|contents| pool.text(Bytes::new(contents).u2()?)).unwrap_or_default();
        let bootstraps = named("BootstrapMethods").map_or(Some(Vec::new()), |contents| {
            bootstrap_arguments(contents, contents.as_ptr() as usize - all.as_ptr() as usize)
        })?;
        let (name, superclass) = (pool.class(this)?, pool.class(superclass).unwrap_or_default());
        let (is_interface, has_interfaces) = (flags & flag::INTERFACE != 0, interfaces > 0);
        let patches = Vec::new();
        let handle = |at: &usize| pool.handle(u16::from_be_bytes([all[*at], all[*at + 1]]));
        let named = bootstraps.iter().flatten().filter_map(handle).map(|(_, _, method)| method);
        let referred =
            named.filter(|method| method.class == name).map(|method| method.name + &method.descriptor).collect();
        Some(ClassFile {
            bytes: all,
            major,
            pool,
            pool_at,
            name,
            superclass,
            is_interface,
            has_interfaces,
            fields,
            methods,
            fields_at,
            methods_at,
            added_field: None,
            source,
            bootstraps,
            patches,
            referred,
        })
    }

    /// The arguments of the method that makes lambdas with this number: where each is in the file, and its constant.
    pub(crate) fn bootstrap(&self, number: u16) -> Vec<(usize, u16)> {
        let places = self.bootstraps.get(usize::from(number)).map_or(&[][..], Vec::as_slice);
        let constant = |&at: &usize| {
            let patched = self.patches.iter().find(|(other, _)| *other == at).map(|(_, constant)| *constant);
            (at, patched.unwrap_or_else(|| u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]])))
        };
        places.iter().map(constant).collect()
    }

    /// Whether a field of the class's objects never changes.
    pub(crate) fn is_final(&self, name: &str, descriptor: &str) -> bool {
        let is_it = |field: &&Item<'_>| field.name == name && field.descriptor == descriptor;
        self.fields.iter().find(is_it).is_some_and(|field| field.flags & flag::FINAL != 0)
    }

    /// Whether a lambda or a reference to a method names this method of the class.
    pub(crate) fn refers_to(&self, name: &str, descriptor: &str) -> bool {
        self.referred.contains(&format!("{name}{descriptor}"))
    }

    /// Puts another constant into the place of an argument.
    pub(crate) fn patch(&mut self, at: usize, constant: u16) {
        self.patches.push((at, constant));
    }

    /// Adds a private field for the machine's own use to the class's objects.
    pub(crate) fn add_field(&mut self, name: &str, descriptor: &str) -> Option<()> {
        let flags = flag::PRIVATE | flag::TRANSIENT | flag::SYNTHETIC;
        self.added_field = Some([flags, self.pool.named(name)?, self.pool.named(descriptor)?]);
        Some(())
    }

    /// Whether [`Self::add_field`] has added a field.
    pub(crate) fn has_added_field(&self) -> bool {
        self.added_field.is_some()
    }

    /// Adds a private static method with this code.
    pub(crate) fn add_method(&mut self, name: String, descriptor: String, code: Vec<u8>) -> Option<()> {
        let (name_index, descriptor_index) = (self.pool.named(&name)?, self.pool.named(&descriptor)?);
        let attributes = vec![("Code".to_owned(), self.pool.named("Code")?, &*code.leak())];
        let flags = flag::PRIVATE | flag::STATIC | flag::SYNTHETIC;
        self.methods.push(Item { flags, name, descriptor, name_index, descriptor_index, attributes });
        Some(())
    }

    /// The file with other code for some methods: their number, their flags and the contents of the code.
    pub(crate) fn with(&self, changed: &[(usize, u16, Vec<u8>)]) -> Option<Vec<u8>> {
        let mut out = self.bytes[..self.pool_at.0].to_vec();
        self.pool.write(self.pool_at.0, self.pool_at.1, &mut out);
        out.extend(&self.bytes[self.pool_at.1..self.fields_at]);
        put2(&mut out, u16::try_from(self.fields.len() + usize::from(self.added_field.is_some())).ok()?);
        out.extend(&self.bytes[self.fields_at + 2..self.methods_at.0]);
        if let Some(added) = self.added_field {
            // It has no attributes.
            added.into_iter().chain([0]).for_each(|value| put2(&mut out, value));
        }
        put2(&mut out, self.methods.len() as u16);
        for (number, method) in self.methods.iter().enumerate() {
            let change = changed.iter().find(|(other, _, _)| *other == number);
            put2(&mut out, change.map_or(method.flags, |(_, flags, _)| *flags));
            put2(&mut out, method.name_index);
            put2(&mut out, method.descriptor_index);
            put2(&mut out, method.attributes.len() as u16);
            for (name, index, contents) in &method.attributes {
                let contents = match change {
                    Some((_, _, code)) if name == "Code" => code,
                    _ => *contents,
                };
                put2(&mut out, *index);
                put4(&mut out, u32::try_from(contents.len()).ok()?);
                out.extend(contents);
            }
        }
        let tail = out.len();
        out.extend(&self.bytes[self.methods_at.1..]);
        for (at, constant) in &self.patches {
            let place = tail + at - self.methods_at.1;
            out.get_mut(place..place + 2)?.copy_from_slice(&constant.to_be_bytes());
        }
        Some(out)
    }
}

/// Where in the file the arguments of each method that makes lambdas are.
fn bootstrap_arguments(contents: &[u8], start: usize) -> Option<Vec<Vec<usize>>> {
    let mut bytes = Bytes::new(contents);
    let mut all = Vec::new();
    for _ in 0..bytes.u2()? {
        bytes.u2()?;
        let count = usize::from(bytes.u2()?);
        all.push((0..count).map(|nth| start + bytes.at + 2 * nth).collect());
        bytes.take(2 * count)?;
    }
    Some(all)
}

/// A field or method of a class that is made here.
pub(crate) struct Made<'a> {
    pub(crate) flags: u16,
    pub(crate) name: &'a str,
    pub(crate) descriptor: &'a str,
    /// The contents of its code.
    pub(crate) code: Option<Vec<u8>>,
}

impl Made<'_> {
    fn write(&self, pool: &mut Pool<'_>, out: &mut Vec<u8>) -> Option<()> {
        for value in [self.flags, pool.named(self.name)?, pool.named(self.descriptor)?, self.code.is_some().into()] {
            put2(out, value);
        }
        if let Some(code) = &self.code {
            put2(out, pool.named("Code")?);
            put4(out, u32::try_from(code.len()).ok()?);
            out.extend(code);
        }
        Some(())
    }
}

/// A public class for the machine itself to load. Its methods' code needs no frames: it has the version of Java 5.
pub(crate) fn of_methods(
    mut pool: Pool<'static>,
    (name, superclass): (&str, &str),
    fields: &[Made<'_>],
    methods: &[Made<'_>],
) -> Option<Vec<u8>> {
    let (this, superclass) = (pool.add_class(name)?, pool.add_class(superclass)?);
    let mut body = Vec::new();
    // Public, final, with today's meaning of super.
    for value in [0x31, this, superclass, 0] {
        put2(&mut body, value);
    }
    for members in [fields, methods] {
        put2(&mut body, u16::try_from(members.len()).ok()?);
        members.iter().try_for_each(|member| member.write(&mut pool, &mut body))?;
    }
    put2(&mut body, 0);
    let mut out = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 49];
    pool.write(0, 2, &mut out);
    out.extend(body);
    Some(out)
}
