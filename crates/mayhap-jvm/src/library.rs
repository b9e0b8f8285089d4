//! What is known of Java's own library: its code is not rewritten, so calls of it are recorded as what they mean.

use crate::class::pool::Member;

/// What becomes of a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// It goes to code with hooks, or to something that neither waits nor has a state that threads share.
    Own,
    /// It may wait; `returns_object`: what it returns is new.
    Outside { returns_object: bool },
    /// A hook does it.
    Replaced(&'static str),
    /// One hook comes before it, one after.
    Watched,
}

/// Beginnings of the names of classes that are not rewritten.
const LIBRARY: [&str; 17] = [
    "java/",
    "javax/",
    "jdk/",
    "sun/",
    "com/sun/",
    "org/junit/",
    "junit/",
    "org/testng/",
    "org/hamcrest/",
    "org/apache/maven/",
    "org/gradle/",
    "org/opentest4j/",
    "org/apiguardian/",
    "kotlin/",
    "scala/",
    "org/slf4j/",
    "com/intellij/",
];

/// Classes without a state that threads could share, or with none that changes.
const PURE: [&str; 40] = [
    "java/lang/Object",
    "java/lang/String",
    "java/lang/StringBuilder",
    "java/lang/AbstractStringBuilder",
    "java/lang/CharSequence",
    "java/lang/Math",
    "java/lang/StrictMath",
    "java/lang/Boolean",
    "java/lang/Byte",
    "java/lang/Character",
    "java/lang/Short",
    "java/lang/Integer",
    "java/lang/Long",
    "java/lang/Float",
    "java/lang/Double",
    "java/lang/Number",
    "java/lang/Enum",
    "java/lang/Record",
    "java/lang/Comparable",
    "java/lang/Runnable",
    "java/lang/Throwable",
    "java/lang/Exception",
    "java/lang/RuntimeException",
    "java/lang/Error",
    "java/lang/AssertionError",
    "java/lang/IllegalStateException",
    "java/lang/InterruptedException",
    "java/lang/StackTraceElement",
    "java/lang/ThreadLocal",
    "java/util/Objects",
    "java/util/Arrays",
    "java/util/Comparator",
    "java/util/Optional",
    "java/util/OptionalInt",
    "java/util/UUID",
    "java/util/concurrent/Callable",
    "java/util/concurrent/TimeUnit",
    "java/util/concurrent/ThreadLocalRandom",
    "java/math/BigInteger",
    "java/math/BigDecimal",
];

/// Classes whose methods hand nothing from one thread to another, though they may wait.
const SILENT: [&str; 12] = [
    "java/io/PrintStream",
    "java/io/PrintWriter",
    "java/io/OutputStream",
    "java/io/Writer",
    "java/lang/System",
    "java/lang/Runtime",
    "java/lang/Class",
    "java/lang/ClassLoader",
    "java/lang/AutoCloseable",
    "java/util/logging/Logger",
    "java/nio/file/Path",
    "java/util/Locale",
];

/// Whether the class is part of a library that is not rewritten.
pub(crate) fn is_library(class: &str) -> bool {
    LIBRARY.iter().any(|begin| class.starts_with(begin))
}

/// Whether the name is one by which libraries call the program's code.
pub(crate) fn is_called_by_library(method: &str) -> bool {
    let names = ["run", "call", "main", "accept", "apply", "get", "test", "compare", "compute", "exec", "applyAsInt"];
    method.starts_with("lambda$") || names.contains(&method)
}

fn is_of_thread(method: &Member) -> bool {
    matches!(
        (method.name.as_str(), method.descriptor.as_str()),
        ("start" | "join" | "interrupt", "()V") | ("join", "(J)V" | "(JI)V") | ("isAlive", "()Z")
    )
}

