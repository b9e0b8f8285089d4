//! What is known of Java's own library: its code is not rewritten, so calls of it are recorded as what they mean.

mod contents;

pub(crate) use contents::{
    OnArgument, OnArray, advances, applies, is_entry, looks_deep, on_argument, on_array, only_reads, returns_view,
};

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
const PURE: [&str; 35] = [
    "java/lang/String",
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
const SILENT: [&str; 7] = [
    "java/lang/System",
    "java/lang/Runtime",
    "java/lang/Class",
    "java/lang/ClassLoader",
    "java/lang/AutoCloseable",
    "java/util/logging/Logger",
    "java/util/Locale",
];

/// Beginnings of the names of classes whose static methods hand nothing from one thread to another.
const SILENT_STATICS: [&str; 10] = [
    "java/lang/",
    "java/util/regex/",
    "java/util/function/",
    "java/util/concurrent/Executors",
    "java/util/concurrent/atomic/",
    "java/text/",
    "java/time/",
    "java/math/",
    "java/nio/charset/",
    "java/nio/file/Path",
];

/// Classes whose objects are equal if they hold the same.
pub(crate) const COMPARED: [&str; 3] = ["java/util/AbstractList", "java/util/AbstractSet", "java/util/AbstractMap"];

/// Whether the class is part of a library that is not rewritten.
pub(crate) fn is_library(class: &str) -> bool {
    LIBRARY.iter().any(|begin| class.starts_with(begin))
}

fn is_of_thread(method: &Member) -> bool {
    matches!(
        (method.name.as_str(), method.descriptor.as_str()),
        ("start" | "join" | "interrupt", "()V")
            | ("join", "(J)V" | "(JI)V")
            | ("isAlive" | "isInterrupted", "()Z")
            | ("getState", "()Ljava/lang/Thread$State;")
    )
}

/// Whether a call goes to code of the program, straight or through an interface whose methods are most often lambdas.
pub(crate) fn has_frame(method: &Member) -> bool {
    let class = method.class.as_str();
    !is_library(class) && !class.starts_with('[')
        || matches!(class, "java/lang/Runnable" | "java/util/concurrent/Callable" | "java/util/Comparator")
        || class.starts_with("java/util/function/")
}

/// Types whose objects have nothing that changes, as descriptors have them.
pub(crate) fn is_inert(descriptor: &str) -> bool {
    let name = descriptor.trim_start_matches('L').trim_end_matches(';');
    descriptor.len() == 1
        || name.starts_with("java/util/function/")
        || matches!(name, "java/lang/String" | "java/lang/Class" | "java/util/concurrent/TimeUnit" | "java/util/Locale")
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
    if is_static && reads_properties(class, name) {
        return Call::Watched;
    }
    if !is_library(class) && !class.starts_with('[') {
        let is_inherited = is_static && name == "invokeAll" || !is_static && is_of_thread(method);
        return if is_inherited { Call::Watched } else { Call::Own };
    }
    if class == "java/util/Arrays" {
        return if name.starts_with("parallel") { Call::Watched } else { Call::Own };
    }
    if class == "java/lang/Object" && !matches!(name, "toString" | "equals" | "hashCode") {
        return Call::Own;
    }
    if PURE.contains(&class) || class.starts_with("java/util/function/") || class.starts_with('[') {
        return Call::Own;
    }
    if is_static && is_virtual(name) {
        return Call::Watched;
    }
    if class == "java/lang/Thread" {
        let watched = is_of_thread(method) || name == "interrupted";
        return if watched { Call::Watched } else { Call::Outside { returns_object: false } };
    }
    let is_static_of_collections =
        is_static && class.starts_with("java/util/") && !class["java/util/".len()..].contains('/');
    let returns_object =
        method.descriptor.contains(")L") && (is_static_of_collections || class == "java/util/concurrent/Executors");
    if SILENT.contains(&class) || returns_object || is_static_of_collections {
        return Call::Outside { returns_object };
    }
    match is_static && SILENT_STATICS.iter().any(|begin| class.starts_with(begin)) {
        true => Call::Outside { returns_object: false },
        false => Call::Watched,
    }
}

/// Whether a method makes something that accesses a field, whose class and name are arguments.
pub(crate) fn names_field(method: &Member) -> bool {
    match method.class.as_str() {
        "java/lang/invoke/MethodHandles$Lookup" => {
            matches!(method.name.as_str(), "findVarHandle" | "findStaticVarHandle")
        }
        class => class.starts_with("java/util/concurrent/atomic/Atomic") && method.name == "newUpdater",
    }
}

/// Whether a static method looks at the properties of the system, which threads may change.
fn reads_properties(class: &str, name: &str) -> bool {
    match class {
        "java/lang/System" => name.ends_with("Property") || name.ends_with("Properties"),
        "java/lang/Integer" => name == "getInteger",
        "java/lang/Long" => name == "getLong",
        "java/lang/Boolean" => name == "getBoolean",
        _ => false,
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
const ENTRIES: [(&str, &str, &str, u8); 16] = [
    ("java/lang/Thread", "start", "starts", 0),
    ("java/lang/Thread", "interrupt", "interrupts", 0),
    ("java/util/concurrent/ThreadPoolExecutor", "execute", "done", 1),
    ("java/util/concurrent/ThreadPoolExecutor", "beforeExecute", "taken", 2),
    ("java/util/concurrent/ThreadPoolExecutor", "processWorkerExit", "order", 0),
    ("java/util/concurrent/ScheduledThreadPoolExecutor", "delayedExecute", "done", 1),
    ("java/util/concurrent/FutureTask", "set", "done", 0),
    ("java/util/concurrent/FutureTask", "setException", "done", 0),
    ("java/util/concurrent/FutureTask", "finishCompletion", "done", 0),
    ("java/util/concurrent/FutureTask", "report", "seen", 0),
    ("java/util/concurrent/ForkJoinTask", "fork", "done", 0),
    ("java/util/concurrent/ForkJoinTask", "doExec", "taken", 0),
    ("java/util/concurrent/ForkJoinTask", "setDone", "finished", 0),
    ("java/util/concurrent/ForkJoinTask", "trySetThrown", "finished", 0),
    ("java/util/concurrent/ForkJoinTask", "trySetCancelled", "finished", 0),
    ("java/util/concurrent/ForkJoinPool", "execute", "done", 1),
];

/// The classes with such methods.
pub(crate) fn with_entries() -> Vec<&'static str> {
    let mut classes: Vec<&str> = ENTRIES.iter().map(|(class, ..)| *class).collect();
    classes.dedup();
    classes
}

/// What a method calls when it is entered. `ForkJoinPool` is given other objects than tasks, too.
pub(crate) fn entry(class: &str, name: &str, _descriptor: &str) -> Option<Entry> {
    let found = ENTRIES.iter().find(|(other, method, ..)| *other == class && *method == name)?;
    Some(Entry { hook: found.2, local: found.3 })
}

/// The methods of a class that call a hook.
pub(crate) fn entries_of(class: &str) -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().filter(move |(other, ..)| *other == class).map(|(_, method, ..)| *method)
}

/// Whether what is done by a task is known to those who wait for it: it is the program's own, or one that they ask for its result.
pub(crate) fn is_known_task(class: &str) -> bool {
    !is_library(class)
        || matches!(
            class,
            "java/util/concurrent/FutureTask"
                | "java/util/concurrent/ScheduledThreadPoolExecutor$ScheduledFutureTask"
                | "java/util/concurrent/ExecutorCompletionService$QueueingFuture"
        )
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
    /// It may hand something to a thread that uses another object, or be used by threads of the library: what is done with all of these keeps its order.
    Anything,
    /// A stream for output: nothing comes back from the machine's own.
    Output,
    /// `VarHandle`.
    Handle,
    /// Nothing that threads share.
    Silent,
}

/// Classes of the library by name.
const KINDS: [(&str, Kind); 51] = [
    ("java/lang/Thread", Kind::Thread),
    ("java/lang/String", Kind::Silent),
    ("java/lang/StringBuilder", Kind::Plain),
    ("java/lang/invoke/VarHandle", Kind::Handle),
    ("java/util/Timer", Kind::Anything),
    ("java/util/Scanner", Kind::Anything),
    ("java/util/Formatter", Kind::Anything),
    ("java/util/Properties", Kind::Anything),
    ("java/lang/ref/ReferenceQueue", Kind::Anything),
    ("java/util/concurrent/Phaser", Kind::Anything),
    ("java/util/concurrent/CompletableFuture", Kind::Anything),
    ("java/util/concurrent/SubmissionPublisher", Kind::Anything),
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
    ("java/util/concurrent/atomic/AtomicIntegerFieldUpdater", Kind::Handle),
    ("java/util/concurrent/atomic/AtomicLongFieldUpdater", Kind::Handle),
    ("java/util/concurrent/atomic/AtomicReferenceFieldUpdater", Kind::Handle),
    ("java/util/concurrent/FutureTask", Kind::Future),
    ("java/util/concurrent/ForkJoinTask", Kind::Future),
    ("java/util/concurrent/CountedCompleter", Kind::Anything),
    ("java/util/concurrent/ThreadPoolExecutor", Kind::Executor),
    ("java/util/concurrent/Executors$DelegatedExecutorService", Kind::Delegate),
    ("java/util/concurrent/ForkJoinPool", Kind::Anything),
    ("java/util/ArrayList", Kind::Plain),
    ("java/util/AbstractList", Kind::Plain),
    ("java/util/HashMap", Kind::Plain),
    ("java/util/AbstractMap", Kind::Plain),
    ("java/util/HashSet", Kind::Plain),
    ("java/util/AbstractSet", Kind::Plain),
    ("java/util/ArrayDeque", Kind::Plain),
    ("java/util/LinkedList", Kind::Plain),
    ("java/util/PriorityQueue", Kind::Plain),
    ("java/util/AbstractCollection", Kind::Plain),
    ("java/util/TreeMap", Kind::Plain),
    ("java/util/BitSet", Kind::Plain),
    ("java/util/Vector", Kind::Synchronized),
    ("java/util/Hashtable", Kind::Synchronized),
    ("java/lang/StringBuffer", Kind::Synchronized),
    ("java/util/Collections$SynchronizedCollection", Kind::Synchronized),
    ("java/util/Collections$SynchronizedMap", Kind::Synchronized),
    ("java/io/PrintStream", Kind::Output),
    ("java/io/PrintWriter", Kind::Output),
    ("java/lang/Object", Kind::Own),
];

/// Beginnings of the names of classes each of whose objects is apart from the others.
const APART: [&str; 9] = [
    "java/util/",
    "java/text/",
    "java/time/",
    "java/math/",
    "java/security/",
    "java/lang/ref/",
    "java/lang/reflect/",
    "java/lang/invoke/",
    "java/nio/file/attribute/",
];

/// Classes whose objects, and those of the classes inside them, have to do with others.
const TOGETHER: [&str; 3] =
    ["java/util/concurrent/CompletableFuture", "java/util/concurrent/SubmissionPublisher", "java/util/zip/"];

/// Beginnings of the names of collections that never change.
const NEVER_CHANGES: [&str; 2] = ["java/util/Collections$Empty", "java/util/Collections$Singleton"];

/// Whether a class lies inside one whose objects are collections that threads must not use at the same time, or streams.
fn is_part_of_collection(class: &str) -> bool {
    const OTHERS: [&str; 11] = [
        "java/util/Arrays",
        "java/util/Collections",
        "java/util/EnumMap",
        "java/util/EnumSet",
        "java/util/Hashtable",
        "java/util/IdentityHashMap",
        "java/util/LinkedHashMap",
        "java/util/RegularEnumSet",
        "java/util/Spliterators",
        "java/util/Vector",
        "java/util/WeakHashMap",
    ];
    let Some((outer, _)) = class.split_once('$') else { return false };
    class.starts_with("java/util/stream/")
        || OTHERS.contains(&outer)
        || KINDS.iter().any(|(known, kind)| *known == outer && *kind == Kind::Plain)
}

/// What objects of a class of the library are: its own name comes first, those of the classes that it extends follow. `Own` if no name says anything.
pub(crate) fn kind_of(names: &[&str]) -> Kind {
    let Some(class) = names.first() else { return Kind::Own };
    // Lists and the like that never change, and boxes of values.
    let never_changes = NEVER_CHANGES.iter().any(|begin| class.starts_with(begin));
    if never_changes || class.starts_with("java/util/ImmutableCollections") || PURE.contains(class) {
        return Kind::Silent;
    }
    let is_concurrent = class.starts_with("java/util/concurrent/");
    let exact = |name: &&str| KINDS.iter().find(|(known, _)| known == name).map(|(_, kind)| *kind);
    let mut inherited = names[1..].iter().filter_map(exact);
    // What concurrent collections extend says nothing of them.
    let inherited = inherited.find(|kind| *kind != Kind::Own && !(is_concurrent && *kind == Kind::Plain));
    let by_name = || match () {
        () if TOGETHER.iter().any(|begin| class.starts_with(begin)) => Kind::Anything,
        () if is_concurrent => Kind::Ordered,
        // Iterators and views.
        () if is_part_of_collection(class) => Kind::Plain,
        () => Kind::Own,
    };
    exact(class).or(inherited).unwrap_or_else(by_name)
}

/// What objects of a class of the library are whose superclasses say nothing.
pub(crate) fn other_kind(class: &str) -> Kind {
    if APART.iter().any(|begin| class.starts_with(begin)) { Kind::Ordered } else { Kind::Anything }
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
        assert_eq!(kind_of(&["java/util/concurrent/ConcurrentHashMap", "java/util/AbstractMap"]), Kind::Ordered);
        assert_eq!(kind_of(&["java/util/ArrayList$Itr", "java/lang/Object"]), Kind::Plain);
        assert_eq!(
            kind_of(&["java/util/Collections$SynchronizedSet", "java/util/Collections$SynchronizedCollection"]),
            Kind::Synchronized
        );
        assert_eq!(
            kind_of(&["java/util/concurrent/ForkJoinTask$AdaptedCallable", "java/util/concurrent/ForkJoinTask"]),
            Kind::Future
        );
        assert_eq!(kind_of(&["java/util/concurrent/CompletableFuture$UniApply", "java/lang/Object"]), Kind::Anything);
        assert_eq!((kind_of(&["java/lang/Object"]), kind_of(&["java/io/Reader"])), (Kind::Own, Kind::Own));
        assert_eq!(
            (other_kind("java/io/PipedReader"), other_kind("java/util/Random")),
            (Kind::Anything, Kind::Ordered)
        );
        let steps = |class, method, takes_nothing| advances(class, method, takes_nothing);
        assert!(steps("java/util/Iterator", "next", true) && !steps("java/util/ListIterator", "nextIndex", true));
        assert!(steps("java/nio/ByteBuffer", "get", true) && !steps("java/nio/ByteBuffer", "get", false));
        assert!(!steps("java/util/BitSet", "nextSetBit", false));
        assert!(only_reads("size") && only_reads("floorKey") && !only_reads("add") && !only_reads("setLength"));
        assert_eq!(on_argument("java/util/Collections", "max", 0), Some(OnArgument::Reads));
        assert_eq!(on_argument("java/util/Collections", "unmodifiableList", 0), Some(OnArgument::Shows));
        assert_eq!(on_argument("java/util/List", "addAll", 0), Some(OnArgument::Reads));
        assert_eq!(on_argument("java/util/List", "contains", 0), Some(OnArgument::Compares));
        let put = |number| on_argument("java/util/Map", "put", number);
        assert_eq!((put(0), put(1)), (Some(OnArgument::Reads), None));
        assert_eq!(kind_of(&["java/util/Base64$Encoder", "java/lang/Object"]), Kind::Own);
        assert_eq!(kind_of(&["java/util/Collections$EmptyList", "java/util/AbstractList"]), Kind::Silent);
        assert_eq!(call(true, &member("java/lang/System", "getProperty", "()V")), Call::Watched);
        assert!(is_entry("java/util/HashMap$Node") && !is_entry("java/util/AbstractMap$SimpleEntry"));
    }
}
