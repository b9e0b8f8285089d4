//! The program's classes: where their places, static fields and objects' fields lie in the shadow memory, and a file with the names of all that.

use core::ffi::c_void;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{LazyLock, OnceLock, RwLock};

use crate::class::file::{ClassFile, flag};
use crate::class::pool::Member;
use crate::fast_path::{self, Known, MOST};
use crate::jvm::Ref;
use crate::library;
use crate::places::{Place, What, simple};
use crate::runtime::{self, Runtime};
use crate::shadow::{self, FIELDS};

/// A field of a class.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) descriptor: String,
    pub(crate) is_static: bool,
    flags: u16,
    /// Its number in the machine, once it was asked for.
    pub(crate) id: AtomicPtr<c_void>,
}

/// A class whose code has hooks.
pub(crate) struct Class {
    pub(crate) name: String,
    /// It belongs to a library: only a few of its methods have hooks.
    pub(crate) is_library: bool,
    superclass: String,
    fields: Vec<Field>,
    /// The names and types of its methods.
    methods: HashSet<String>,
    /// Package and file, as paths have them.
    source: String,
    digest: u64,
    /// Its block: a lock and a condition for the class itself, static fields, places.
    pub(crate) base: u64,
    end: u64,
    /// Where the places begin.
    code: u64,
    /// By offset: method, line, and whether it accesses a static field.
    places: Vec<(String, u16, bool)>,
    pub(crate) has_initialiser: bool,
    pub(crate) is_initialised: AtomicBool,
    is_known: AtomicBool,
    /// The class's own object, once it is ready.
    mirror: AtomicPtr<c_void>,
    /// Bytes of fields that superclasses have.
    inherited: OnceLock<u64>,
    /// Its objects have their block in a field of this class.
    has_hidden: bool,
    /// Where that field is, and the machine's number of it, once they were asked for; nothing if it is not there.
    pub(crate) hidden: OnceLock<Option<(u64, u64)>>,
    /// There is another class of this name.
    is_ambiguous: AtomicBool,
}

/// What an access to a field comes to.
#[derive(Clone, Copy)]
pub(crate) enum Resolved {
    /// The field does not change once it can be seen, or is the library's own.
    Ignored,
    At {
        offset: u64,
        is_volatile: bool,
    },
}

/// A field by its name.
pub(crate) struct FoundField {
    pub(crate) class: &'static Class,
    pub(crate) field: &'static Field,
    /// From the object's block on, or for a static field in memory.
    pub(crate) offset: u64,
    pub(crate) is_volatile: bool,
}

/// A place in the code.
pub(crate) struct Site {
    pub(crate) pc: u64,
    pub(crate) is_super: bool,
    pub(crate) branched: bool,
    pub(crate) class: &'static Class,
    /// What hooks that are Java code know of it.
    pub(crate) known: Option<&'static Known>,
    pub(crate) what: What,
    /// Where objects of the field's class have their block, and the machine's number of that field, once that is known.
    pub(crate) hidden: OnceLock<(u64, u64)>,
    resolved: AtomicU64,
    /// The field, and the class that declares it.
    found: OnceLock<(&'static Class, &'static Field)>,
    /// The class that a static field belongs to, as the code names it.
    owner: OnceLock<&'static Class>,
}

static CLASSES: LazyLock<RwLock<HashMap<String, &'static Class>>> = LazyLock::new(Default::default);

static SITES: LazyLock<Vec<AtomicPtr<Site>>> = LazyLock::new(|| (0..MOST).map(|_| AtomicPtr::default()).collect());
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The next place's number.
pub(crate) fn next_number() -> u32 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The place with this number.
#[inline]
pub(crate) fn site(number: i32) -> Option<&'static Site> {
    // SAFETY: places are never given back.
    unsafe { SITES.get(number as usize)?.load(Ordering::Acquire).as_ref() }
}

/// The class of this name, if its code has hooks.
pub(crate) fn named(name: &str) -> Option<&'static Class> {
    CLASSES.read().ok()?.get(name).copied()
}

