// More correct programs: unusual uses of the language and its library. None has a race or a deadlock.

import java.lang.invoke.*;
import java.lang.ref.*;
import java.lang.reflect.*;
import java.nio.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
import java.util.function.*;
import java.util.stream.*;

class OptimisticRead {
    static final StampedLock lock = new StampedLock();
    static volatile int x, y;
    static int plain;
    public static void main(String[] args) throws Exception {
        Act write = () -> { long s = lock.writeLock(); try { x++; y++; plain++; } finally { lock.unlockWrite(s); } };
        Act read = () -> {
            long s = lock.tryOptimisticRead();
            int a = x, b = y;
            if (!lock.validate(s)) { s = lock.readLock(); try { a = x; b = y; } finally { lock.unlockRead(s); } }
            Pair.check(a == b);
        };
        Pair.run(write, read, write);
        Act convert = () -> {
            long s = lock.readLock();
            try {
                while (plain < 10) {
                    long w = lock.tryConvertToWriteLock(s);
                    if (w != 0) { s = w; plain++; } else { lock.unlockRead(s); s = lock.writeLock(); }
                }
            } finally { lock.unlock(s); }
        };
        Pair.run(convert, convert);
        Pair.check(plain == 10);
        Lock view = lock.asWriteLock();
        Act viewed = () -> { view.lock(); try { plain++; } finally { view.unlock(); } };
        Pair.run(viewed, viewed);
    }
}
class ExchangeTimed {
    public static void main(String[] args) throws Exception {
        Exchanger<StringBuilder> exchanger = new Exchanger<>();
        Act act = () -> {
            StringBuilder own = new StringBuilder("a");
            for (int i = 0; i < 3; i++) {
                own.append(i);
                try { own = exchanger.exchange(own, 20, TimeUnit.SECONDS); } catch (TimeoutException e) { return; }
            }
            Pair.check(own.length() == 4);
        };
        Pair.run(act, act);
    }
}
class PhaserTiers {
    static final int[] slots = new int[4];
    public static void main(String[] args) throws Exception {
        Phaser root = new Phaser();
        Phaser left = new Phaser(root, 2), right = new Phaser(root, 2);
        Act[] acts = new Act[4];
        for (int i = 0; i < 4; i++) {
            int n = i;
            Phaser own = i < 2 ? left : right;
            acts[i] = () -> { slots[n] = n + 1; own.arriveAndAwaitAdvance(); Pair.check(slots[0] + slots[1] + slots[2] + slots[3] == 10); own.arriveAndDeregister(); };
        }
        Pair.run(acts);
        Phaser gate = new Phaser(1);
        int[] box = new int[1];
        Pair.run(() -> { box[0] = 5; gate.arrive(); }, () -> { gate.awaitAdvance(0); Pair.check(box[0] == 5); });
    }
}
class LatchStartDone {
    static int config, sum;
    public static void main(String[] args) throws Exception {
        CountDownLatch start = new CountDownLatch(1), done = new CountDownLatch(2);
        int[] out = new int[2];
        Thread a = Pair.start(() -> { start.await(); out[0] = config; done.countDown(); });
        Thread b = Pair.start(() -> { start.await(); out[1] = config; done.countDown(); });
        config = 21;
        start.countDown();
        if (done.await(20, TimeUnit.SECONDS)) sum = out[0] + out[1];
        a.join(); b.join();
        Pair.check(sum == 42);
    }
}
class BarrierRounds {
    static final int[] cells = new int[3];
    static int round;
    public static void main(String[] args) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(3, () -> round++);
        Act[] acts = new Act[3];
        for (int i = 0; i < 3; i++) {
            int n = i;
            acts[i] = () -> {
                for (int r = 0; r < 3; r++) {
                    cells[n] = r * 3 + n;
                    barrier.await();
                    Pair.check(cells[(n + 1) % 3] == r * 3 + (n + 1) % 3 && round == 2 * r + 1);
                    barrier.await(20, TimeUnit.SECONDS);
                }
            };
        }
        Pair.run(acts);
        Pair.check(round == 6);
    }
}
class BarrierBroken {
    static int seen;
    public static void main(String[] args) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(2);
        Thread waiter = Pair.start(() -> { try { barrier.await(); } catch (BrokenBarrierException e) { Pair.check(seen == 4); } });
        seen = 4;
        barrier.reset();
        try { while (waiter.isAlive()) { if (barrier.getNumberWaiting() > 0) barrier.reset(); Thread.sleep(1); } } finally { waiter.join(); }
    }
}
class ForkJoinMore {
    static final long[] data = new long[128];
    static class Count extends CountedCompleter<Long> {
        final int from, to; long sum; Count other;
        Count(CountedCompleter<?> parent, int from, int to) { super(parent); this.from = from; this.to = to; }
        public void compute() {
            if (to - from > 16) {
                int middle = (from + to) / 2;
                setPendingCount(1);
                other = new Count(this, middle, to);
                other.fork();
                for (int i = from; i < middle; i++) sum += data[i];
            } else for (int i = from; i < to; i++) sum += data[i];
            tryComplete();
        }
        public void onCompletion(CountedCompleter<?> caller) { if (other != null) sum += other.sum; }
        public Long getRawResult() { return sum; }
    }
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 128; i++) data[i] = i;
        Pair.check(new Count(null, 0, 128).invoke() == 8128);
        data[0] = 1;
        ForkJoinTask<Integer> task = ForkJoinPool.commonPool().submit(() -> { data[1] = 5; return 1; });
        Pair.check(task.join() == 1 && data[1] == 5);
        ForkJoinTask<?> quiet = ForkJoinTask.adapt(() -> { data[2] = 7; }).fork();
        quiet.quietlyJoin();
        Pair.check(data[2] == 7);
        List<ForkJoinTask<?>> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) { int n = i; all.add(ForkJoinTask.adapt(() -> { data[n] = n; })); }
        ForkJoinTask.invokeAll(all);
        Pair.check(data[3] == 3);
    }
}
class FutureChains {
    static int a, b, c, d;
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        CompletableFuture<Integer> left = CompletableFuture.supplyAsync(() -> a = 1, pool);
        CompletableFuture<Integer> right = CompletableFuture.supplyAsync(() -> b = 2, pool);
        CompletableFuture<Integer> both = left.thenCombineAsync(right, (x, y) -> c = a + b + x + y, pool);
        CompletableFuture<Integer> next = both.thenCompose(x -> CompletableFuture.supplyAsync(() -> d = c + x, pool));
        Pair.check(next.get(20, TimeUnit.SECONDS) == 12 && d == 12);
        CompletableFuture<Integer> late = new CompletableFuture<>();
        CompletableFuture<Integer> caught = late.exceptionally(e -> a).whenComplete((x, e) -> { b = x; });
        a = 30;
        Thread thrower = Pair.start(() -> late.completeExceptionally(new IllegalStateException()));
        Pair.check(caught.join() == 30 && b == 30);
        thrower.join();
        CompletableFuture<Object> any = CompletableFuture.anyOf(CompletableFuture.supplyAsync(() -> 4, pool), new CompletableFuture<>());
        Pair.check((int) any.join() == 4);
        Pair.check(new CompletableFuture<Integer>().completeOnTimeout(3, 5, TimeUnit.MILLISECONDS).join() == 3);
        try { new CompletableFuture<Integer>().orTimeout(5, TimeUnit.MILLISECONDS).join(); } catch (CompletionException e) { a = 5; }
        CompletionStage<Integer> stage = CompletableFuture.completedStage(3).thenApplyAsync(x -> a + x, pool);
        Pair.check(stage.toCompletableFuture().join() == 8);
        pool.shutdown();
    }
}
class MapFunctions {
    static class Counter { int n; }
    public static void main(String[] args) throws Exception {
        ConcurrentHashMap<String, Counter> map = new ConcurrentHashMap<>();
        Act act = () -> {
            for (int i = 0; i < 3; i++) {
                map.compute("a", (k, v) -> { if (v == null) v = new Counter(); v.n++; return v; });
                map.computeIfPresent("a", (k, v) -> { v.n += 2; return v; });
                map.merge("b", new Counter(), (x, y) -> { Counter z = new Counter(); z.n = x.n + 1; return z; });
            }
        };
        Pair.run(act, act);
        Pair.check(map.get("a").n == 18 && map.get("b").n == 5);
        map.forEach(1, (k, v) -> Pair.check(v.n > 0));
        Pair.check(map.reduceValuesToInt(1, v -> v.n, 0, Integer::sum) == 23);
        ConcurrentMap<String, int[]> boxes = new ConcurrentHashMap<>();
        Act put = () -> { int[] mine = {0}; mine[0] = 3; int[] old = boxes.putIfAbsent("x", mine); Pair.check((old == null ? mine : old)[0] == 3); };
        Pair.run(put, put);
        Set<String> keys = ConcurrentHashMap.newKeySet();
        int[] once = new int[1];
        Act first = () -> { if (keys.add("only")) once[0] = 1; };
        Pair.run(first, first);
        Pair.check(once[0] == 1);
    }
}
class QueueWorkers {
    static class Job { int input, output; Job(int input) { this.input = input; } }
    static final Job END = new Job(-1);
    public static void main(String[] args) throws Exception {
        BlockingQueue<Job> in = new ArrayBlockingQueue<>(2);
        BlockingQueue<Job> out = new LinkedBlockingQueue<>();
        Act worker = () -> {
            while (true) {
                Job job = in.poll(20, TimeUnit.SECONDS);
                if (job == END) { in.put(END); return; }
                job.output = job.input * 2;
                out.offer(job);
            }
        };
        Thread a = Pair.start(worker), b = Pair.start(worker);
        for (int i = 0; i < 6; i++) { Job job = new Job(i); job.input++; in.put(job); }
        int sum = 0;
        for (int i = 0; i < 6; i++) sum += out.take().output;
        in.put(END);
        a.join(); b.join();
        Pair.check(sum == 42);
        BlockingDeque<int[]> deque = new LinkedBlockingDeque<>();
        TransferQueue<int[]> transfer = new LinkedTransferQueue<>();
        Pair.run(() -> { int[] x = {1}; x[0] = 2; deque.putFirst(x); int[] y = {0}; y[0] = 9; transfer.transfer(y); y[0] = 10; },
                 () -> { Pair.check(deque.takeLast()[0] == 2); transfer.take(); });
        SynchronousQueue<int[]> direct = new SynchronousQueue<>(true);
        Pair.run(() -> { int[] x = {0}; x[0] = 4; direct.put(x); }, () -> Pair.check(direct.take()[0] == 4));
    }
}
class CachedData {
    static final ReentrantReadWriteLock lock = new ReentrantReadWriteLock(true);
    static int[] data;
    static volatile boolean valid;
    static int use() {
        lock.readLock().lock();
        if (!valid) {
            lock.readLock().unlock();
            lock.writeLock().lock();
            try { if (!valid) { data = new int[] {7}; valid = true; } lock.readLock().lock(); } finally { lock.writeLock().unlock(); }
        }
        try { return data[0]; } finally { lock.readLock().unlock(); }
    }
    public static void main(String[] args) throws Exception {
        Act act = () -> { for (int i = 0; i < 3; i++) Pair.check(use() == 7); };
        Pair.run(act, act, act);
        Pair.check(lock.getReadLockCount() == 0 && !lock.isWriteLocked());
    }
}
class VolatilePublished {
    int a; int[] b; String c;
    static volatile VolatilePublished shared;
    static volatile boolean flag;
    static int before;
    public static void main(String[] args) throws Exception {
        Pair.run(() -> { VolatilePublished p = new VolatilePublished(); p.a = 1; p.b = new int[] {2}; p.c = "x"; shared = p; },
                 () -> { VolatilePublished p; while ((p = shared) == null) Thread.onSpinWait(); Pair.check(p.a == 1 && p.b[0] == 2 && p.c.equals("x")); });
        Pair.run(() -> { before = 3; flag = true; }, () -> { while (!flag) Thread.onSpinWait(); Pair.check(before == 3); before = 4; });
        Pair.run(() -> { before = 5; flag = false; }, () -> { if (!flag) Pair.check(before >= 4); });
    }
}
class FinalHolder {
    static class Box { final int[] content; final Map<String, Integer> map; final Box next; Box(int n, Box next) { content = new int[] {n, n}; map = new HashMap<>(); map.put("n", n); this.next = next; } }
    static volatile Box box = new Box(0, null);
    public static void main(String[] args) throws Exception {
        Pair.run(() -> { for (int i = 1; i < 4; i++) box = new Box(i, box); },
                 () -> { for (int i = 0; i < 4; i++) { Box b = box; Pair.check(b.content[0] == b.map.get("n") && b.content[0] == b.content[1]); if (b.next != null) Pair.check(b.next.content[0] == b.content[0] - 1); } });
    }
}
class HandleModes {
    int flag, turn; long big; Object ref; int data;
    static int s;
    static final VarHandle FLAG, BIG, REF, STATIC;
    static {
        try {
            MethodHandles.Lookup l = MethodHandles.lookup();
            FLAG = l.findVarHandle(HandleModes.class, "flag", int.class);
            BIG = l.findVarHandle(HandleModes.class, "big", long.class);
            REF = l.findVarHandle(HandleModes.class, "ref", Object.class);
            STATIC = l.findStaticVarHandle(HandleModes.class, "s", int.class);
        } catch (Exception e) { throw new Error(e); }
    }
    public static void main(String[] args) throws Exception {
        HandleModes h = new HandleModes();
        Pair.run(() -> { h.data = 1; VarHandle.releaseFence(); FLAG.setOpaque(h, 1); FLAG.setRelease(h, 2); }, () -> { while ((int) FLAG.getAcquire(h) != 2) Thread.onSpinWait(); Pair.check(h.data == 1); });
        Act lock = () -> { for (int i = 0; i < 3; i++) { while (!FLAG.weakCompareAndSetAcquire(h, 2, 3)) Thread.yield(); h.data++; FLAG.setRelease(h, 2); } };
        Pair.run(lock, lock);
        Act add = () -> { for (int i = 0; i < 3; i++) { long old = (long) BIG.getAndAdd(h, 5L); Pair.check(old % 5 == 0); } };
        Pair.run(add, add);
        Pair.check((long) BIG.getVolatile(h) == 30);
        Pair.run(() -> { int[] made = {0}; made[0] = 8; REF.setRelease(h, made); }, () -> { Object got; while ((got = REF.getAcquire(h)) == null) Thread.yield(); Pair.check(((int[]) got)[0] == 8); });
        Pair.run(() -> { h.data = 50; STATIC.setVolatile(1); }, () -> { while ((int) STATIC.getVolatile() == 0) Thread.yield(); Pair.check(h.data == 50); });
    }
}
class TreiberStack {
    static class Node { int value; Node next; Node(int v) { value = v; } }
    static final AtomicReference<Node> top = new AtomicReference<>();
    static void push(int v) { Node n = new Node(v); do { n.next = top.get(); } while (!top.compareAndSet(n.next, n)); }
    static int pop() { while (true) { Node n = top.get(); if (n == null) return -1; if (top.compareAndSet(n, n.next)) return n.value; } }
    public static void main(String[] args) throws Exception {
        AtomicInteger sum = new AtomicInteger();
        Act act = () -> { for (int i = 1; i <= 3; i++) { push(i); int v = pop(); if (v > 0) sum.addAndGet(v); } };
        Pair.run(act, act);
        int rest; while ((rest = pop()) > 0) sum.addAndGet(rest);
        Pair.check(sum.get() == 12);
    }
}
class Updaters {
    volatile int count; volatile long total; volatile Updaters next; int data;
    static final AtomicIntegerFieldUpdater<Updaters> COUNT = AtomicIntegerFieldUpdater.newUpdater(Updaters.class, "count");
    static final AtomicLongFieldUpdater<Updaters> TOTAL = AtomicLongFieldUpdater.newUpdater(Updaters.class, "total");
    static final AtomicReferenceFieldUpdater<Updaters, Updaters> NEXT = AtomicReferenceFieldUpdater.newUpdater(Updaters.class, Updaters.class, "next");
    public static void main(String[] args) throws Exception {
        Updaters u = new Updaters();
        Act act = () -> { for (int i = 0; i < 3; i++) { COUNT.incrementAndGet(u); TOTAL.addAndGet(u, 2); } Updaters mine = new Updaters(); mine.data = 4; if (!NEXT.compareAndSet(u, null, mine)) Pair.check(u.next.data == 4); };
        Pair.run(act, act);
        Pair.check(u.count == 6 && u.total == 12);
        Pair.run(() -> { u.data = 1; COUNT.lazySet(u, 100); }, () -> { while (u.count != 100) Thread.yield(); Pair.check(u.data == 1); });
        Pair.run(() -> { u.data = 2; u.count = 7; }, () -> { while (COUNT.get(u) != 7) Thread.yield(); Pair.check(u.data == 2); });
    }
}
class Adders {
    static final LongAdder hits = new LongAdder();
    static final DoubleAdder weight = new DoubleAdder();
    static final AtomicLongArray slots = new AtomicLongArray(2);
    static final AtomicReferenceArray<int[]> boxes = new AtomicReferenceArray<>(1);
    public static void main(String[] args) throws Exception {
        Act act = () -> { for (int i = 0; i < 5; i++) { hits.increment(); weight.add(0.5); slots.incrementAndGet(i % 2); } };
        Pair.run(act, act);
        Pair.check(hits.sum() == 10 && weight.sum() == 5.0 && slots.get(0) + slots.get(1) == 10);
        Pair.run(() -> { int[] b = {0}; b[0] = 3; boxes.set(0, b); }, () -> { int[] b; while ((b = boxes.get(0)) == null) Thread.yield(); Pair.check(b[0] == 3); });
        Pair.check(hits.sumThenReset() == 10);
    }
}
class LocalState {
    int n;
    static final ThreadLocal<LocalState> state = new ThreadLocal<>() { protected LocalState initialValue() { LocalState s = new LocalState(); s.n = 1; return s; } };
    static final ThreadLocal<StringBuilder> text = ThreadLocal.withInitial(StringBuilder::new);
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        List<Future<Integer>> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) all.add(pool.submit(() -> { state.get().n++; text.get().append('x'); int r = state.get().n; if (r > 2) state.remove(); return r; }));
        for (Future<Integer> f : all) Pair.check(f.get() >= 2);
        pool.shutdown();
    }
}
class HolderIdiom {
    final int[] table = new int[3]; int size;
    HolderIdiom() { for (int i = 0; i < 3; i++) table[i] = i; size = 3; }
    static class Lazy { static final HolderIdiom it = new HolderIdiom(); }
    static HolderIdiom get() { return Lazy.it; }
    interface Constants { int[] NUMBERS = make(); static int[] make() { int[] m = new int[2]; m[1] = 5; return m; } }
    static class Counter { static int made; static final Counter ONE = new Counter(), TWO = new Counter(); final int id; Counter() { id = made++; } }
    public static void main(String[] args) throws Exception {
        Act act = () -> { Pair.check(get().table[2] == 2 && get().size == 3); Pair.check(Constants.NUMBERS[1] == 5); Pair.check(Counter.TWO.id == 1 && Counter.made == 2); };
        Pair.run(act, act, act);
    }
}
class WaitPredicate {
    int tickets, served;
    synchronized int take() throws InterruptedException { int mine = tickets++; while (served != mine) wait(); return mine; }
    synchronized void next() { served++; notifyAll(); }
    public static void main(String[] args) throws Exception {
        WaitPredicate desk = new WaitPredicate();
        int[] order = new int[3];
        Act act = () -> { int n = desk.take(); order[n] = n + 1; desk.next(); };
        Pair.run(act, act, act);
        Pair.check(order[0] + order[1] + order[2] == 6 && desk.served == 3);
        boolean[] open = new boolean[1];
        Act timed = () -> { synchronized (open) { long end = System.nanoTime() + 20_000_000_000L; while (!open[0] && System.nanoTime() < end) open.wait(100, 5); Pair.check(open[0]); } };
        Pair.run(timed, timed, () -> { synchronized (open) { open[0] = true; open.notifyAll(); } });
    }
}
class InterruptedWaits {
    static int done;
    public static void main(String[] args) throws Exception {
        Object guard = new Object();
        Thread waiter = Pair.start(() -> { synchronized (guard) { try { while (true) guard.wait(); } catch (InterruptedException e) { done++; } } });
        Thread.sleep(5);
        waiter.interrupt();
        waiter.join();
        Pair.check(done == 1);
        Semaphore none = new Semaphore(0);
        Thread acquirer = Pair.start(() -> { try { none.acquire(); } catch (InterruptedException e) { done++; } });
        acquirer.interrupt();
        acquirer.join();
        CountDownLatch never = new CountDownLatch(1);
        Thread latched = Pair.start(() -> { try { never.await(); } catch (InterruptedException e) { done++; Thread.currentThread().interrupt(); } Pair.check(Thread.interrupted()); });
        latched.interrupt();
        latched.join();
        Pair.check(done == 3);
        ExecutorService pool = Executors.newSingleThreadExecutor();
        CountDownLatch in = new CountDownLatch(1);
        Future<?> f = pool.submit(() -> { in.countDown(); try { Thread.sleep(100000); } catch (InterruptedException e) { done++; } });
        in.await();
        f.cancel(true);
        pool.shutdown();
        pool.awaitTermination(20, TimeUnit.SECONDS);
        Pair.check(done == 4 && f.isCancelled());
    }
}
class ParkedQueue {
    static final Queue<Thread> waiting = new ConcurrentLinkedQueue<>();
    static final AtomicBoolean taken = new AtomicBoolean();
    static int data;
    static void lock() { Thread me = Thread.currentThread(); waiting.add(me); while (waiting.peek() != me || !taken.compareAndSet(false, true)) LockSupport.parkNanos(1_000_000); waiting.remove(); }
    static void unlock() { taken.set(false); LockSupport.unpark(waiting.peek()); }
    public static void main(String[] args) throws Exception {
        Act act = () -> { for (int i = 0; i < 3; i++) { lock(); try { data++; } finally { unlock(); } } };
        Pair.run(act, act);
        Pair.check(data == 6);
    }
}
class TimerChain {
    static int ticks;
    public static void main(String[] args) throws Exception {
        Timer timer = new Timer("chain");
        CountDownLatch done = new CountDownLatch(1);
        timer.scheduleAtFixedRate(new TimerTask() { public void run() { if (++ticks == 3) { cancel(); done.countDown(); } } }, 1, 2);
        done.await();
        Pair.check(ticks == 3);
        timer.cancel();
        ScheduledThreadPoolExecutor pool = new ScheduledThreadPoolExecutor(2);
        int[] box = new int[1];
        box[0] = 1;
        ScheduledFuture<Integer> f = pool.schedule(() -> ++box[0], 2, TimeUnit.MILLISECONDS);
        Pair.check(f.get() == 2 && box[0] == 2);
        CountDownLatch twice = new CountDownLatch(2);
        ScheduledFuture<?> again = pool.scheduleWithFixedDelay(() -> { box[0]++; twice.countDown(); }, 0, 1, TimeUnit.MILLISECONDS);
        twice.await();
        again.cancel(false);
        pool.shutdown();
        Pair.check(pool.awaitTermination(20, TimeUnit.SECONDS) && box[0] >= 4);
    }
}
class StreamShapes {
    static int base;
    static class Item { int n; Item(int n) { this.n = n; } }
    public static void main(String[] args) throws Exception {
        base = 10;
        List<Item> items = IntStream.range(0, 40).mapToObj(Item::new).collect(Collectors.toList());
        items.parallelStream().forEach(i -> i.n += base);
        Pair.check(items.stream().mapToInt(i -> i.n).sum() == 780 + 400);
        Map<Boolean, List<Item>> split = items.parallelStream().collect(Collectors.partitioningBy(i -> i.n % 2 == 0));
        Pair.check(split.get(true).size() == 20);
        ConcurrentMap<Integer, Long> grouped = items.parallelStream().collect(Collectors.groupingByConcurrent(i -> i.n % 3, Collectors.counting()));
        Pair.check(grouped.values().stream().mapToLong(Long::longValue).sum() == 40);
        int[] filled = new int[32];
        Arrays.parallelSetAll(filled, i -> i + base);
        Arrays.parallelPrefix(filled, Integer::sum);
        Pair.check(filled[31] == 496 + 320);
        base = 11;
        Pair.check(Stream.iterate(1, x -> x * 2).limit(8).parallel().reduce(0, Integer::sum) == 255);
    }
}
class ReflectedCalls {
    private int hidden; static int shared; int open;
    synchronized void bump(int n) { hidden += n; }
    public static void main(String[] args) throws Exception {
        ReflectedCalls r = ReflectedCalls.class.getDeclaredConstructor().newInstance();
        Method bump = ReflectedCalls.class.getDeclaredMethod("bump", int.class);
        Act act = () -> { for (int i = 0; i < 3; i++) bump.invoke(r, 2); };
        Pair.run(act, act);
        Pair.check(r.hidden == 12);
        MethodHandle handle = MethodHandles.lookup().findVirtual(ReflectedCalls.class, "bump", MethodType.methodType(void.class, int.class));
        Act exact = () -> { try { handle.invokeExact(r, 1); } catch (Throwable t) { throw new Error(t); } };
        Pair.run(exact, exact);
        Pair.check(r.hidden == 14);
        MethodHandle setter = MethodHandles.lookup().findSetter(ReflectedCalls.class, "open", int.class), getter = MethodHandles.lookup().findGetter(ReflectedCalls.class, "open", int.class);
        Act set = () -> { synchronized (r) { try { setter.invokeExact(r, (int) getter.invokeExact(r) + 1); } catch (Throwable t) { throw new Error(t); } } };
        Pair.run(set, set, () -> { synchronized (r) { r.open++; } });
        Pair.check(r.open == 3);
        Field field = ReflectedCalls.class.getDeclaredField("shared");
        Act stat = () -> { synchronized (r) { field.setInt(null, field.getInt(null) + 1); shared++; } };
        Pair.run(stat, stat);
        Pair.check(shared == 4);
        Runnable proxy = (Runnable) Proxy.newProxyInstance(ReflectedCalls.class.getClassLoader(), new Class<?>[] {Runnable.class}, (p, m, a) -> { synchronized (r) { r.open++; } return null; });
        Pair.run(proxy::run, proxy::run);
        Object[] array = (Object[]) Array.newInstance(Object.class, 2);
        Pair.run(() -> { synchronized (array) { Array.set(array, 0, "x"); } }, () -> { synchronized (array) { Object o = array[0]; Pair.check(o == null || o.equals("x")); } });
    }
}
class RecordValues {
    record Point(int x, int y, int[] more) { Point { more = more.clone(); } int sum() { return x + y + more[0]; } }
    static volatile Point point = new Point(0, 0, new int[] {0});
    public static void main(String[] args) throws Exception {
        Pair.run(() -> { for (int i = 1; i < 4; i++) point = new Point(i, i, new int[] {i}); }, () -> { for (int i = 0; i < 4; i++) { Point p = point; Pair.check(p.sum() == 3 * p.x() && p.equals(p) && p.hashCode() == p.hashCode() && p.toString() != null); } });
    }
}
class LambdaCaptures {
    int total;
    Runnable adder(int n) { int[] own = {n}; return () -> { synchronized (this) { total += own[0]; own[0]++; } }; }
    public static void main(String[] args) throws Exception {
        LambdaCaptures l = new LambdaCaptures();
        Runnable one = l.adder(1);
        Pair.run(one::run, one::run, l.adder(5)::run);
        Pair.check(l.total == 8);
        Supplier<Supplier<int[]>> nested = () -> { int[] made = new int[1]; made[0] = 3; return () -> made; };
        Supplier<int[]> inner = nested.get();
        Pair.run(() -> Pair.check(inner.get()[0] == 3), () -> Pair.check(inner.get()[0] == 3));
        Function<Integer, Integer> f = x -> x + 1;
        Function<Integer, Integer> g = f.andThen(x -> x * 2).compose(x -> x - 1);
        Pair.run(() -> Pair.check(g.apply(4) == 8), () -> Pair.check(g.apply(5) == 10));
    }
}
class InnerClasses {
    private int count;
    class Inner { int seen; void go() { synchronized (InnerClasses.this) { count++; seen = count; } } }
    static class Nested { private int n; synchronized int next() { return n++; } }
    public static void main(String[] args) throws Exception {
        InnerClasses outer = new InnerClasses();
        Act act = () -> { Inner inner = outer.new Inner(); for (int i = 0; i < 3; i++) inner.go(); Pair.check(inner.seen >= 3); };
        Pair.run(act, act);
        Pair.check(outer.count == 6);
        Nested nested = new Nested();
        class Local extends Thread { int mine; public void run() { mine = nested.next() + 1; } }
        Local a = new Local(), b = new Local();
        a.start(); b.start(); a.join(); b.join();
        Pair.check(a.mine + b.mine == 3 && nested.n == 2);
    }
}
class EnumStates {
    enum State { IDLE { State next() { return BUSY; } }, BUSY { State next() { return IDLE; } }; abstract State next(); int used; synchronized void use() { used++; } }
    static final EnumMap<State, Integer> counts = new EnumMap<>(State.class);
    static volatile State now = State.IDLE;
    public static void main(String[] args) throws Exception {
        Act act = () -> { for (State s : State.values()) { s.use(); synchronized (counts) { counts.merge(s, 1, Integer::sum); } switch (s) { case IDLE: now = State.BUSY; break; case BUSY: now = now.next(); break; } } };
        Pair.run(act, act);
        Pair.check(State.IDLE.used == 2 && counts.get(State.BUSY) == 2);
    }
}
class StringSwitch {
    static int adds, subs;
    static synchronized void act(String what) { switch (what) { case "add": adds++; break; case "sub": subs++; break; default: throw new IllegalArgumentException(what + adds); } }
    public static void main(String[] args) throws Exception {
        Act act = () -> { act("add"); act("sub"); try { act("no"); } catch (IllegalArgumentException e) { Pair.check(e.getMessage().startsWith("no")); } };
        Pair.run(act, act);
        Pair.check(adds == 2 && subs == 2);
        Pair.run(() -> Pair.check(String.format("%d-%s", 4, "x").equals("4-x")), () -> Pair.check(("a" + 1 + 'c' + 2L + null).length() == 8));
    }
}
class ThrownThrough {
    static final Object guard = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static int depth;
    static synchronized void fails(int n) { depth++; if (n == 0) throw new IllegalStateException(); synchronized (guard) { try { fails(n - 1); } finally { depth += 10; } } }
    public static void main(String[] args) throws Exception {
        Act act = () -> {
            for (int i = 0; i < 2; i++) {
                try { fails(2); } catch (IllegalStateException e) { synchronized (guard) { Pair.check(!Thread.holdsLock(lock)); } }
                try { lock.lock(); try { depth("x".charAt(5)); } finally { lock.unlock(); } } catch (StringIndexOutOfBoundsException e) { lock.lock(); try { other++; } finally { lock.unlock(); } }
                try { synchronized (guard) { Object o = guard; String s = (String) o; } } catch (ClassCastException e) { synchronized (guard) { casts++; } }
                try { synchronized (guard) { int[] a = new int[0]; casts += a[1]; } } catch (ArrayIndexOutOfBoundsException e) { synchronized (guard) { casts++; } }
            }
        };
        Pair.run(act, act);
        Pair.check(depth == 92 && other == 4 && casts == 8);
    }
    static int other, casts;
    static void depth(char c) { other += c; }
}
class Cleaned {
    static final ReferenceQueue<Object> queue = new ReferenceQueue<>();
    static int cleaned;
    protected void finalize() { synchronized (queue) { cleaned++; } }
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 3; i++) new Cleaned();
        Cleaner cleaner = Cleaner.create();
        int[] ran = new int[1];
        Object thing = new Object();
        Cleaner.Cleanable c = cleaner.register(thing, () -> { synchronized (queue) { ran[0]++; } });
        c.clean();
        System.gc();
        WeakReference<int[]> weak = new WeakReference<>(new int[] {1}, queue);
        SoftReference<int[]> soft = new SoftReference<>(new int[] {1});
        Pair.run(() -> { int[] s = soft.get(); if (s != null) Pair.check(s[0] == 1); }, () -> { int[] w = weak.get(); if (w != null) Pair.check(w[0] == 1); });
        synchronized (queue) { Pair.check(ran[0] == 1 && cleaned >= 0); }
        Reference.reachabilityFence(thing);
    }
}
class ThreadGroups {
    static int data;
    public static void main(String[] args) throws Exception {
        ThreadGroup group = new ThreadGroup("g");
        Thread[] all = new Thread[2];
        for (int i = 0; i < 2; i++) { all[i] = new Thread(group, () -> { synchronized (group) { data++; } }, "t" + i); all[i].setDaemon(i == 0); all[i].setPriority(Thread.MIN_PRIORITY); all[i].start(); }
        for (Thread t : all) t.join();
        Pair.check(data == 2 && all[0].getName().equals("t0"));
        Thread hook = new Thread(() -> { synchronized (group) { data++; } });
        Runtime.getRuntime().addShutdownHook(hook);
    }
}
class NestedStarts {
    static int data;
    public static void main(String[] args) throws Exception {
        Thread outer = new Thread(() -> {
            data = 1;
            Thread inner = new Thread(() -> data++);
            inner.start();
            try { inner.join(); } catch (InterruptedException e) { }
            data++;
        });
        outer.start();
        outer.join();
        Pair.check(data == 3);
        Thread[] chain = new Thread[4];
        for (int i = 0; i < 4; i++) { Thread before = i == 0 ? null : chain[i - 1]; chain[i] = new Thread(() -> { try { if (before != null) before.join(); } catch (InterruptedException e) { } data++; }); }
        for (Thread t : chain) t.start();
        chain[3].join();
        Pair.check(data == 7);
    }
}
class CopyOnWrite {
    static class Listener { int heard; synchronized void hear() { heard++; } }
    public static void main(String[] args) throws Exception {
        List<Listener> all = new CopyOnWriteArrayList<>();
        Pair.run(() -> { for (int i = 0; i < 3; i++) all.add(new Listener()); }, () -> { for (Listener l : all) l.hear(); }, () -> all.forEach(Listener::hear));
        all.removeIf(l -> l.heard == 0);
        Set<Integer> set = new CopyOnWriteArraySet<>();
        Pair.run(() -> set.add(1), () -> set.add(1));
        Pair.check(set.size() == 1);
        ConcurrentSkipListSet<String> names = new ConcurrentSkipListSet<>();
        Pair.run(() -> names.add("a"), () -> names.add("b"), () -> { for (String n : names) Pair.check(n.length() == 1); });
        Pair.check(names.first().equals("a"));
    }
}
class LongsAndDoubles {
    long l; double d; float f; short s; byte b; char c; boolean z;
    final long[] ls = new long[2]; final double[] ds = new double[2]; final boolean[] zs = new boolean[2]; final char[] cs = new char[2];
    synchronized void all(int n) { l += n; d += n; f += n; s += n; b += n; c += n; z = !z; ls[1] += n; ds[0] += n; zs[1] ^= true; cs[0] += n; }
    public static void main(String[] args) throws Exception {
        LongsAndDoubles x = new LongsAndDoubles();
        Act act = () -> { for (int i = 0; i < 4; i++) x.all(3); };
        Pair.run(act, act);
        synchronized (x) { Pair.check(x.l == 24 && x.d == 24 && x.f == 24 && x.s == 24 && x.b == 24 && x.c == 24 && !x.z && x.ls[1] == 24 && x.ds[0] == 24 && !x.zs[1] && x.cs[0] == 24); }
    }
}
class Matrices {
    static final int[][] grid = new int[4][4];
    static final int[][][] cube = new int[2][2][2];
    public static void main(String[] args) throws Exception {
        Act[] rows = new Act[4];
        for (int i = 0; i < 4; i++) { int r = i; rows[i] = () -> { for (int j = 0; j < 4; j++) grid[r][j] = r * j; cube[r / 2][r % 2][0] = r; int[] row = grid[r].clone(); Pair.check(row[3] == 3 * r); }; }
        Pair.run(rows);
        int sum = 0;
        for (int[] row : grid) for (int v : row) sum += v;
        Pair.check(sum == 36 && cube[1][1][0] == 3);
    }
}
class UnsafeHome {
    static volatile int unused;
    int a, b;
    static final Object[] locks = {new Object(), new Object()};
    static final int[] parts = new int[2];
    public static void main(String[] args) throws Exception {
        UnsafeHome one = new UnsafeHome();
        Pair.run(() -> one.a = 1, () -> one.b = 2);
        Pair.check(one.a + one.b == 3);
        Act striped = () -> { for (int i = 0; i < 4; i++) synchronized (locks[i % 2]) { parts[i % 2]++; } };
        Pair.run(striped, striped);
        Pair.check(parts[0] == 4 && parts[1] == 4);
        Act ordered = () -> { synchronized (locks[0]) { synchronized (locks[1]) { parts[0]++; } } synchronized (locks[0]) { synchronized (locks[0]) { parts[0]++; } } };
        Pair.run(ordered, ordered);
    }
}
class GateLock {
    static final Object gate = new Object(), a = new Object(), b = new Object();
    static int x;
    public static void main(String[] args) throws Exception {
        Pair.run(() -> { synchronized (gate) { synchronized (a) { synchronized (b) { x++; } } } }, () -> { synchronized (gate) { synchronized (b) { synchronized (a) { x++; } } } });
        ReentrantLock one = new ReentrantLock(), two = new ReentrantLock();
        Act backoff = () -> { while (true) { one.lock(); try { if (two.tryLock()) try { x++; return; } finally { two.unlock(); } } finally { one.unlock(); } Thread.yield(); } };
        Act other = () -> { while (true) { two.lock(); try { if (one.tryLock()) try { x++; return; } finally { one.unlock(); } } finally { two.unlock(); } Thread.yield(); } };
        Pair.run(backoff, other);
        Pair.check(x == 4);
    }
}
class RandomNumbers {
    static final Random shared = new Random(4);
    public static void main(String[] args) throws Exception {
        Act act = () -> { int n = shared.nextInt(10) + ThreadLocalRandom.current().nextInt(10) + new SplittableRandom(3).nextInt(5); Pair.check(n >= 0 && Math.random() < 1 && UUID.randomUUID() != null); long t = System.nanoTime(); Pair.check(System.nanoTime() >= t && System.currentTimeMillis() > 0); };
        Pair.run(act, act);
    }
}
class IdentityMaps {
    static final Map<Object, Integer> identity = Collections.synchronizedMap(new IdentityHashMap<>());
    static final Map<Object, Integer> weak = Collections.synchronizedMap(new WeakHashMap<>());
    static final Properties properties = new Properties();
    static final LinkedHashMap<String, Integer> recent = new LinkedHashMap<>(4, 0.75f, true) { protected boolean removeEldestEntry(Map.Entry<String, Integer> e) { return size() > 2; } };
    public static void main(String[] args) throws Exception {
        Act act = () -> { Object own = new Object(); identity.put(own, 1); weak.put(own, 2); properties.setProperty("k", "v"); Pair.check(identity.get(own) == 1 && properties.getProperty("k").equals("v")); synchronized (recent) { recent.put(own.toString(), 1); recent.get("none"); } };
        Pair.run(act, act, act);
        Pair.check(recent.size() == 2 && identity.size() == 3);
        PriorityQueue<Integer> heap = new PriorityQueue<>(Comparator.reverseOrder());
        Act add = () -> { synchronized (heap) { heap.add(3); heap.add(5); Pair.check(heap.peek() == 5); } };
        Pair.run(add, add);
    }
}
class MethodLocks {
    static int total; int own;
    static synchronized void all(int n) { total += n; }
    synchronized void mine() { own++; again(); }
    synchronized void again() { own++; MethodLocks.all(1); }
    public static void main(String[] args) throws Exception {
        MethodLocks one = new MethodLocks();
        Pair.run(one::mine, one::mine, () -> { synchronized (MethodLocks.class) { total += 5; } });
        Pair.check(total == 7 && one.own == 4);
    }
}
class SetsOfMaps {
    static final Set<String> set = Collections.newSetFromMap(new ConcurrentHashMap<>());
    static final Queue<Integer> lifo = Collections.asLifoQueue(new ConcurrentLinkedDeque<>());
    static int data, more;
    public static void main(String[] args) throws Exception {
        Act act = () -> { set.add("a"); set.remove("b"); lifo.add(1); lifo.poll(); };
        Pair.run(act, act);
        Pair.run(() -> { data = 1; set.add("x"); }, () -> { if (set.contains("x")) data = 2; });
        Pair.run(() -> { more = 1; lifo.add(9); }, () -> { Integer n = lifo.peek(); if (n != null && n == 9) more = 2; });
    }
}
class SynchronizedViews {
    static final Map<String, Integer> map = Collections.synchronizedMap(new HashMap<>());
    static final Collection<Integer> values = map.values();
    static final Set<String> keys = map.keySet();
    static final Hashtable<String, Integer> table = new Hashtable<>();
    static final Vector<Integer> vector = new Vector<>(List.of(1, 2, 3));
    static final List<Integer> part = vector.subList(0, 2);
    static final List<Integer> list = Collections.synchronizedList(new ArrayList<>());
    static final List<Integer> shown = Collections.unmodifiableList(list);
    static final Set<String> tableKeys = table.keySet();
    public static void main(String[] args) throws Exception {
        Pair.run(() -> map.put("a", 1), () -> Pair.check(values.size() < 2), () -> keys.remove("b"));
        Pair.run(() -> table.put("a", 1), () -> Pair.check(tableKeys.size() < 2), () -> tableKeys.contains("x"));
        Pair.run(() -> vector.set(0, 4), () -> Pair.check(part.get(0) > 0));
        Pair.run(() -> list.add(4), () -> Pair.check(shown.size() < 2), () -> { synchronized (list) { for (int x : shown) Pair.check(x == 4); } });
        Map<String, Integer> own = Collections.synchronizedMap(new TreeMap<>());
        Pair.run(() -> own.put("a", 1), () -> { Set<Map.Entry<String, Integer>> all = own.entrySet(); synchronized (own) { for (Map.Entry<String, Integer> e : all) Pair.check(e.getValue() == 1); } });
        Collection<Integer> checked = Collections.checkedCollection(new ConcurrentLinkedQueue<>(), Integer.class);
        Pair.run(() -> checked.add(1), () -> checked.add(2));
    }
}
class Encoders {
    public static void main(String[] args) throws Exception {
        Base64.Encoder encoder = Base64.getEncoder();
        Base64.Decoder decoder = Base64.getDecoder();
        Act act = () -> { Pair.check(new String(decoder.decode(encoder.encodeToString("ab".getBytes()))).equals("ab")); Pair.check(HexFormat.of().formatHex(new byte[] {1}).equals("01")); Pair.check(Locale.ROOT.getLanguage().isEmpty()); Collections.emptyList().removeIf(x -> true); List.of().iterator(); };
        Pair.run(act, act);
    }
}
class StampedViews {
    static final StampedLock lock = new StampedLock();
    static final Lock read = lock.asReadLock(), write = lock.asWriteLock();
    static int data;
    public static void main(String[] args) throws Exception {
        Act viewed = () -> { write.lock(); try { data++; } finally { write.unlock(); } read.lock(); try { Pair.check(data > 0); } finally { read.unlock(); } };
        Act stamped = () -> { long s = lock.writeLock(); try { data++; } finally { lock.unlockWrite(s); } };
        Act both = () -> { Lock w = lock.asReadWriteLock().writeLock(); w.lock(); try { data++; } finally { w.unlock(); } };
        Pair.run(viewed, stamped, both);
        Pair.check(data == 3);
    }
}
class SystemProperties {
    static int data;
    public static void main(String[] args) throws Exception {
        Pair.run(() -> { data = 1; System.setProperty("mayhap.test", "1"); }, () -> { if (Integer.getInteger("mayhap.test", 0) == 1) data = 2; });
        Pair.run(() -> { data = 3; System.setProperty("mayhap.test", "2"); }, () -> { if ("2".equals(System.getProperty("mayhap.test"))) data = 4; });
        Pair.run(() -> { data = 5; System.getProperties().setProperty("mayhap.flag", "true"); }, () -> { if (Boolean.getBoolean("mayhap.flag")) data = 6; });
    }
}
class Concatenated {
    static final StringBuilder text = new StringBuilder();
    static final AtomicInteger number = new AtomicInteger();
    static final Object guard = new Object();
    static int data, other;
    public static void main(String[] args) throws Exception {
        Pair.run(() -> { data = 1; synchronized (guard) { text.append("x"); } }, () -> { boolean set; synchronized (guard) { set = ("" + text).length() > 0; } if (set) data = 2; });
        Pair.run(() -> { other = 1; number.set(5); }, () -> { if (("n" + number).equals("n5")) other = 2; });
        Pair.run(() -> { other = 3; number.set(6); }, () -> { if (String.valueOf(number).equals("6")) other = 4; });
        Pair.run(() -> { data = 3; synchronized (guard) { text.append("y"); } }, () -> { boolean set; synchronized (guard) { set = String.valueOf(text).length() > 1; } if (set) data = 4; });
        Pair.run(() -> { data = 5; synchronized (guard) { text.append("z"); } }, () -> { boolean set; synchronized (guard) { set = String.format("%s", text).length() > 2; } if (set) data = 6; });
        Pair.run(() -> { data = 7; synchronized (guard) { text.append("u"); } }, () -> { boolean set; synchronized (guard) { set = "xyzu".contentEquals(text); } if (set) data = 8; });
        Pair.run(() -> { data = 9; synchronized (guard) { text.append("v"); } }, () -> { boolean set; synchronized (guard) { set = text.length() > 4 && "xyzuv".contains(text); } if (set) data = 10; });
        Pair.run(() -> { data = 11; synchronized (guard) { text.append("w"); } }, () -> { boolean set; synchronized (guard) { set = Objects.toString(text).endsWith("w"); } if (set) data = 12; });
    }
}
class Queued {
    static int data;
    public static void main(String[] args) throws Exception {
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        Object thing = new Object();
        WeakReference<Object> ref = new WeakReference<>(thing, queue);
        Pair.run(() -> { data = 1; ref.enqueue(); }, () -> { if (queue.remove(2000) != null) data = 2; });
        Reference.reachabilityFence(thing);
    }
}
class Buffers {
    static final ByteBuffer buffer = ByteBuffer.allocate(16);
    static final Object guard = new Object();
    static int data;
    public static void main(String[] args) throws Exception {
        ByteBuffer copy = buffer.duplicate(); IntBuffer ints = buffer.asIntBuffer();
        Pair.run(() -> { data = 1; synchronized (guard) { buffer.put(0, (byte) 1); } }, () -> { boolean set; synchronized (guard) { set = copy.get(0) == 1; } if (set) data = 2; });
        Pair.run(() -> { data = 3; synchronized (guard) { ints.put(1, 7); } }, () -> { boolean set; synchronized (guard) { set = buffer.getInt(4) == 7; } if (set) data = 4; });
        byte[] bytes = new byte[4]; ByteBuffer wrapped = ByteBuffer.wrap(bytes);
        Pair.run(() -> { data = 5; synchronized (guard) { wrapped.put(0, (byte) 3); } }, () -> { boolean set; synchronized (guard) { set = bytes[0] == 3; } if (set) data = 6; });
        Integer[] array = {0, 0}; List<Integer> list = Arrays.asList(array);
        Pair.run(() -> { data = 7; synchronized (guard) { list.set(0, 1); } }, () -> { boolean set; synchronized (guard) { set = array[0] == 1; } if (set) data = 8; });
        Pair.run(() -> { data = 9; synchronized (guard) { array[1] = 1; } }, () -> { boolean set; synchronized (guard) { set = list.get(1) == 1; } if (set) data = 10; });
    }
}
class OwnConditions {
    static class Mutex extends AbstractQueuedSynchronizer {
        protected boolean tryAcquire(int n) { boolean got = compareAndSetState(0, 1); if (got) setExclusiveOwnerThread(Thread.currentThread()); return got; }
        protected boolean tryRelease(int n) { setExclusiveOwnerThread(null); setState(0); return true; }
        protected boolean isHeldExclusively() { return getExclusiveOwnerThread() == Thread.currentThread(); }
        Condition condition() { return new ConditionObject(); }
    }
    static int data;
    public static void main(String[] args) throws Exception {
        Mutex mutex = new Mutex();
        Condition ready = mutex.condition();
        Pair.run(() -> { mutex.acquire(1); try { while (data == 0) ready.await(); data++; } finally { mutex.release(1); } }, () -> { mutex.acquire(1); try { data = 5; ready.signal(); } finally { mutex.release(1); } });
        Pair.check(data == 6);
    }
}
class KeysAndLists {
    static final List<Integer> key = new ArrayList<>();
    static final Object guard = new Object();
    static int data;
    public static void main(String[] args) throws Exception {
        Set<List<Integer>> set = new HashSet<>(); set.add(List.of(1));
        Pair.run(() -> { data = 1; synchronized (guard) { key.add(1); } }, () -> { boolean in; synchronized (guard) { in = set.contains(key); } if (in) data = 2; });
        Pair.run(() -> { data = 3; synchronized (guard) { key.add(2); } }, () -> { boolean in; synchronized (guard) { in = Objects.equals(key, List.of(1, 2)); } if (in) data = 4; });
        Pair.run(() -> { data = 5; synchronized (guard) { key.add(3); } }, () -> { boolean in; synchronized (guard) { in = List.of(1, 2, 3).equals(key); } if (in) data = 6; });
        Pair.run(() -> { data = 7; synchronized (guard) { key.add(4); } }, () -> { boolean in; synchronized (guard) { in = key.hashCode() == List.of(1, 2, 3, 4).hashCode(); } if (in) data = 8; });
        Pair.run(() -> { data = 9; synchronized (guard) { key.add(5); } }, () -> { boolean in; synchronized (guard) { in = Arrays.toString(new Object[] {key}).contains("5"); } if (in) data = 10; });
    }
}
class AtomicForms {
    static final AtomicInteger n = new AtomicInteger();
    static final AtomicReference<List<Integer>> list = new AtomicReference<>(List.of());
    static final AtomicBoolean b = new AtomicBoolean();
    static int data;
    public static void main(String[] args) throws Exception {
        Pair.run(() -> { data = 1; n.setRelease(1); }, () -> { if (n.getAcquire() == 1) data = 2; });
        Pair.run(() -> { data = 3; n.compareAndExchange(1, 2); }, () -> { if (n.compareAndExchange(2, 3) == 2) data = 4; });
        Pair.run(() -> { data = 5; b.set(true); }, () -> { if (b.getAndSet(false)) data = 6; });
        Pair.run(() -> { List<Integer> made = new ArrayList<>(); made.add(1); list.set(made); }, () -> { List<Integer> got = list.get(); if (!got.isEmpty()) Pair.check(got.get(0) == 1); });
        Pair.run(() -> { data = 7; n.lazySet(9); }, () -> { if (n.intValue() == 9) data = 8; });
        Number number = n;
        Pair.run(() -> { data = 9; n.set(10); }, () -> { if (number.intValue() == 10) data = 10; });
        Pair.run(() -> { data = 11; n.set(12); }, () -> { if (n.doubleValue() == 12.0) data = 12; });
        Object[] any = {n};
        Pair.run(() -> { data = 13; n.set(14); }, () -> { if (any[0].toString().equals("14")) data = 14; });
    }
}
class UnusualAll {
    public static void main(String[] args) throws Exception { CorrectAll.main(ALL); }
    static final String[] ALL = {"OptimisticRead", "ExchangeTimed", "PhaserTiers", "LatchStartDone", "BarrierRounds", "BarrierBroken", "ForkJoinMore", "FutureChains", "MapFunctions", "QueueWorkers", "CachedData", "VolatilePublished", "FinalHolder", "HandleModes", "TreiberStack", "Updaters", "Adders", "LocalState", "HolderIdiom", "WaitPredicate", "InterruptedWaits", "ParkedQueue", "TimerChain", "StreamShapes", "ReflectedCalls", "RecordValues", "LambdaCaptures", "InnerClasses", "EnumStates", "StringSwitch", "ThrownThrough", "Cleaned", "ThreadGroups", "NestedStarts", "CopyOnWrite", "LongsAndDoubles", "Matrices", "UnsafeHome", "GateLock", "RandomNumbers", "IdentityMaps", "MethodLocks", "SetsOfMaps", "SynchronizedViews", "Encoders", "StampedViews", "SystemProperties", "Concatenated", "Queued", "Buffers", "OwnConditions", "KeysAndLists", "AtomicForms"};
}
