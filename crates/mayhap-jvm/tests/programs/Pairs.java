// Programs with one concurrency bug each, and their correct twins: a class `Name` has the bug, `NameFixed` has not. Most are small versions of
// programs that papers on predicting races and deadlocks use.

import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;

interface Work { void go() throws Exception; }

class Both {
    static Thread start(Work work) {
        Thread thread = new Thread(() -> { try { work.go(); } catch (Exception e) { throw new RuntimeException(e); } });
        thread.start();
        return thread;
    }
    static void run(Work first, Work second) throws Exception {
        Thread a = start(first), b = start(second);
        a.join();
        b.join();
    }
}

class Account {
    int balance;
    void deposit(int amount) { balance += amount; }
    public static void main(String[] args) throws Exception {
        Account account = new Account();
        Both.run(() -> account.deposit(10), () -> account.deposit(20));
        System.out.println(account.balance);
    }
}
class AccountFixed {
    int balance;
    synchronized void deposit(int amount) { balance += amount; }
    public static void main(String[] args) throws Exception {
        AccountFixed account = new AccountFixed();
        Both.run(() -> account.deposit(10), () -> account.deposit(20));
        System.out.println(account.balance);
    }
}

class Airline {
    static int sold;
    static boolean closed;
    static void sell() { if (!closed) { sold++; if (sold >= 2) closed = true; } }
    public static void main(String[] args) throws Exception {
        Both.run(Airline::sell, Airline::sell);
        System.out.println(sold);
    }
}
class AirlineFixed {
    static int sold;
    static boolean closed;
    static synchronized void sell() { if (!closed) { sold++; if (sold >= 2) closed = true; } }
    public static void main(String[] args) throws Exception {
        Both.run(AirlineFixed::sell, AirlineFixed::sell);
        System.out.println(sold);
    }
}

class Bubblesort {
    static final int[] data = {5, 4, 3, 2, 1};
    static void pass() { for (int i = 0; i + 1 < data.length; i++) if (data[i] > data[i + 1]) { int t = data[i]; data[i] = data[i + 1]; data[i + 1] = t; } }
    public static void main(String[] args) throws Exception {
        Both.run(Bubblesort::pass, Bubblesort::pass);
        System.out.println(Arrays.toString(data));
    }
}
class BubblesortFixed {
    static final int[] data = {5, 4, 3, 2, 1};
    static void pass() { synchronized (data) { for (int i = 0; i + 1 < data.length; i++) if (data[i] > data[i + 1]) { int t = data[i]; data[i] = data[i + 1]; data[i + 1] = t; } } }
    public static void main(String[] args) throws Exception {
        Both.run(BubblesortFixed::pass, BubblesortFixed::pass);
        System.out.println(Arrays.toString(data));
    }
}

class Bufwriter {
    final char[] buffer = new char[16];
    int used;
    void write(char c) { buffer[used] = c; used++; }
    public static void main(String[] args) throws Exception {
        Bufwriter writer = new Bufwriter();
        Both.run(() -> writer.write('a'), () -> writer.write('b'));
        System.out.println(writer.used);
    }
}
class BufwriterFixed {
    final char[] buffer = new char[16];
    int used;
    final Object guard = new Object();
    void write(char c) { synchronized (guard) { buffer[used] = c; used++; } }
    public static void main(String[] args) throws Exception {
        BufwriterFixed writer = new BufwriterFixed();
        Both.run(() -> writer.write('a'), () -> writer.write('b'));
        System.out.println(writer.used);
    }
}

class Mergesort {
    static int[] sorted = new int[2];
    public static void main(String[] args) throws Exception {
        Thread half = Both.start(() -> sorted[0] = 1);
        sorted[1] = sorted[0] + 1;
        half.join();
        System.out.println(sorted[1]);
    }
}
class MergesortFixed {
    static int[] sorted = new int[2];
    public static void main(String[] args) throws Exception {
        Thread half = Both.start(() -> sorted[0] = 1);
        half.join();
        sorted[1] = sorted[0] + 1;
        System.out.println(sorted[1]);
    }
}

