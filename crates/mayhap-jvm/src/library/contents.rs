//! What methods of the library do with what collections and arrays hold.

/// Whether a method of a collection only looks.
pub(crate) fn only_reads(method: &str) -> bool {
    const BEGINS: [&str; 31] = [
        "get",
        "size",
        "isEmpty",
        "contains",
        "indexOf",
        "lastIndexOf",
        "iterator",
        "listIterator",
        "descending",
        "keySet",
        "values",
        "entrySet",
        "navigableKeySet",
        "toArray",
        "peek",
        "element",
        "first",
        "last",
        "floor",
        "ceiling",
        "higher",
        "lower",
        "head",
        "tail",
        "sub",
        "has",
        "next",
        "previous",
        "spliterator",
        "stream",
        "parallelStream",
    ];
    const NAMES: [&str; 21] = [
        "equals",
        "toString",
        "length",
        "charAt",
        "compareTo",
        "chars",
        "codePointAt",
        "capacity",
        "cardinality",
        "intersects",
        "comparator",
        "forEach",
        "clone",
        "keys",
        "elements",
        "isPresent",
        "copyInto",
        "estimateSize",
        "tryAdvance",
        "forEachRemaining",
        "toByteArray",
    ];
    BEGINS.iter().any(|begin| method.starts_with(begin)) || NAMES.contains(&method)
}

/// Whether a method moves a position that the object has: what the next call of it returns depends on that.
pub(crate) fn advances(class: &str, method: &str, takes_nothing: bool) -> bool {
    let is_position = class.starts_with("java/nio/") && method.starts_with("get");
    let is_step = (method.starts_with("next") || method.starts_with("previous")) && !method.ends_with("Index");
    takes_nothing && (is_position || is_step) || method == "tryAdvance"
}

/// Whether a method of an atomic variable hands what that holds to a function of the program.
pub(crate) fn applies(method: &str) -> bool {
    ["updateAndGet", "getAndUpdate", "accumulateAndGet", "getAndAccumulate"].contains(&method)
}

/// Whether what a method returns shows what the object holds.
pub(crate) fn returns_view(method: &str) -> bool {
    const BEGINS: [&str; 9] =
        ["descending", "navigableKeySet", "head", "tail", "sub", "unmodifiable", "synchronized", "checked", "stream"];
    const NAMES: [&str; 9] = [
        "iterator",
        "listIterator",
        "keySet",
        "values",
        "entrySet",
        "spliterator",
        "parallelStream",
        "keys",
        "elements",
    ];
    BEGINS.iter().any(|begin| method.starts_with(begin)) || NAMES.contains(&method)
}

/// Whether a class's objects are parts of a map: they show and change what that holds.
pub(crate) fn is_entry(class: &str) -> bool {
    class.starts_with("java/util/")
        && !class.contains("/AbstractMap$Simple")
        && class.rsplit('$').next().is_some_and(|last| last.ends_with("Entry") || last.ends_with("Node"))
}

/// What a method of the library does with the contents of a collection that is handed to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnArgument {
    Reads,
    /// It may compare them with those of another one.
    Compares,
    Writes,
    /// What it returns shows them.
    Shows,
}

/// `number` counts the arguments.
pub(crate) fn on_argument(class: &str, method: &str, number: usize) -> Option<OnArgument> {
    const KEYS: [&str; 12] = [
        "put",
        "get",
        "add",
        "remove",
        "contains",
        "containsKey",
        "getOrDefault",
        "putIfAbsent",
        "computeIfAbsent",
        "computeIfPresent",
        "compute",
        "merge",
    ];
    const COMPARE: [&str; 6] =
        ["contains", "containsValue", "remove", "indexOf", "lastIndexOf", "removeFirstOccurrence"];
    const WRITES: [&str; 8] = ["sort", "shuffle", "reverse", "swap", "fill", "rotate", "drainTo", "replaceAll"];
    const READS: [&str; 12] = [
        "<init>",
        "equals",
        "append",
        "insert",
        "join",
        "valueOf",
        "print",
        "println",
        "hash",
        "copyOf",
        "deepToString",
        "invokeAll",
    ];
    let of_collections = class == "java/util/Collections";
    if WRITES.contains(&method) || of_collections && matches!(method, "addAll" | "copy") {
        return Some(OnArgument::Writes);
    }
    if of_collections && returns_view(method) {
        return Some(OnArgument::Shows);
    }
    let of_text = class == "java/lang/String" && matches!(method, "concat" | "contains" | "contentEquals" | "replace");
    let of_objects = class == "java/util/Objects" && !method.starts_with("requireNonNull");
    // Maps and sets compute a hash code of the key, or compare it.
    let is_key = number == 0 && class.starts_with("java/util/") && (class.ends_with("Map") || class.ends_with("Set"));
    let is_key = is_key && KEYS.contains(&method);
    if READS.contains(&method) || method.ends_with("All") || of_collections || of_text || of_objects || is_key {
        return Some(OnArgument::Reads);
    }
    (class.starts_with("java/util/") && COMPARE.contains(&method)).then_some(OnArgument::Compares)
}

/// Whether a method looks into what lies in an array that is handed to it.
pub(crate) fn looks_deep(class: &str, method: &str) -> bool {
    match class {
        "java/lang/String" | "java/io/PrintStream" | "java/io/PrintWriter" => {
            matches!(method, "format" | "formatted" | "printf" | "join")
        }
        "java/util/Objects" => method == "hash",
        "java/util/Arrays" => {
            matches!(method, "toString" | "deepToString" | "hashCode" | "deepHashCode" | "deepEquals")
        }
        _ => false,
    }
}

/// What a method of the library does with the elements of an array that is handed to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnArray {
    Reads,
    /// It may change some.
    Fills,
    /// It sets all.
    Sets,
}

pub(crate) fn on_array(class: &str, method: &str) -> OnArray {
    const FILLS: [&str; 7] = ["read", "get", "nextBytes", "readFully", "readNBytes", "toArray", "drainTo"];
    match (class, method) {
        ("java/util/Arrays", "fill" | "setAll") => OnArray::Sets,
        ("java/util/Arrays", _) => OnArray::Reads,
        _ if FILLS.contains(&method) => OnArray::Fills,
        _ => OnArray::Reads,
    }
}