/// What becomes of a call of this method.
pub(crate) fn call(is_static: bool, method: &Member) -> Call {
    let (class, name) = (method.class.as_str(), method.name.as_str());
    match (name, method.descriptor.as_str()) {
        ("wait", "()V" | "(J)V" | "(JI)V") if !is_static => return Call::Replaced("wait"),
        ("notify", "()V") if !is_static => return Call::Replaced("notify"),
        ("notifyAll", "()V") if !is_static => return Call::Replaced("notifyAll"),
        _ => {}
    }
    if class == "java/util/concurrent/locks/Condition" {
        match (name, method.descriptor.as_str()) {
            ("await" | "awaitUninterruptibly", "()V") => return Call::Replaced("await"),
            ("await", _) => return Call::Replaced("await"),
            ("awaitNanos", _) => return Call::Replaced("awaitNanos"),
            ("signal", _) => return Call::Replaced("signal"),
            ("signalAll", _) => return Call::Replaced("signalAll"),
            _ => {}
        }
    }
    if !is_library(class) && !class.starts_with('[') {
        return if !is_static && is_of_thread(method) { Call::Watched } else { Call::Own };
    }
    if PURE.contains(&class) || class.starts_with("java/util/function/") || class.starts_with('[') {
        return Call::Own;
    }
    if is_static && is_virtual(name) {
        return Call::Watched;
    }
    if class == "java/lang/Thread" {
        return if is_of_thread(method) { Call::Watched } else { Call::Outside { returns_object: false } };
    }
    let returns_object =
        matches!(class, "java/util/Collections" | "java/util/concurrent/Executors") && method.descriptor.contains(")L");
    if SILENT.contains(&class) || returns_object {
        return Call::Outside { returns_object };
    }
    match is_static {
        true if class.starts_with("java/util/concurrent/") => Call::Watched,
        true => Call::Outside { returns_object: false },
        false => Call::Watched,
    }
}

/// Whether a static method of the library makes virtual threads.
pub(crate) fn is_virtual(name: &str) -> bool {
    matches!(name, "ofVirtual" | "startVirtualThread" | "newVirtualThreadPerTaskExecutor")
}

/// What is called when a method of the library is entered.
pub(crate) struct Entry {
    pub(crate) hook: &'static str,
    /// The local variable that has the object.
    pub(crate) local: u8,
}

/// The methods of the library that call a hook: class, name, hook, local variable.
const ENTRIES: [(&str, &str, &str, u8); 12] = [
    ("java/lang/Thread", "start", "starts", 0),
    ("java/lang/Thread", "interrupt", "interrupts", 0),
    ("java/util/concurrent/ThreadPoolExecutor", "execute", "done", 1),
    ("java/util/concurrent/ThreadPoolExecutor", "beforeExecute", "seen", 2),
    ("java/util/concurrent/ThreadPoolExecutor", "processWorkerExit", "order", 0),
    ("java/util/concurrent/ScheduledThreadPoolExecutor", "delayedExecute", "done", 1),
    ("java/util/concurrent/FutureTask", "finishCompletion", "done", 0),
    ("java/util/concurrent/FutureTask", "report", "seen", 0),
    ("java/util/concurrent/ForkJoinTask", "fork", "done", 0),
    ("java/util/concurrent/ForkJoinTask", "doExec", "seen", 0),
    ("java/util/concurrent/ForkJoinTask", "setDone", "done", 0),
    ("java/util/concurrent/ForkJoinPool", "execute", "done", 1),
];

/// The classes with such methods.
pub(crate) fn with_entries() -> Vec<&'static str> {
    let mut classes: Vec<&str> = ENTRIES.iter().map(|(class, ..)| *class).collect();
    classes.dedup();
    classes
}

pub(crate) fn entry(class: &str, name: &str, _descriptor: &str) -> Option<Entry> {
    let found = ENTRIES.iter().find(|(other, method, ..)| *other == class && *method == name)?;
    Some(Entry { hook: found.2, local: found.3 })
}

/// What objects of the library are to threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The program's own.
    Own,
    Thread,
    /// `ReentrantLock`.
    Lock,
    ReadLock,
    WriteLock,
    Condition,
    Semaphore,
    Atomic,
    Future,
    /// It runs tasks.
    Executor,
    /// It hands everything to an executor.
    Delegate,
    /// It changes, and threads must not use it at the same time.
    Plain,
    /// It is safe for threads, by its own lock.
    Synchronized,
    /// It is safe for threads; what it does keeps its order.
    Ordered,
    /// Nothing that threads share.
    Silent,
}