class Critical {
    static int turn;
    static long total;
    static final Object guard = new Object();
    public static void main(String[] args) throws Exception {
        Both.run(() -> { synchronized (guard) { turn = 1; } total += 5L; }, () -> { synchronized (guard) { turn = 2; } total += 7L; });
        System.out.println(total);
    }
}
class CriticalFixed {
    static int turn;
    static long total;
    static final Object guard = new Object();
    public static void main(String[] args) throws Exception {
        Both.run(() -> { synchronized (guard) { turn = 1; total += 5L; } }, () -> { synchronized (guard) { turn = 2; total += 7L; } });
        System.out.println(total);
    }
}

class Elevator {
    static final List<Integer> calls = new ArrayList<>();
    public static void main(String[] args) throws Exception {
        Both.run(() -> calls.add(3), () -> calls.add(7));
        System.out.println(calls.size());
    }
}
class ElevatorFixed {
    static final List<Integer> calls = new ArrayList<>();
    public static void main(String[] args) throws Exception {
        Both.run(() -> { synchronized (calls) { calls.add(3); } }, () -> { synchronized (calls) { calls.add(7); } });
        System.out.println(calls.size());
    }
}

class Tsp {
    static int shortest = 100;
    static final Object guard = new Object();
    static void found(int length) { if (length < shortest) synchronized (guard) { if (length < shortest) shortest = length; } }
    public static void main(String[] args) throws Exception {
        Both.run(() -> found(40), () -> found(30));
        System.out.println(shortest);
    }
}
class TspFixed {
    static volatile int shortest = 100;
    static final Object guard = new Object();
    static void found(int length) { if (length < shortest) synchronized (guard) { if (length < shortest) shortest = length; } }
    public static void main(String[] args) throws Exception {
        Both.run(() -> found(40), () -> found(30));
        System.out.println(shortest);
    }
}

class ProducerConsumer {
    private final LinkedList<Integer> items = new LinkedList<>();
    synchronized void put(int v) throws InterruptedException { while (items.size() >= 2) wait(); items.add(v); notifyAll(); }
    synchronized int take() throws InterruptedException { while (items.isEmpty()) wait(); notifyAll(); return items.removeFirst(); }
    int waiting() { return items.size(); }
    public static void main(String[] args) throws Exception {
        ProducerConsumer pc = new ProducerConsumer();
        int[] seen = new int[1];
        Both.run(() -> { for (int i = 0; i < 4; i++) pc.put(i); }, () -> { seen[0] = pc.waiting(); for (int i = 0; i < 4; i++) pc.take(); });
        System.out.println(seen[0]);
    }
}
class ProducerConsumerFixed {
    private final LinkedList<Integer> items = new LinkedList<>();
    synchronized void put(int v) throws InterruptedException { while (items.size() >= 2) wait(); items.add(v); notifyAll(); }
    synchronized int take() throws InterruptedException { while (items.isEmpty()) wait(); notifyAll(); return items.removeFirst(); }
    synchronized int waiting() { return items.size(); }
    public static void main(String[] args) throws Exception {
        ProducerConsumerFixed pc = new ProducerConsumerFixed();
        int[] seen = new int[1];
        Both.run(() -> { for (int i = 0; i < 4; i++) pc.put(i); }, () -> { seen[0] = pc.waiting(); for (int i = 0; i < 4; i++) pc.take(); });
        System.out.println(seen[0]);
    }
}

class ReadersWriters {
    static final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    static int value;
    static void bump() { lock.readLock().lock(); try { value++; } finally { lock.readLock().unlock(); } }
    public static void main(String[] args) throws Exception {
        Both.run(ReadersWriters::bump, ReadersWriters::bump);
        System.out.println(value);
    }
}
class ReadersWritersFixed {
    static final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    static int value;
    static void bump() { lock.writeLock().lock(); try { value++; } finally { lock.writeLock().unlock(); } }
    static int look() { lock.readLock().lock(); try { return value; } finally { lock.readLock().unlock(); } }
    public static void main(String[] args) throws Exception {
        Both.run(ReadersWritersFixed::bump, () -> { bump(); look(); });
        System.out.println(look());
    }
}

