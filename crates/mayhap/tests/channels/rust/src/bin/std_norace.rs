//! The library's own: once, lazy, barrier, park, scoped threads, sockets, a child's output.
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::{mpsc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};
use std::thread;

static mut VALUE: u32 = 0;
static START: Once = Once::new();
static CELL: OnceLock<u32> = OnceLock::new();
static LAZY: LazyLock<Vec<u32>> = LazyLock::new(|| vec![1, 2, 3]);
static DOORS: RwLock<u32> = RwLock::new(0);

fn main() {
    let barrier = Barrier::new(2);
    let pair = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            START.call_once(|| unsafe { VALUE = 1 });
            CELL.get_or_init(|| LAZY[1]);
            *DOORS.write().unwrap() += 1;
            *pair.0.lock().unwrap() = true;
            pair.1.notify_one();
            barrier.wait();
        });
        START.call_once(|| unsafe { VALUE = 1 });
        assert!(unsafe { VALUE } == 1 && *CELL.get_or_init(|| LAZY[1]) == 2);
        let _ = *DOORS.read().unwrap();
        drop(pair.1.wait_while(pair.0.lock().unwrap(), |done| !*done).unwrap());
        barrier.wait();
    });
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    let (to, from) = mpsc::channel::<thread::Thread>();
    let other = thread::spawn(move || {
        let mut byte = [0];
        theirs.read_exact(&mut byte).unwrap();
        unsafe { VALUE += 1 };
        from.recv().unwrap().unpark();
    });
    unsafe { VALUE += 1 };
    ours.write_all(b"x").unwrap();
    to.send(thread::current()).unwrap();
    thread::park();
    other.join().unwrap();
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        text.len()
    });
    child.stdin.take().unwrap().write_all(b"text").unwrap();
    assert_eq!(reader.join().unwrap(), 4);
    child.wait().unwrap();
}