/// Classes of the library by name.
const KINDS: [(&str, Kind); 34] = [
    ("java/lang/Thread", Kind::Thread),
    ("java/util/concurrent/locks/ReentrantLock", Kind::Lock),
    ("java/util/concurrent/locks/ReentrantReadWriteLock$ReadLock", Kind::ReadLock),
    ("java/util/concurrent/locks/ReentrantReadWriteLock$WriteLock", Kind::WriteLock),
    ("java/util/concurrent/locks/ReentrantReadWriteLock", Kind::Silent),
    ("java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject", Kind::Condition),
    ("java/util/concurrent/Semaphore", Kind::Semaphore),
    ("java/util/concurrent/atomic/AtomicInteger", Kind::Atomic),
    ("java/util/concurrent/atomic/AtomicLong", Kind::Atomic),
    ("java/util/concurrent/atomic/AtomicBoolean", Kind::Atomic),
    ("java/util/concurrent/atomic/AtomicReference", Kind::Atomic),
    ("java/util/concurrent/FutureTask", Kind::Future),
    ("java/util/concurrent/ForkJoinTask", Kind::Future),
    ("java/util/concurrent/ThreadPoolExecutor", Kind::Executor),
    ("java/util/concurrent/Executors$DelegatedExecutorService", Kind::Delegate),
    ("java/util/concurrent/ForkJoinPool", Kind::Silent),
    ("java/util/ArrayList", Kind::Plain),
    ("java/util/AbstractList", Kind::Plain),
    ("java/util/HashMap", Kind::Plain),
    ("java/util/AbstractMap", Kind::Plain),
    ("java/util/HashSet", Kind::Plain),
    ("java/util/AbstractSet", Kind::Plain),
    ("java/util/ArrayDeque", Kind::Plain),
    ("java/util/LinkedList", Kind::Plain),
    ("java/util/PriorityQueue", Kind::Plain),
    ("java/util/TreeMap", Kind::Plain),
    ("java/util/BitSet", Kind::Plain),
    ("java/util/Vector", Kind::Synchronized),
    ("java/util/Hashtable", Kind::Synchronized),
    ("java/lang/StringBuffer", Kind::Synchronized),
    ("java/util/Collections$SynchronizedCollection", Kind::Synchronized),
    ("java/util/Collections$SynchronizedMap", Kind::Synchronized),
    ("java/io/PrintStream", Kind::Silent),
    ("java/lang/Object", Kind::Own),
];

/// What objects of a class are, if its own name says so.
pub(crate) fn kind_of(class: &str) -> Option<Kind> {
    // Lists and the like that never change.
    if class.starts_with("java/util/ImmutableCollections") {
        return Some(Kind::Silent);
    }
    let found = KINDS.iter().find(|(name, _)| *name == class).map(|(_, kind)| *kind);
    match found {
        Some(Kind::Own) if class != "java/lang/Object" => None,
        Some(kind) => Some(kind),
        None if class.starts_with("java/util/concurrent/") => Some(Kind::Ordered),
        // Iterators and views.
        None if class.starts_with("java/util/") && class.contains('$') => Some(Kind::Plain),
        None => None,
    }
}

/// Whether a method only looks.
pub(crate) fn only_reads(method: &str) -> bool {
    const NAMES: [&str; 30] = [
        "get",
        "getFirst",
        "getLast",
        "size",
        "isEmpty",
        "contains",
        "containsKey",
        "containsValue",
        "containsAll",
        "indexOf",
        "lastIndexOf",
        "iterator",
        "listIterator",
        "descendingIterator",
        "keySet",
        "values",
        "entrySet",
        "toArray",
        "peek",
        "peekFirst",
        "peekLast",
        "element",
        "first",
        "last",
        "hashCode",
        "equals",
        "toString",
        "hasNext",
        "getOrDefault",
        "length",
    ];
    NAMES.contains(&method)
        || matches!(method, "next" | "nextInt" | "stream" | "subList" | "getKey" | "getValue" | "forEach")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(class: &str, name: &str, descriptor: &str) -> Member {
        Member { class: class.into(), name: name.into(), descriptor: descriptor.into() }
    }

    #[test]
    fn calls_are_what_they_mean() {
        assert_eq!(call(false, &member("a/B", "wait", "()V")), Call::Replaced("wait"));
        assert_eq!(call(false, &member("a/B", "join", "()V")), Call::Watched);
        assert_eq!(call(false, &member("a/B", "go", "()V")), Call::Own);
        assert_eq!(call(true, &member("java/lang/Math", "max", "(II)I")), Call::Own);
        assert_eq!(call(true, &member("java/lang/Thread", "sleep", "(J)V")), Call::Outside { returns_object: false });
        assert_eq!(call(false, &member("java/util/List", "add", "(Ljava/lang/Object;)Z")), Call::Watched);
        assert_eq!(kind_of("java/util/concurrent/ConcurrentHashMap"), Some(Kind::Ordered));
        assert_eq!(kind_of("java/util/ArrayList$Itr"), Some(Kind::Plain));
        assert_eq!(kind_of("java/lang/Object"), Some(Kind::Own));
        assert!(only_reads("size") && !only_reads("add"));
    }
}