class TwoLocks {
    static final Object first = new Object(), second = new Object();
    static int x;
    public static void main(String[] args) throws Exception {
        Both.run(() -> { synchronized (first) { synchronized (second) { x++; } } }, () -> { synchronized (second) { synchronized (first) { x++; } } });
        System.out.println(x);
    }
}
class TwoLocksFixed {
    static final Object first = new Object(), second = new Object();
    static int x;
    public static void main(String[] args) throws Exception {
        Both.run(() -> { synchronized (first) { synchronized (second) { x++; } } }, () -> { synchronized (first) { synchronized (second) { x++; } } });
        System.out.println(x);
    }
}

class Transfer {
    final ReentrantLock lock = new ReentrantLock();
    int money = 10;
    static void move(Transfer from, Transfer to) { from.lock.lock(); try { to.lock.lock(); try { from.money--; to.money++; } finally { to.lock.unlock(); } } finally { from.lock.unlock(); } }
    public static void main(String[] args) throws Exception {
        Transfer a = new Transfer(), b = new Transfer();
        Both.run(() -> move(a, b), () -> move(b, a));
        System.out.println(a.money + b.money);
    }
}
class TransferFixed {
    static final ReentrantLock outer = new ReentrantLock();
    final ReentrantLock lock = new ReentrantLock();
    int money = 10;
    static void move(TransferFixed from, TransferFixed to) { outer.lock(); try { from.lock.lock(); try { to.lock.lock(); try { from.money--; to.money++; } finally { to.lock.unlock(); } } finally { from.lock.unlock(); } } finally { outer.unlock(); } }
    public static void main(String[] args) throws Exception {
        TransferFixed a = new TransferFixed(), b = new TransferFixed();
        Both.run(() -> move(a, b), () -> move(b, a));
        System.out.println(a.money + b.money);
    }
}

class TwoStage {
    static final Object one = new Object(), two = new Object();
    static int data, copy;
    public static void main(String[] args) throws Exception {
        Both.run(() -> { synchronized (one) { data = 1; } synchronized (two) { copy = 2; } }, () -> { synchronized (two) { copy = data; } });
        System.out.println(copy);
    }
}
class TwoStageFixed {
    static final Object one = new Object(), two = new Object();
    static int data, copy;
    public static void main(String[] args) throws Exception {
        Both.run(() -> { synchronized (one) { data = 1; } synchronized (two) { copy = 2; } }, () -> { int d; synchronized (one) { d = data; } synchronized (two) { copy = d; } });
        System.out.println(copy);
    }
}

class DoubleChecked {
    static DoubleChecked instance;
    int ready;
    static DoubleChecked get() { if (instance == null) synchronized (DoubleChecked.class) { if (instance == null) { DoubleChecked made = new DoubleChecked(); made.ready = 1; instance = made; } } return instance; }
    public static void main(String[] args) throws Exception {
        Both.run(() -> System.out.println(get().ready), () -> System.out.println(get().ready));
    }
}
class DoubleCheckedFixed {
    static volatile DoubleCheckedFixed instance;
    int ready;
    static DoubleCheckedFixed get() { if (instance == null) synchronized (DoubleCheckedFixed.class) { if (instance == null) { DoubleCheckedFixed made = new DoubleCheckedFixed(); made.ready = 1; instance = made; } } return instance; }
    public static void main(String[] args) throws Exception {
        Both.run(() -> System.out.println(get().ready), () -> System.out.println(get().ready));
    }
}

class Pool {
    static int hits;
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        pool.execute(() -> hits++);
        pool.execute(() -> hits++);
        pool.shutdown();
        pool.awaitTermination(10, TimeUnit.SECONDS);
        System.out.println(hits);
    }
}
class PoolFixed {
    static final AtomicInteger hits = new AtomicInteger();
    static int before = 1, after;
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        before = 2;
        pool.execute(() -> { hits.incrementAndGet(); after = before; });
        pool.execute(() -> hits.incrementAndGet());
        pool.shutdown();
        pool.awaitTermination(10, TimeUnit.SECONDS);
        System.out.println(hits.get() + " " + after);
    }
}