/// Enters a class whose code calls hooks at these places, by number.
pub(crate) fn enter(file: &ClassFile<'_>, bytes: &[u8], places: Vec<(u32, Place)>) -> Option<&'static Class> {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    let fields: Vec<Field> = file
        .fields
        .iter()
        .map(|field| Field {
            name: field.name.clone(),
            descriptor: field.descriptor.clone(),
            is_static: field.flags & flag::STATIC != 0,
            flags: field.flags,
            id: AtomicPtr::default(),
        })
        .collect();
    let statics = fields.iter().filter(|field| field.is_static).count() as u64;
    let code = FIELDS + 8 * statics;
    let size = code + 8 + 4 * places.len() as u64;
    let base = shadow::class_block(size)?;
    let package = file.name.rsplit_once('/').map_or("", |(package, _)| package);
    let source = if file.source.is_empty() { format!("{}.java", simple(&file.name)) } else { file.source.clone() };
    let source = if package.is_empty() { source } else { format!("{package}/{source}") };
    let class: &'static Class = Box::leak(Box::new(Class {
        name: file.name.clone(),
        is_library: library::is_library(&file.name),
        superclass: file.superclass.clone(),
        fields,
        methods: file.methods.iter().map(|method| format!("{}{}", method.name, method.descriptor)).collect(),
        source,
        digest: hasher.finish(),
        base,
        end: base + size.next_multiple_of(4096),
        code,
        places: places.iter().map(|(_, place)| (place.method.clone(), place.line, place.is_constant)).collect(),
        has_initialiser: file.methods.iter().any(|method| method.name == "<clinit>"),
        is_initialised: AtomicBool::new(false),
        is_known: AtomicBool::new(false),
        mirror: AtomicPtr::default(),
        inherited: OnceLock::new(),
        has_hidden: file.has_added_field(),
        hidden: OnceLock::new(),
        is_ambiguous: AtomicBool::new(false),
    }));
    for (index, (number, place)) in places.into_iter().enumerate() {
        let pc = base + code + 8 + 4 * index as u64;
        let site = Site {
            pc,
            is_super: place.is_super,
            branched: place.branched,
            class,
            known: fast_path::site(number),
            what: place.what,
            hidden: OnceLock::new(),
            resolved: AtomicU64::new(0),
            found: OnceLock::new(),
            owner: OnceLock::new(),
        };
        SITES.get(number as usize)?.store(Box::leak(Box::new(site)), Ordering::Release);
    }
    if let Some(other) = CLASSES.write().ok()?.insert(file.name.clone(), class) {
        class.is_ambiguous.store(true, Ordering::Release);
        other.is_ambiguous.store(true, Ordering::Release);
    }
    Some(class)
}

impl Class {
    /// The place that stands for making an object of the class.
    pub(crate) fn allocation(&self) -> u64 {
        self.base + self.code + 2
    }

    fn inherited(&self) -> u64 {
        // What stands for an object of the library takes room before the fields.
        let of_library = if matches!(self.superclass.as_str(), "" | "java/lang/Object") { 0 } else { 64 };
        *self.inherited.get_or_init(|| self.extends().map_or(of_library, Class::bytes))
    }

    /// The bytes that the fields of an object take.
    pub(crate) fn bytes(&self) -> u64 {
        self.inherited() + 8 * self.fields.iter().filter(|field| !field.is_static).count() as u64
    }

    /// The class's own object; null while it is not known.
    pub(crate) fn mirror(&self) -> Ref {
        self.mirror.load(Ordering::Acquire)
    }

    /// The class's own object is this one; the reference lasts.
    pub(crate) fn has_mirror(&self, mirror: Ref) {
        self.mirror.store(mirror, Ordering::Release);
    }

    /// Whether it or a class with hooks that it extends has a method of this name and type.
    pub(crate) fn declares(&self, method: &Member) -> bool {
        self.has(&format!("{}{}", method.name, method.descriptor))
    }

    fn has(&self, method: &str) -> bool {
        self.methods.contains(method) || self.extends().is_some_and(|class| class.has(method))
    }

    /// Whether it extends a class of the library other than `Object`.
    pub(crate) fn extends_library(&self) -> bool {
        match self.extends() {
            Some(class) => class.extends_library(),
            None => self.superclass != "java/lang/Object",
        }
    }

    /// The class, of this one and those that it extends, that has the field in which objects have their block; `None` where that is not sure.
    pub(crate) fn holder(&'static self) -> Option<&'static Class> {
        let is_sure = !self.is_ambiguous.load(Ordering::Acquire) && !self.is_library;
        match self.has_hidden {
            _ if !is_sure => None,
            true => (!self.mirror().is_null()).then_some(self),
            false => self.extends()?.holder(),
        }
    }

    /// Whether objects of a class that was loaded under this name have that field.
    pub(crate) fn has_hidden(&self) -> bool {
        self.has_hidden
    }

    /// The class that it extends, if that has hooks.
    pub(crate) fn extends(&self) -> Option<&'static Class> {
        named(&self.superclass).filter(|class| !class.is_library)
    }

    /// A field of the class or of one that it extends: who declares it, where it lies, and whether it is volatile; `None` if it never changes.
    pub(crate) fn field(&'static self, name: &str, is_static: bool) -> Option<FoundField> {
        let mut next = Some(self);
        while let Some(class) = next {
            if let Some((offset, field)) = class.find(name, is_static) {
                let is_volatile = field.flags & flag::VOLATILE != 0;
                return (field.flags & flag::FINAL == 0).then_some(FoundField { class, field, offset, is_volatile });
            }
            next = class.extends();
        }
        None
    }

    fn find(&self, name: &str, is_static: bool) -> Option<(u64, &Field)> {
        let mut all = self.fields.iter().filter(|field| field.is_static == is_static).enumerate();
        let (nth, field) = all.find(|(_, field)| field.name == name)?;
        Some((if is_static { self.base + FIELDS } else { FIELDS + self.inherited() } + 8 * nth as u64, field))
    }

