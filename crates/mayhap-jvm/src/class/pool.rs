//! The constant pool: read where it is asked about, and added to.

use std::collections::HashMap;

use super::{Bytes, put2, put4};

/// What a reference to a field or method names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) descriptor: String,
}

/// A class file's constants, and those that are added.
pub(crate) struct Pool<'a> {
    bytes: &'a [u8],
    /// Where the contents of each constant are, after its tag.
    entries: Vec<(u8, usize)>,
    added: Vec<u8>,
    count: usize,
    known: HashMap<Vec<u8>, u16>,
    /// The texts among those that were added.
    texts: HashMap<u16, String>,
}

const UTF8: u8 = 1;
const INTEGER: u8 = 3;
const LONG: u8 = 5;
const CLASS: u8 = 7;
const TEXT: u8 = 8;
const FIELD: u8 = 9;
const METHOD: u8 = 10;
const INTERFACE_METHOD: u8 = 11;
const NAME_AND_TYPE: u8 = 12;
const HANDLE: u8 = 15;
const DYNAMIC_CALL: u8 = 18;

impl<'a> Pool<'a> {
    /// Reads the constants that begin at `bytes.at`.
    pub(crate) fn read(all: &'a [u8], bytes: &mut Bytes<'a>) -> Option<Pool<'a>> {
        let count = usize::from(bytes.u2()?);
        let mut entries = vec![(0, 0)];
        while entries.len() < count {
            let tag = bytes.u1()?;
            entries.push((tag, bytes.at));
            let length = match tag {
                UTF8 => usize::from(bytes.u2()?),
                INTEGER | 4 | FIELD | METHOD | INTERFACE_METHOD | NAME_AND_TYPE | 17 | DYNAMIC_CALL => 4,
                LONG | 6 => 8,
                CLASS | TEXT | 16 | 19 | 20 => 2,
                HANDLE => 3,
                _ => return None,
            };
            bytes.take(length)?;
            // These take two numbers.
            if matches!(tag, LONG | 6) {
                entries.push((0, 0));
            }
        }
        Some(Pool { bytes: all, entries, added: Vec::new(), count, known: HashMap::new(), texts: HashMap::new() })
    }

    fn at(&self, index: u16, tag: u8) -> Option<Bytes<'a>> {
        let &(found, at) = self.entries.get(usize::from(index))?;
        let mut bytes = Bytes::new(self.bytes);
        bytes.at = at;
        (found == tag).then_some(bytes)
    }

    pub(crate) fn text(&self, index: u16) -> Option<String> {
        if let Some(added) = self.texts.get(&index) {
            return Some(added.clone());
        }
        let mut bytes = self.at(index, UTF8)?;
        let length = bytes.u2()?;
        Some(String::from_utf8_lossy(bytes.take(length.into())?).into_owned())
    }

    pub(crate) fn class(&self, index: u16) -> Option<String> {
        self.text(self.at(index, CLASS)?.u2()?)
    }

    /// A field, or a method of a class or an interface.
    pub(crate) fn member(&self, index: u16) -> Option<Member> {
        let mut bytes = [FIELD, METHOD, INTERFACE_METHOD].into_iter().find_map(|tag| self.at(index, tag))?;
        let class = self.class(bytes.u2()?)?;
        let mut both = self.at(bytes.u2()?, NAME_AND_TYPE)?;
        Some(Member { class, name: self.text(both.u2()?)?, descriptor: self.text(both.u2()?)? })
    }

    fn add(&mut self, constant: Vec<u8>) -> Option<u16> {
        if let Some(&known) = self.known.get(&constant) {
            return Some(known);
        }
        let index = u16::try_from(self.count).ok().filter(|&index| index < u16::MAX)?;
        self.count += 1;
        self.added.extend(&constant);
        self.known.insert(constant, index);
        Some(index)
    }

    fn add_text(&mut self, text: &str) -> Option<u16> {
        let mut constant = vec![UTF8];
        put2(&mut constant, u16::try_from(text.len()).ok()?);
        constant.extend(text.as_bytes());
        let index = self.add(constant)?;
        self.texts.insert(index, text.to_owned());
        Some(index)
    }

    /// The number of a name, added if it is not there.
    pub(crate) fn named(&mut self, text: &str) -> Option<u16> {
        self.add_text(text)
    }

    pub(crate) fn add_class(&mut self, name: &str) -> Option<u16> {
        let name = self.add_text(name)?;
        self.add_pair(CLASS, name, None)
    }

    fn add_pair(&mut self, tag: u8, first: u16, second: Option<u16>) -> Option<u16> {
        let mut constant = vec![tag];
        put2(&mut constant, first);
        if let Some(second) = second {
            put2(&mut constant, second);
        }
        self.add(constant)
    }

    pub(crate) fn add_integer(&mut self, value: u32) -> Option<u16> {
        let mut constant = vec![INTEGER];
        put4(&mut constant, value);
        self.add(constant)
    }

    /// A text of the program.
    pub(crate) fn add_string(&mut self, text: &str) -> Option<u16> {
        let text = self.add_text(text)?;
        self.add_pair(TEXT, text, None)
    }

    pub(crate) fn add_long(&mut self, value: u64) -> Option<u16> {
        let mut constant = vec![LONG];
        constant.extend(value.to_be_bytes());
        let is_new = !self.known.contains_key(&constant);
        let index = self.add(constant)?;
        // It takes two numbers.
        self.count += usize::from(is_new);
        Some(index)
    }

    pub(crate) fn add_field(&mut self, class: &str, name: &str, descriptor: &str) -> Option<u16> {
        self.add_member(FIELD, class, name, descriptor)
    }

    pub(crate) fn add_method(&mut self, class: &str, name: &str, descriptor: &str) -> Option<u16> {
        self.add_member(METHOD, class, name, descriptor)
    }

    fn add_member(&mut self, tag: u8, class: &str, name: &str, descriptor: &str) -> Option<u16> {
        let class = self.add_class(class)?;
        let (name, descriptor) = (self.add_text(name)?, self.add_text(descriptor)?);
        let both = self.add_pair(NAME_AND_TYPE, name, Some(descriptor))?;
        self.add_pair(tag, class, Some(both))
    }

    /// A handle of a static method of a class or an interface.
    pub(crate) fn add_handle(&mut self, class: &str, is_interface: bool, name: &str, descriptor: &str) -> Option<u16> {
        let method = self.add_member(if is_interface { INTERFACE_METHOD } else { METHOD }, class, name, descriptor)?;
        let mut constant = vec![HANDLE, 6];
        put2(&mut constant, method);
        self.add(constant)
    }

    /// What a handle does and to what: its kind, the number of the method or field, and which that is.
    pub(crate) fn handle(&self, index: u16) -> Option<(u8, u16, Member)> {
        let mut bytes = self.at(index, HANDLE)?;
        let (kind, member) = (bytes.u1()?, bytes.u2()?);
        Some((kind, member, self.member(member)?))
    }

    /// A dynamic call: the number of the method that makes what it returns, and its descriptor.
    pub(crate) fn dynamic_call(&self, index: u16) -> Option<(u16, String)> {
        let mut bytes = self.at(index, DYNAMIC_CALL)?;
        let number = bytes.u2()?;
        let mut both = self.at(bytes.u2()?, NAME_AND_TYPE)?;
        both.u2()?;
        Some((number, self.text(both.u2()?)?))
    }

    /// Writes the constants: those that were read, from `start` to `end` of the file, and those that were added.
    pub(crate) fn write(&self, start: usize, end: usize, out: &mut Vec<u8>) {
        put2(out, self.count as u16);
        out.extend(&self.bytes[start + 2..end]);
        out.extend(&self.added);
    }

    /// A pool without constants.
    pub(crate) fn empty() -> Pool<'static> {
        Pool {
            bytes: &[0, 0],
            entries: vec![(0, 0)],
            added: Vec::new(),
            count: 1,
            known: HashMap::new(),
            texts: HashMap::new(),
        }
    }
}