class Result {
    static int answer;
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newSingleThreadExecutor();
        Future<?> future = pool.submit(() -> { answer = 42; });
        int early = answer;
        future.get();
        System.out.println(early >= 0);
        pool.shutdown();
    }
}
class ResultFixed {
    static int answer;
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newSingleThreadExecutor();
        Future<Integer> future = pool.submit(() -> { answer = 42; return answer; });
        System.out.println(future.get() + answer);
        answer = 1;
        pool.shutdown();
    }
}

class Publish {
    static int data;
    static boolean ready;
    public static void main(String[] args) throws Exception {
        Both.run(() -> { data = 7; ready = true; }, () -> { if (ready) System.out.println(data); });
    }
}
class PublishFixed {
    static int data;
    static volatile boolean ready;
    public static void main(String[] args) throws Exception {
        Both.run(() -> { data = 7; ready = true; }, () -> { while (!ready) Thread.yield(); System.out.println(data); });
    }
}

class Cache {
    static final Map<String, Integer> map = new HashMap<>();
    public static void main(String[] args) throws Exception {
        Both.run(() -> map.put("a", 1), () -> map.get("a"));
        System.out.println(map.size());
    }
}
class CacheFixed {
    static final Map<String, Integer> map = new ConcurrentHashMap<>();
    static final Map<String, Integer> other = Collections.synchronizedMap(new HashMap<>());
    public static void main(String[] args) throws Exception {
        Both.run(() -> { map.put("a", 1); other.put("b", 2); }, () -> { map.get("a"); other.get("b"); });
        System.out.println(map.size() + other.size());
    }
}

class Latched {
    static int value;
    public static void main(String[] args) throws Exception {
        CountDownLatch latch = new CountDownLatch(1);
        Both.run(() -> { latch.countDown(); value = 3; }, () -> { latch.await(); System.out.println(value >= 0); });
    }
}
class LatchedFixed {
    static int value;
    public static void main(String[] args) throws Exception {
        CountDownLatch latch = new CountDownLatch(1);
        Both.run(() -> { value = 3; latch.countDown(); }, () -> { latch.await(); System.out.println(value); });
    }
}

class Permits {
    static final Semaphore permits = new Semaphore(2);
    static int used;
    static void use() throws InterruptedException { permits.acquire(); used++; permits.release(); }
    public static void main(String[] args) throws Exception {
        Both.run(Permits::use, Permits::use);
        System.out.println(used);
    }
}
class PermitsFixed {
    static final Semaphore permits = new Semaphore(1);
    static int used;
    static void use() throws InterruptedException { permits.acquire(); used++; permits.release(); }
    public static void main(String[] args) throws Exception {
        Both.run(PermitsFixed::use, PermitsFixed::use);
        System.out.println(used);
    }
}

class Bounded {
    final ReentrantLock lock = new ReentrantLock();
    final Condition changed = lock.newCondition();
    int count;
    void put() throws InterruptedException { lock.lock(); try { while (count == 1) changed.await(); count++; changed.signalAll(); } finally { lock.unlock(); } }
    void take() throws InterruptedException { lock.lock(); try { while (count == 0) changed.await(); count--; changed.signalAll(); } finally { lock.unlock(); } }
    public static void main(String[] args) throws Exception {
        Bounded bounded = new Bounded();
        Both.run(() -> { for (int i = 0; i < 3; i++) bounded.put(); }, () -> { System.out.println(bounded.count >= 0); for (int i = 0; i < 3; i++) bounded.take(); });
    }
}
class BoundedFixed {
    final ReentrantLock lock = new ReentrantLock();
    final Condition changed = lock.newCondition();
    int count;
    void put() throws InterruptedException { lock.lock(); try { while (count == 1) changed.await(); count++; changed.signalAll(); } finally { lock.unlock(); } }
    void take() throws InterruptedException { lock.lock(); try { while (count == 0) changed.await(); count--; changed.signalAll(); } finally { lock.unlock(); } }
    public static void main(String[] args) throws Exception {
        BoundedFixed bounded = new BoundedFixed();
        Both.run(() -> { for (int i = 0; i < 3; i++) bounded.put(); }, () -> { for (int i = 0; i < 3; i++) bounded.take(); });
        System.out.println(bounded.count);
    }
}