    /// Makes the class known to the recording when it is first used.
    #[inline]
    pub(crate) fn make_known(&self, runtime: &Runtime) {
        if !self.is_known.load(Ordering::Acquire) {
            self.make_known_now(runtime);
        }
    }

    #[cold]
    fn make_known_now(&self, runtime: &Runtime) {
        if self.is_known.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(path) = self.names_file() {
            let path = path.to_string_lossy();
            (runtime.module)(path.as_ptr(), path.len(), self.base, self.end);
        }
    }

    /// The file with the names, written if it is not there.
    fn names_file(&self) -> Option<PathBuf> {
        let folder = runtime::folder()?.join("java");
        let mut hasher = DefaultHasher::new();
        let mut class = Some(self);
        while let Some(each) = class {
            hasher.write_u64(each.digest);
            class = named(&each.superclass);
        }
        let name: String = self.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let path = folder.join(format!("{name}-{:016x}.jvm", hasher.finish()));
        if !path.exists() {
            std::fs::create_dir_all(&folder).ok()?;
            let own = folder.join(format!("{name}-{}.new", std::process::id()));
            std::fs::write(&own, self.names()).ok()?;
            std::fs::rename(&own, &path).ok()?;
        }
        Some(path)
    }

    fn names(&self) -> String {
        let shown = simple(&self.name);
        let mut out = format!("mayhap-java\t1\nd\t0\t{shown}.class\n");
        for field in self.fields.iter().filter(|field| field.is_static) {
            if let Some((address, _)) = self.find(&field.name, true) {
                let _ = writeln!(out, "d\t{}\t{shown}.{}", address - self.base, field.name);
            }
        }
        let first = self.places.iter().map(|(_, line, _)| *line).filter(|line| *line > 0).min().unwrap_or(1);
        let _ = writeln!(out, "p\t{}\t{shown}\t{}:{first}", self.allocation() - self.base, self.source);
        let _ = writeln!(out, "a\t{}", self.allocation() - self.base);
        let mut class = Some(self);
        while let Some(each) = class {
            for field in each.fields.iter().filter(|field| !field.is_static) {
                if let Some((offset, _)) = each.find(&field.name, false) {
                    let _ = writeln!(out, "f\t{offset}\t{}.{}", simple(&each.name), field.name);
                }
            }
            class = named(&each.superclass);
        }
        for (index, (method, line, is_constant)) in self.places.iter().enumerate() {
            let offset = self.code + 8 + 4 * index as u64;
            let _ = writeln!(out, "p\t{offset}\t{method}\t{}:{line}", self.source);
            if *is_constant {
                let _ = writeln!(out, "c\t{offset}");
            }
        }
        out
    }
}

impl Site {
    /// Where the field of this place lies: from the object's block on, or for a static field in memory.
    pub(crate) fn field(&self, is_static: bool) -> Resolved {
        let known = self.resolved.load(Ordering::Relaxed);
        let known = if known == 0 { self.resolve(is_static) } else { known };
        match known & 3 {
            1 => Resolved::Ignored,
            kind => Resolved::At { offset: known >> 2, is_volatile: kind == 3 },
        }
    }

    #[cold]
    fn resolve(&self, is_static: bool) -> u64 {
        let What::Field(Member { class, name, .. }) = &self.what else { return 1 };
        let mut found = 1;
        let mut next = named(class);
        while let Some(class) = next {
            if let Some((offset, field)) = class.find(name, is_static) {
                let kind = match field.flags {
                    flags if flags & flag::FINAL != 0 => 1,
                    flags if flags & flag::VOLATILE != 0 => 3,
                    _ => 2,
                };
                found = offset << 2 | kind;
                let _ = self.found.set((class, field));
                if is_static && let Some(runtime) = runtime::get() {
                    class.make_known(runtime);
                }
                break;
            }
            next = named(&class.superclass);
        }
        self.resolved.store(found, Ordering::Relaxed);
        found
    }

    /// The field of this place once [`Self::field`] has found it, and the class that declares it.
    pub(crate) fn found(&self) -> Option<(&'static Class, &'static Field)> {
        self.found.get().copied()
    }

    /// The class that a static field belongs to, as the code names it.
    #[inline]
    pub(crate) fn owner(&self) -> Option<&'static Class> {
        self.owner.get().copied().or_else(|| self.find_owner())
    }

    #[cold]
    fn find_owner(&self) -> Option<&'static Class> {
        let What::Field(member) = &self.what else { return None };
        let found = named(&member.class)?;
        Some(*self.owner.get_or_init(|| found))
    }

    /// The class that the code names as the one of the field's object.
    pub(crate) fn field_class(&self) -> Option<&'static Class> {
        match &self.what {
            What::Field(member) => named(&member.class),
            _ => None,
        }
    }

    /// The method that is called here.
    pub(crate) fn method(&'static self) -> &'static str {
        match &self.what {
            What::Call(member) => &member.name,
            _ => "",
        }
    }

    /// The class of that method, as the code names it.
    pub(crate) fn method_class(&'static self) -> &'static str {
        match &self.what {
            What::Call(member) => &member.class,
            _ => "",
        }
    }
}