class Interrupted {
    static final Object guard = new Object();
    static int state;
    public static void main(String[] args) throws Exception {
        Thread sleeper = Both.start(() -> { try { synchronized (guard) { guard.wait(); } } catch (InterruptedException e) { state = 1; } });
        Thread.sleep(50);
        sleeper.interrupt();
        state = 2;
        sleeper.join();
        System.out.println(state > 0);
    }
}
class InterruptedFixed {
    static final Object guard = new Object();
    static int state;
    public static void main(String[] args) throws Exception {
        Thread sleeper = Both.start(() -> { try { synchronized (guard) { guard.wait(); } } catch (InterruptedException e) { state = 1; } });
        Thread.sleep(50);
        sleeper.interrupt();
        sleeper.join();
        System.out.println(state);
    }
}

class QueueHandOver {
    static int[] shared = new int[1];
    public static void main(String[] args) throws Exception {
        BlockingQueue<int[]> queue = new LinkedBlockingQueue<>();
        Both.run(() -> { queue.put(shared); shared[0] = 9; }, () -> System.out.println(queue.take()[0] >= 0));
    }
}
class QueueHandOverFixed {
    public static void main(String[] args) throws Exception {
        BlockingQueue<int[]> queue = new LinkedBlockingQueue<>();
        Both.run(() -> { int[] box = new int[1]; box[0] = 9; queue.put(box); }, () -> System.out.println(queue.take()[0]));
    }
}

class BarrierLate {
    static int sum;
    public static void main(String[] args) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(2);
        Both.run(() -> { barrier.await(); sum += 1; }, () -> { barrier.await(); sum += 2; });
        System.out.println(sum);
    }
}
class BarrierLateFixed {
    static int sum;
    static final int[] parts = new int[2];
    public static void main(String[] args) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(2, () -> sum = parts[0] + parts[1]);
        Both.run(() -> { parts[0] = 1; barrier.await(); }, () -> { parts[1] = 2; barrier.await(); });
        System.out.println(sum);
    }
}

class Unsynchronized {
    static final StringBuilder text = new StringBuilder();
    public static void main(String[] args) throws Exception {
        Both.run(() -> text.append("ab"), () -> text.append("cd"));
        System.out.println(text.length() > 0);
    }
}
class UnsynchronizedFixed {
    static final StringBuffer text = new StringBuffer();
    public static void main(String[] args) throws Exception {
        Both.run(() -> text.append("ab"), () -> text.append("cd"));
        System.out.println(text.length());
    }
}

class Copied {
    static final int[] table = new int[4], fresh = {1, 2, 3, 4};
    public static void main(String[] args) throws Exception {
        Both.run(() -> System.arraycopy(fresh, 0, table, 0, 4), () -> System.out.println(table[2] >= 0));
    }
}
class CopiedFixed {
    static final int[] table = new int[4], fresh = {1, 2, 3, 4};
    public static void main(String[] args) throws Exception {
        Both.run(() -> { synchronized (table) { System.arraycopy(fresh, 0, table, 0, 4); } }, () -> { synchronized (table) { System.out.println(table[2] >= 0); } });
    }
}

class Sorted {
    static final List<Integer> list = new ArrayList<>(List.of(3, 1, 2));
    public static void main(String[] args) throws Exception {
        Both.run(() -> Collections.sort(list), () -> System.out.println(list.get(0) > 0));
    }
}
class SortedFixed {
    static final List<Integer> list = new ArrayList<>(List.of(3, 1, 2));
    public static void main(String[] args) throws Exception {
        Both.run(() -> { synchronized (list) { Collections.sort(list); } }, () -> { synchronized (list) { System.out.println(list.get(0) > 0); } });
    }
}

class Iterated {
    static final Map<String, Integer> map = new TreeMap<>(Map.of("a", 1, "b", 2));
    public static void main(String[] args) throws Exception {
        Both.run(() -> { synchronized (map) { map.put("a", 3); } }, () -> { int sum = 0; for (Map.Entry<String, Integer> e : map.entrySet()) sum += e.getValue(); System.out.println(sum > 0); });
    }
}
class IteratedFixed {
    static final Map<String, Integer> map = new TreeMap<>(Map.of("a", 1, "b", 2));
    public static void main(String[] args) throws Exception {
        Both.run(() -> { synchronized (map) { map.put("a", 3); } }, () -> { int sum = 0; synchronized (map) { for (Map.Entry<String, Integer> e : map.entrySet()) sum += e.getValue(); } System.out.println(sum > 0); });
    }
}

class Referred {
    static final List<Integer> list = new ArrayList<>();
    public static void main(String[] args) throws Exception {
        Both.run(() -> List.of(1, 2).forEach(list::add), () -> list.add(3));
        System.out.println(list.size() > 0);
    }
}
class ReferredFixed {
    static final List<Integer> list = new CopyOnWriteArrayList<>();
    public static void main(String[] args) throws Exception {
        Both.run(() -> List.of(1, 2).forEach(list::add), () -> list.add(3));
        System.out.println(list.size());
    }
}

class EarlyFuture {
    static int value;
    public static void main(String[] args) throws Exception {
        CompletableFuture<Integer> later = CompletableFuture.supplyAsync(() -> value = 4);
        System.out.println(value >= 0);
        later.join();
    }
}
class EarlyFutureFixed {
    static int value;
    public static void main(String[] args) throws Exception {
        CompletableFuture<Integer> later = CompletableFuture.supplyAsync(() -> value = 4);
        later.join();
        System.out.println(value);
    }
}

class InvokedBoth {
    static int count;
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        List<Callable<Integer>> tasks = List.of(() -> count++, () -> count++);
        pool.invokeAll(tasks);
        System.out.println(count);
        pool.shutdown();
    }
}
class InvokedBothFixed {
    static final AtomicInteger count = new AtomicInteger();
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        List<Callable<Integer>> tasks = List.of(count::incrementAndGet, count::incrementAndGet);
        pool.invokeAll(tasks);
        System.out.println(count.get());
        pool.shutdown();
    }
}

class HandleWrite {
    int value;
    static final java.lang.invoke.VarHandle VALUE;
    static { try { VALUE = java.lang.invoke.MethodHandles.lookup().findVarHandle(HandleWrite.class, "value", int.class); } catch (Exception e) { throw new Error(e); } }
    public static void main(String[] args) throws Exception {
        HandleWrite one = new HandleWrite();
        Both.run(() -> VALUE.set(one, 5), () -> System.out.println(one.value >= 0));
    }
}
class HandleWriteFixed {
    volatile int value;
    static final java.lang.invoke.VarHandle VALUE;
    static { try { VALUE = java.lang.invoke.MethodHandles.lookup().findVarHandle(HandleWriteFixed.class, "value", int.class); } catch (Exception e) { throw new Error(e); } }
    public static void main(String[] args) throws Exception {
        HandleWriteFixed one = new HandleWriteFixed();
        Both.run(() -> VALUE.setVolatile(one, 5), () -> System.out.println(one.value >= 0));
    }
}

class Reflection {
    int value;
    public static void main(String[] args) throws Exception {
        Reflection one = new Reflection();
        java.lang.reflect.Field field = Reflection.class.getDeclaredField("value");
        Both.run(() -> field.setInt(one, 5), () -> System.out.println(one.value >= 0));
    }
}
class ReflectionFixed {
    int value;
    public static void main(String[] args) throws Exception {
        ReflectionFixed one = new ReflectionFixed();
        java.lang.reflect.Field field = ReflectionFixed.class.getDeclaredField("value");
        Both.run(() -> { synchronized (one) { field.setInt(one, 5); } }, () -> { synchronized (one) { System.out.println(one.value >= 0); } });
    }
}

class Escaped {
    static Escaped shared;
    int ready;
    Escaped() { shared = this; ready = 1; }
    public static void main(String[] args) throws Exception {
        Both.run(() -> new Escaped(), () -> { Escaped seen = shared; if (seen != null) System.out.println(seen.ready >= 0); });
    }
}
class EscapedFixed {
    static volatile EscapedFixed shared;
    int ready;
    EscapedFixed() { ready = 1; }
    public static void main(String[] args) throws Exception {
        Both.run(() -> shared = new EscapedFixed(), () -> { EscapedFixed seen = shared; if (seen != null) System.out.println(seen.ready); });
    }
}

class MixedLocks {
    static final Object monitor = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static int x;
    public static void main(String[] args) throws Exception {
        Both.run(() -> { synchronized (monitor) { lock.lock(); try { x++; } finally { lock.unlock(); } } }, () -> { lock.lock(); try { synchronized (monitor) { x++; } } finally { lock.unlock(); } });
        System.out.println(x);
    }
}
class MixedLocksFixed {
    static final Object monitor = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static int x;
    static void bump() { synchronized (monitor) { lock.lock(); try { x++; } finally { lock.unlock(); } } }
    public static void main(String[] args) throws Exception {
        Both.run(MixedLocksFixed::bump, MixedLocksFixed::bump);
        System.out.println(x);
    }
}

class ThreeLocks {
    static final Object a = new Object(), b = new Object(), c = new Object();
    static int x;
    static void take(Object first, Object second) { synchronized (first) { synchronized (second) { x = 1; } } }
    public static void main(String[] args) throws Exception {
        Thread other = Both.start(() -> take(c, a));
        Both.run(() -> take(a, b), () -> take(b, c));
        other.join();
        System.out.println(x);
    }
}
class ThreeLocksFixed {
    static final Object a = new Object(), b = new Object(), c = new Object();
    static volatile int x;
    static void take(Object first, Object second) { synchronized (first) { synchronized (second) { x = 1; } } }
    public static void main(String[] args) throws Exception {
        Thread other = Both.start(() -> take(a, c));
        Both.run(() -> take(a, b), () -> take(b, c));
        other.join();
        System.out.println(x);
    }
}

class Unstarted {
    static int value;
    public static void main(String[] args) throws Exception {
        Thread one = Both.start(() -> value = 1);
        value = 2;
        one.join();
        System.out.println(value > 0);
    }
}
class UnstartedFixed {
    static int value;
    public static void main(String[] args) throws Exception {
        value = 2;
        Thread one = Both.start(() -> value = 1);
        one.join();
        System.out.println(value);
    }
}

class Downgraded {
    static final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    static int value;
    static void change() { lock.writeLock().lock(); value++; lock.readLock().lock(); lock.writeLock().unlock(); lock.readLock().unlock(); value++; }
    public static void main(String[] args) throws Exception {
        Both.run(Downgraded::change, Downgraded::change);
        System.out.println(value);
    }
}
class DowngradedFixed {
    static final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    static int value;
    static int change() { lock.writeLock().lock(); value++; lock.readLock().lock(); lock.writeLock().unlock(); try { return value; } finally { lock.readLock().unlock(); } }
    public static void main(String[] args) throws Exception {
        Both.run(DowngradedFixed::change, DowngradedFixed::change);
        System.out.println(value);
    }
}

class Streamed {
    static int total;
    public static void main(String[] args) throws Exception {
        Both.run(() -> List.of(1, 2).stream().forEach(x -> total += x), () -> List.of(3).stream().forEach(x -> total += x));
        System.out.println(total > 0);
    }
}
class StreamedFixed {
    static final LongAdder total = new LongAdder();
    public static void main(String[] args) throws Exception {
        Both.run(() -> List.of(1, 2).stream().forEach(x -> total.add(x)), () -> List.of(3).stream().forEach(x -> total.add(x)));
        System.out.println(total.sum());
    }
}

class TimerTick {
    static int ticks;
    public static void main(String[] args) throws Exception {
        Timer timer = new Timer(true);
        CountDownLatch latch = new CountDownLatch(1);
        timer.schedule(new TimerTask() { public void run() { latch.countDown(); ticks++; } }, 1);
        latch.await();
        System.out.println(ticks >= 0);
        Thread.sleep(20);
        timer.cancel();
    }
}
class TimerTickFixed {
    static int ticks;
    public static void main(String[] args) throws Exception {
        Timer timer = new Timer(true);
        CountDownLatch latch = new CountDownLatch(1);
        timer.schedule(new TimerTask() { public void run() { ticks++; latch.countDown(); } }, 1);
        latch.await();
        System.out.println(ticks);
        timer.cancel();
    }
}
