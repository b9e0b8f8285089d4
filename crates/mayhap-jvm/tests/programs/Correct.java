// Correct programs, one for each way in which Java's library orders what threads do. None has a race or a deadlock.

import java.io.*;
import java.lang.invoke.*;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
import java.util.stream.*;

interface Act { void go() throws Exception; }

class Pair {
    static Thread start(Act act) {
        Thread thread = new Thread(() -> { try { act.go(); } catch (Exception e) { throw new RuntimeException(e); } });
        thread.start();
        return thread;
    }
    static void run(Act... acts) throws Exception {
        Thread[] threads = new Thread[acts.length];
        for (int i = 0; i < acts.length; i++) threads[i] = start(acts[i]);
        for (Thread thread : threads) thread.join();
    }
    static void check(boolean right) { if (!right) throw new IllegalStateException("wrong result"); }
}

class BarrierAction {
    static int sum, a, b;
    public static void main(String[] args) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(2, () -> { sum = a + b; });
        Pair.run(() -> { a = 1; barrier.await(); Pair.check(sum == 3); }, () -> { b = 2; barrier.await(); Pair.check(sum == 3); });
    }
}
class PhaserAdvance {
    static int total;
    public static void main(String[] args) throws Exception {
        int[] parts = new int[2];
        Phaser phaser = new Phaser(2) { protected boolean onAdvance(int phase, int parties) { total = parts[0] + parts[1]; return false; } };
        Pair.run(() -> { parts[0] = 1; phaser.arriveAndAwaitAdvance(); Pair.check(total == 3); }, () -> { parts[1] = 2; phaser.arriveAndAwaitAdvance(); Pair.check(total == 3); });
    }
}
class Exchange {
    public static void main(String[] args) throws Exception {
        Exchanger<int[]> exchanger = new Exchanger<>();
        Act act = () -> { int[] own = {1}; own[0] = 5; int[] other = exchanger.exchange(own); Pair.check(other[0] == 5); other[0] = 6; };
        Pair.run(act, act);
    }
}
class LatchByReference {
    static int data;
    public static void main(String[] args) throws Exception {
        CountDownLatch latch = new CountDownLatch(1);
        ExecutorService pool = Executors.newSingleThreadExecutor();
        pool.execute(() -> data = 4);
        pool.execute(latch::countDown);
        latch.await();
        Pair.check(data == 4);
        pool.shutdown();
    }
}
class FutureFails {
    static int data;
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Future<?> future = pool.submit(() -> { data = 1; throw new IllegalArgumentException(); });
        try { future.get(); } catch (ExecutionException e) { Pair.check(data == 1); data = 2; }
        pool.shutdown();
    }
}
class InvokeAllTasks {
    static final int[] parts = new int[3];
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(3);
        List<Callable<Integer>> tasks = new ArrayList<>();
        for (int i = 0; i < 3; i++) { int n = i; tasks.add(() -> parts[n] = n + 1); }
        pool.invokeAll(tasks);
        Pair.check(parts[0] + parts[1] + parts[2] == 6);
        Integer any = pool.invokeAny(List.of(() -> { return 7; }));
        Pair.check(any == 7);
        pool.shutdown();
    }
}
class CompletionOrder {
    static final int[] parts = new int[2];
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        CompletionService<Integer> service = new ExecutorCompletionService<>(pool);
        for (int i = 0; i < 2; i++) { int n = i; service.submit(() -> { parts[n] = 5; return n; }); }
        for (int i = 0; i < 2; i++) { int n = service.take().get(); Pair.check(parts[n] == 5); }
        pool.shutdown();
    }
}
class Scheduled {
    static int ticks, before;
    public static void main(String[] args) throws Exception {
        ScheduledExecutorService pool = Executors.newScheduledThreadPool(1);
        before = 3;
        CountDownLatch latch = new CountDownLatch(3);
        ScheduledFuture<?> future = pool.scheduleAtFixedRate(() -> { Pair.check(before == 3); ticks++; latch.countDown(); }, 0, 2, TimeUnit.MILLISECONDS);
        latch.await();
        future.cancel(false);
        pool.shutdown();
        pool.awaitTermination(5, TimeUnit.SECONDS);
        Pair.check(ticks >= 3);
    }
}
class Timers {
    static int data, back;
    public static void main(String[] args) throws Exception {
        Timer timer = new Timer(true);
        CountDownLatch latch = new CountDownLatch(1);
        data = 1;
        timer.schedule(new TimerTask() { public void run() { data++; } }, 1);
        timer.schedule(new TimerTask() { public void run() { back = data; latch.countDown(); } }, 5);
        latch.await();
        Pair.check(back == 2 && data == 2);
        timer.cancel();
    }
}
class Completable {
    static int data, more, last;
    public static void main(String[] args) throws Exception {
        data = 1;
        CompletableFuture<Integer> first = CompletableFuture.supplyAsync(() -> { data++; return data; });
        CompletableFuture<Integer> second = first.thenApply(x -> { more = x + data; return more; });
        CompletableFuture<Void> third = second.thenAcceptAsync(x -> { last = more + x; });
        third.join();
        Pair.check(data == 2 && more == 4 && last == 8);
        CompletableFuture<Integer> own = new CompletableFuture<>();
        Pair.run(() -> { data = 9; own.complete(1); }, () -> { own.get(); Pair.check(data == 9); });
        CompletableFuture<Integer> bad = CompletableFuture.supplyAsync(() -> { more = 5; throw new IllegalStateException(); });
        Pair.check(bad.handle((x, e) -> more).join() == 5);
        CompletableFuture<Void> all = CompletableFuture.allOf(CompletableFuture.runAsync(() -> more = 6), CompletableFuture.runAsync(() -> last = 7));
        all.get();
        Pair.check(more == 6 && last == 7);
    }
}
class ForkJoin {
    static final int[] numbers = new int[64];
    static class Sum extends RecursiveTask<Integer> {
        final int from, to; int seen;
        Sum(int from, int to) { this.from = from; this.to = to; }
        protected Integer compute() {
            if (to - from <= 8) { int sum = 0; for (int i = from; i < to; i++) sum += numbers[i]; seen = sum; return sum; }
            Sum a = new Sum(from, (from + to) / 2), b = new Sum((from + to) / 2, to);
            a.fork();
            int right = b.compute();
            int left = a.join();
            seen = a.seen + b.seen;
            return left + right;
        }
    }
    static class Fill extends RecursiveAction {
        final int from, to;
        Fill(int from, int to) { this.from = from; this.to = to; }
        protected void compute() {
            if (to - from <= 8) { for (int i = from; i < to; i++) numbers[i] = i; return; }
            invokeAll(new Fill(from, (from + to) / 2), new Fill((from + to) / 2, to));
            numbers[from]++;
            numbers[from]--;
        }
    }
    public static void main(String[] args) throws Exception {
        ForkJoinPool pool = new ForkJoinPool(3);
        pool.invoke(new Fill(0, 64));
        Sum sum = new Sum(0, 64);
        Pair.check(pool.invoke(sum) == 2016 && sum.seen == 2016);
        Pair.check(pool.submit(new Sum(0, 32)).get() == 496);
        Pair.check(new Sum(0, 64).invoke() == 2016);
        pool.shutdown();
    }
}
class ParallelStreams {
    static final int[] squares = new int[100];
    static int factor;
    public static void main(String[] args) throws Exception {
        factor = 2;
        int sum = IntStream.range(0, 100).parallel().map(i -> { squares[i] = i * factor; return i; }).sum();
        factor = 3;
        int check = 0;
        for (int s : squares) check += s;
        Pair.check(sum == 4950 && check == 9900);
        List<Integer> list = new ArrayList<>();
        for (int i = 0; i < 50; i++) list.add(i);
        Pair.check(list.parallelStream().map(x -> x * factor).collect(Collectors.toList()).size() == 50);
        list.add(1);
        Integer[] sorted = {3, 1, 2};
        Arrays.parallelSort(sorted, (a, b) -> a - b);
        Pair.check(sorted[0] == 1);
    }
}
class SharedReaders {
    static final List<Integer> list = new ArrayList<>(List.of(1, 2, 3));
    static final TreeMap<String, Integer> tree = new TreeMap<>(Map.of("a", 1, "b", 2));
    static final Map<String, List<Integer>> map = new HashMap<>(Map.of("x", List.of(1)));
    static final BitSet bits = new BitSet();
    static int look() {
        int sum = list.stream().map(x -> x + 1).filter(x -> x > 1).mapToInt(Integer::intValue).sum();
        sum += tree.firstKey().length() + tree.headMap("b").size() + tree.floorEntry("b").getValue() + tree.ceilingKey("a").length();
        for (Map.Entry<String, List<Integer>> entry : map.entrySet()) sum += entry.getKey().length() + entry.getValue().get(0);
        sum += bits.nextSetBit(0) + bits.cardinality();
        sum += new ArrayList<>(list).size() + Collections.max(list) + Collections.unmodifiableList(list).get(0) + String.join(",", tree.keySet()).length();
        sum += list.subList(0, 2).size() + tree.descendingMap().size() + (list.equals(new LinkedList<>(list)) ? 1 : 0) + Collections.binarySearch(list, 2);
        StringBuilder text = new StringBuilder();
        for (int x : list) text.append(x).append(',');
        return sum + text.length();
    }
    public static void main(String[] args) throws Exception {
        bits.set(3);
        Pair.run(() -> look(), () -> look());
    }
}
class Interrupts {
    static int data;
    public static void main(String[] args) throws Exception {
        Thread spinner = Pair.start(() -> { while (!Thread.currentThread().isInterrupted()) Thread.onSpinWait(); Pair.check(data == 1); data = 2; });
        data = 1;
        spinner.interrupt();
        spinner.join();
        Thread sleeper = Pair.start(() -> { try { Thread.sleep(100000); } catch (InterruptedException e) { Pair.check(data == 3); data = 4; } });
        data = 3;
        sleeper.interrupt();
        sleeper.join();
        BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(1);
        Thread taker = Pair.start(() -> { try { queue.take(); } catch (InterruptedException e) { data++; } });
        data = 5;
        taker.interrupt();
        taker.join();
        Pair.check(data == 6);
        Thread cleared = Pair.start(() -> { while (!Thread.interrupted()) Thread.yield(); data++; });
        data = 7;
        cleared.interrupt();
        cleared.join();
        Pair.check(data == 8);
    }
}
class Initialised {
    static int data;
    static class Holder { static { data = 5; } static int get() { return 1; } Holder() { } }
    static class Sub extends Holder { static int two() { return 2; } }
    public static void main(String[] args) throws Exception {
        Pair.run(() -> { Holder.get(); Pair.check(data == 5); }, () -> { new Holder(); Pair.check(data == 5); }, () -> { Sub.two(); Pair.check(data == 5); });
    }
}
class LazyHolder {
    int value;
    static class Holder { static final LazyHolder instance = new LazyHolder(); static { instance.value = 7; } }
    public static void main(String[] args) throws Exception {
        Pair.run(() -> Pair.check(Holder.instance.value == 7), () -> Pair.check(Holder.instance.value == 7));
    }
}
class EnumSingleton {
    enum One { IT; int value; One() { value = 3; } }
    public static void main(String[] args) throws Exception {
        Pair.run(() -> Pair.check(One.IT.value == 3), () -> Pair.check(One.valueOf("IT").value == 3));
    }
}
class Pipes {
    static int data;
    public static void main(String[] args) throws Exception {
        PipedOutputStream out = new PipedOutputStream();
        PipedInputStream in = new PipedInputStream(out);
        Pair.run(() -> { data = 1; out.write(7); out.flush(); }, () -> { Pair.check(in.read() == 7); Pair.check(data == 1); });
        Pipe pipe = Pipe.open();
        Pair.run(() -> { data = 2; pipe.sink().write(ByteBuffer.wrap(new byte[] {1})); }, () -> { ByteBuffer one = ByteBuffer.allocate(1); pipe.source().read(one); Pair.check(data == 2); });
        PipedWriter writer = new PipedWriter();
        BufferedReader reader = new BufferedReader(new PipedReader(writer));
        PrintWriter print = new PrintWriter(writer);
        Pair.run(() -> { data = 3; print.println("x"); print.close(); }, () -> { if (reader.readLine().equals("x")) Pair.check(data == 3); });
    }
}
class ThroughFiles {
    static int data;
    public static void main(String[] args) throws Exception {
        Path path = Files.createTempFile("mayhap", "x");
        Files.delete(path);
        Pair.run(() -> { synchronized (path) { data = 1; } Files.write(path, List.of("x")); },
                 () -> { while (!Files.exists(path)) Thread.sleep(1); synchronized (path) { Pair.check(data == 1); } });
        Files.delete(path);
    }
}
class ReadWriteAll {
    static final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    static int value;
    static final Condition changed = lock.writeLock().newCondition();
    public static void main(String[] args) throws Exception {
        Act down = () -> { lock.writeLock().lock(); value++; lock.readLock().lock(); lock.writeLock().unlock(); Pair.check(value > 0); lock.readLock().unlock(); };
        Pair.run(down, down);
        Act timed = () -> { if (lock.writeLock().tryLock(20, TimeUnit.SECONDS)) { try { value++; Thread.sleep(5); } finally { lock.writeLock().unlock(); } } if (lock.readLock().tryLock(20, TimeUnit.SECONDS)) { try { Pair.check(value > 2); } finally { lock.readLock().unlock(); } } };
        Pair.run(timed, timed, timed);
        Pair.run(() -> { lock.writeLock().lock(); try { while (value < 100) changed.await(); value++; } finally { lock.writeLock().unlock(); } },
                 () -> { lock.writeLock().lock(); try { value = 100; changed.signalAll(); } finally { lock.writeLock().unlock(); } });
        Pair.check(value == 101);
        Act twice = () -> { lock.readLock().lock(); lock.readLock().lock(); Pair.check(value == 101); lock.readLock().unlock(); lock.readLock().unlock(); };
        Pair.run(twice, twice);
    }
}
class TimedLocks {
    static final ReentrantLock lock = new ReentrantLock(true);
    static int value;
    public static void main(String[] args) throws Exception {
        Act act = () -> { for (int i = 0; i < 3; i++) if (lock.tryLock(20, TimeUnit.SECONDS)) try { value++; Thread.sleep(2); } finally { lock.unlock(); } };
        Pair.run(act, act);
        Act spin = () -> { while (!lock.tryLock()) Thread.yield(); try { value++; } finally { lock.unlock(); } lock.lockInterruptibly(); try { value++; } finally { lock.unlock(); } };
        Pair.run(spin, spin);
        Pair.check(value == 10 && !lock.isLocked());
    }
}
class Stamped {
    static final StampedLock lock = new StampedLock();
    static int x, y;
    public static void main(String[] args) throws Exception {
        Pair.run(() -> { long s = lock.writeLock(); try { x = 1; y = 1; } finally { lock.unlockWrite(s); } },
                 () -> { long s = lock.readLock(); try { Pair.check(x == y); } finally { lock.unlockRead(s); } });
    }
}
class ManyPermits {
    static final Semaphore permits = new Semaphore(3);
    static int data;
    public static void main(String[] args) throws Exception {
        Act all = () -> { permits.acquire(3); data++; permits.release(3); };
        Pair.run(all, all);
        Pair.run(() -> { permits.acquire(3); data = 10; permits.release(3); }, () -> { if (permits.tryAcquire(3, 20, TimeUnit.SECONDS)) { data++; permits.release(3); } });
        Semaphore done = new Semaphore(0);
        Pair.run(() -> { data = 20; done.release(2); }, () -> { done.acquire(); done.acquire(); Pair.check(data == 20); });
        Semaphore one = new Semaphore(1);
        Act timed = () -> { if (one.tryAcquire(20, TimeUnit.SECONDS)) { data++; Thread.sleep(3); one.release(); } };
        Pair.run(timed, timed, timed);
        Pair.check(data == 23);
    }
}
class Updates {
    static final AtomicInteger number = new AtomicInteger();
    static final AtomicReference<String> text = new AtomicReference<>("");
    static final AtomicLong total = new AtomicLong();
    static int data;
    public static void main(String[] args) throws Exception {
        Act act = () -> { for (int i = 0; i < 5; i++) { number.updateAndGet(x -> x + 1); number.accumulateAndGet(2, Integer::sum); text.updateAndGet(s -> s + "x"); total.getAndAccumulate(3, (a, b) -> a + b); } };
        Pair.run(act, act);
        Pair.check(number.get() == 30 && text.get().length() == 10 && total.get() == 30);
        Pair.run(() -> { data = 1; number.updateAndGet(x -> 100); }, () -> { while (number.get() != 100) Thread.yield(); Pair.check(data == 1); });
    }
}
class OtherAtomics {
    static final LongAdder adder = new LongAdder();
    static final AtomicIntegerArray array = new AtomicIntegerArray(2);
    static final AtomicStampedReference<String> stamped = new AtomicStampedReference<>("a", 0);
    static final AtomicMarkableReference<String> marked = new AtomicMarkableReference<>("a", false);
    static final LongAccumulator most = new LongAccumulator(Long::max, 0);
    static int data;
    public static void main(String[] args) throws Exception {
        Pair.run(() -> { adder.increment(); most.accumulate(4); data = 1; array.set(0, 1); }, () -> { adder.add(2); while (array.get(0) == 0) Thread.yield(); Pair.check(data == 1); data = 2; stamped.compareAndSet("a", "b", 0, 1); }, () -> { int[] stamp = new int[1]; while (!"b".equals(stamped.get(stamp))) Thread.yield(); Pair.check(data == 2 && stamp[0] == 1); data = 3; marked.attemptMark("a", true); }, () -> { while (!marked.isMarked()) Thread.yield(); Pair.check(data == 3); });
        Pair.check(adder.sum() == 3);
    }
}
class Handles {
    int ready; volatile int state; int data;
    static final VarHandle READY; static final AtomicIntegerFieldUpdater<Handles> STATE = AtomicIntegerFieldUpdater.newUpdater(Handles.class, "state");
    static final VarHandle ELEMENTS = MethodHandles.arrayElementVarHandle(int[].class);
    static { try { READY = MethodHandles.lookup().findVarHandle(Handles.class, "ready", int.class); } catch (Exception e) { throw new Error(e); } }
    public static void main(String[] args) throws Exception {
        Handles h = new Handles();
        Pair.run(() -> { h.data = 1; READY.setRelease(h, 1); }, () -> { while ((int) READY.getAcquire(h) == 0) Thread.yield(); Pair.check(h.data == 1); });
        Act lock = () -> { while (!READY.compareAndSet(h, 1, 2)) Thread.yield(); h.data++; READY.setVolatile(h, 1); };
        Pair.run(lock, lock);
        Pair.run(() -> { h.data = 7; STATE.set(h, 1); }, () -> { while (h.state == 0) Thread.yield(); Pair.check(h.data == 7); });
        Pair.run(() -> { h.data = 8; STATE.compareAndSet(h, 1, 2); }, () -> { while (STATE.get(h) != 2) Thread.yield(); Pair.check(h.data == 8); });
        int[] flags = new int[2];
        Pair.run(() -> { h.data = 9; ELEMENTS.setVolatile(flags, 1, 1); }, () -> { while ((int) ELEMENTS.getVolatile(flags, 1) == 0) Thread.yield(); Pair.check(h.data == 9); });
    }
}
class Reflected {
    volatile int flag; int data;
    public static void main(String[] args) throws Exception {
        Reflected r = new Reflected();
        Field field = Reflected.class.getDeclaredField("flag");
        Pair.run(() -> { r.data = 1; field.setInt(r, 1); }, () -> { while (r.flag == 0) Thread.yield(); Pair.check(r.data == 1); r.data = 2; });
        Pair.run(() -> { r.data = 3; r.flag = 2; }, () -> { while (field.getInt(r) != 2) Thread.yield(); Pair.check(r.data == 3); });
    }
}
class ArrayFlags {
    static final int[] flags = new int[4], source = {1, 1, 1, 1};
    static final Object guard = new Object();
    static int data;
    public static void main(String[] args) throws Exception {
        Pair.run(() -> { data = 1; synchronized (guard) { System.arraycopy(source, 0, flags, 0, 4); } }, () -> { boolean set; synchronized (guard) { set = flags[0] == 1; } if (set) data = 2; });
        Pair.run(() -> { data = 3; synchronized (guard) { Arrays.fill(flags, 9); } }, () -> { boolean set; synchronized (guard) { set = flags[3] == 9; } if (set) data = 4; });
        int[] copy = flags.clone();
        Pair.check(copy[0] == 9);
    }
}
class TextFlags {
    static final StringBuilder text = new StringBuilder();
    static final List<Integer> list = new ArrayList<>();
    static final Map<String, Integer> concurrent = new ConcurrentHashMap<>();
    static final Object guard = new Object();
    static int data, other, third;
    public static void main(String[] args) throws Exception {
        Pair.run(() -> { data = 1; synchronized (guard) { text.append("x"); } }, () -> { boolean set; synchronized (guard) { set = text.length() > 0; } if (set) data = 2; });
        Pair.run(() -> { other = 1; synchronized (guard) { list.add(9); } }, () -> { boolean set; synchronized (guard) { set = !list.isEmpty() && Collections.max(list) == 9; } if (set) other = 2; });
        Pair.run(() -> { other = 3; synchronized (guard) { Collections.addAll(list, 11); } }, () -> { boolean set; synchronized (guard) { set = new ArrayList<>(list).contains(11); } if (set) other = 4; });
        Pair.run(() -> { third = 1; concurrent.put("a", 1); }, () -> { if (concurrent.keySet().contains("a")) third = 2; });
        Pair.run(() -> { third = 3; concurrent.put("b", 1); }, () -> { if (new HashMap<>(concurrent).containsKey("b")) third = 4; });
        Pair.run(() -> { third = 5; concurrent.merge("b", 5, Integer::sum); }, () -> { for (int v : concurrent.values()) if (v == 6) third = 6; });
    }
}
class ViewFlags {
    static final Map<String, Integer> map = new HashMap<>(Map.of("k", 0));
    static final Collection<Integer> shown = Collections.unmodifiableCollection(map.values());
    static final Object guard = new Object();
    static int data;
    public static void main(String[] args) throws Exception {
        Pair.run(() -> { data = 1; synchronized (guard) { map.put("k", 1); } }, () -> { boolean set; synchronized (guard) { set = shown.contains(1); } if (set) data = 2; });
        Map.Entry<String, Integer> entry = map.entrySet().iterator().next();
        Pair.run(() -> { data = 3; synchronized (guard) { entry.setValue(2); } }, () -> { boolean set; synchronized (guard) { set = map.get("k") == 2; } if (set) data = 4; });
        Pair.run(() -> { data = 5; synchronized (guard) { map.replaceAll((k, v) -> v + 1); } }, () -> { boolean set; synchronized (guard) { set = entry.getValue() == 3; } if (set) data = 6; });
        List<Integer> made = new ArrayList<>();
        Pair.run(() -> { data = 7; synchronized (guard) { Stream.of(1, 2).forEach(made::add); } }, () -> { boolean set; synchronized (guard) { set = made.size() > 0; } if (set) data = 8; });
    }
}
class Queues {
    static int data;
    static class Late implements Delayed {
        final long at = System.nanoTime() + 1000000;
        public long getDelay(TimeUnit unit) { return unit.convert(at - System.nanoTime(), TimeUnit.NANOSECONDS); }
        public int compareTo(Delayed other) { return 0; }
    }
    static <T> void hand(BlockingQueue<T> queue, T item) throws Exception {
        Pair.run(() -> { data = 1; queue.put(item); }, () -> { queue.take(); data = 2; });
    }
    public static void main(String[] args) throws Exception {
        hand(new ArrayBlockingQueue<>(1), 1);
        hand(new LinkedBlockingDeque<>(), 1);
        hand(new PriorityBlockingQueue<>(), 1);
        hand(new SynchronousQueue<>(), 1);
        hand(new LinkedTransferQueue<>(), 1);
        hand(new DelayQueue<>(), new Late());
        Queue<Integer> polled = new ConcurrentLinkedQueue<>();
        Pair.run(() -> { data = 1; polled.add(1); }, () -> { while (polled.poll() == null) Thread.yield(); data = 2; });
        Deque<Integer> deque = new ConcurrentLinkedDeque<>();
        Pair.run(() -> { data = 1; deque.push(1); }, () -> { while (deque.peekLast() == null) Thread.yield(); data = 2; });
        List<Integer> drained = new ArrayList<>();
        BlockingQueue<Integer> source = new LinkedBlockingQueue<>();
        Pair.run(() -> { data = 1; source.put(1); }, () -> { while (source.drainTo(drained) == 0) Thread.yield(); data = 2; });
    }
}
class Maps {
    static int data;
    public static void main(String[] args) throws Exception {
        ConcurrentHashMap<String, int[]> map = new ConcurrentHashMap<>();
        Act act = () -> { int[] box = map.computeIfAbsent("k", k -> { int[] made = new int[1]; made[0] = 4; return made; }); Pair.check(box[0] == 4); };
        Pair.run(act, act);
        ConcurrentSkipListMap<Integer, int[]> skip = new ConcurrentSkipListMap<>();
        Pair.run(() -> { int[] box = {0}; box[0] = 3; skip.put(1, box); }, () -> { Map.Entry<Integer, int[]> first = skip.firstEntry(); if (first != null) Pair.check(first.getValue()[0] == 3); });
        CopyOnWriteArrayList<int[]> copies = new CopyOnWriteArrayList<>();
        Pair.run(() -> { int[] box = {0}; box[0] = 3; copies.add(box); }, () -> { for (int[] box : copies) Pair.check(box[0] == 3); });
        ConcurrentHashMap<String, Integer> counts = new ConcurrentHashMap<>();
        Act count = () -> { for (int i = 0; i < 4; i++) counts.compute("a", (k, v) -> v == null ? 1 : v + 1); };
        Pair.run(count, count);
        Pair.check(counts.get("a") == 8);
    }
}
class Conditions {
    static final ReentrantLock lock = new ReentrantLock();
    static final Condition ready = lock.newCondition(), free = lock.newCondition();
    static int count;
    public static void main(String[] args) throws Exception {
        Pair.run(() -> { for (int i = 0; i < 4; i++) { lock.lock(); try { while (count == 1) free.awaitNanos(1000000); count++; ready.signal(); } finally { lock.unlock(); } } },
                 () -> { for (int i = 0; i < 4; i++) { lock.lock(); try { while (count == 0) if (!ready.await(5, TimeUnit.MILLISECONDS)) Thread.yield(); count--; free.signal(); } finally { lock.unlock(); } } });
        Pair.check(count == 0);
        Object guard = new Object();
        boolean[] set = new boolean[1];
        Pair.run(() -> { synchronized (guard) { while (!set[0]) guard.wait(10); } }, () -> { synchronized (guard) { set[0] = true; guard.notify(); } });
    }
}
class Joins {
    static int data;
    public static void main(String[] args) throws Exception {
        Thread a = Pair.start(() -> data = 1);
        a.join(20000);
        Pair.check(data == 1);
        Thread b = Pair.start(() -> data = 2);
        while (b.isAlive()) Thread.yield();
        Pair.check(data == 2);
        Thread c = Pair.start(() -> data = 3);
        while (c.getState() != Thread.State.TERMINATED) Thread.yield();
        Pair.check(data == 3);
        Thread d = new Thread() { public void run() { data = 4; } };
        d.start();
        d.join();
        data = 5;
    }
}
class Locals {
    static final ThreadLocal<int[]> local = ThreadLocal.withInitial(() -> new int[1]);
    static final InheritableThreadLocal<int[]> passed = new InheritableThreadLocal<>();
    public static void main(String[] args) throws Exception {
        int[] own = {1};
        own[0] = 2;
        passed.set(own);
        Pair.run(() -> { local.get()[0]++; Pair.check(passed.get()[0] == 2); }, () -> { local.get()[0]++; Pair.check(local.get()[0] == 1); });
    }
}
class Parks {
    static volatile boolean ready;
    static int data;
    public static void main(String[] args) throws Exception {
        Thread waiter = Pair.start(() -> { while (!ready) LockSupport.park(); Pair.check(data == 1); });
        data = 1;
        ready = true;
        LockSupport.unpark(waiter);
        waiter.join();
    }
}
class Synchronizer {
    static class Mutex extends AbstractQueuedSynchronizer {
        protected boolean tryAcquire(int n) { return compareAndSetState(0, 1); }
        protected boolean tryRelease(int n) { setState(0); return true; }
    }
    static int data;
    public static void main(String[] args) throws Exception {
        Mutex mutex = new Mutex();
        Act act = () -> { mutex.acquire(1); data++; mutex.release(1); };
        Pair.run(act, act);
        Pair.check(data == 2);
    }
}
class Wrapped {
    static final List<Integer> list = Collections.synchronizedList(new ArrayList<>());
    static final Vector<Integer> vector = new Vector<>();
    static final StringBuffer buffer = new StringBuffer();
    public static void main(String[] args) throws Exception {
        Act act = () -> { list.add(1); vector.add(2); buffer.append('x'); synchronized (list) { for (int x : list) Pair.check(x == 1); } synchronized (vector) { for (int x : vector) Pair.check(x == 2); } };
        Pair.run(act, act);
        Pair.check(list.size() == 2 && vector.size() == 2 && buffer.length() == 2);
    }
}
class Handlers {
    static int data;
    public static void main(String[] args) throws Exception {
        Thread failing = new Thread(() -> { data = 1; throw new IllegalStateException("meant"); });
        CountDownLatch latch = new CountDownLatch(1);
        failing.setUncaughtExceptionHandler((t, e) -> { data++; latch.countDown(); });
        failing.start();
        latch.await();
        Pair.check(data == 2);
    }
}
class Pools {
    static int data;
    static class Counting extends ThreadPoolExecutor {
        int started;
        Counting() { super(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), r -> { Thread t = new Thread(r); t.setDaemon(true); return t; }, new CallerRunsPolicy()); }
        protected void beforeExecute(Thread t, Runnable r) { super.beforeExecute(t, r); started++; }
        protected void afterExecute(Runnable r, Throwable t) { super.afterExecute(r, t); started += 10; }
    }
    public static void main(String[] args) throws Exception {
        Counting pool = new Counting();
        FutureTask<Integer> task = new FutureTask<>(() -> ++data);
        pool.execute(task);
        Pair.check(task.get() == 1 && data == 1);
        pool.submit(() -> ++data).get();
        pool.shutdown();
        Pair.check(pool.awaitTermination(5, TimeUnit.SECONDS) && pool.started == 22 && data == 2);
        ExecutorService work = Executors.newWorkStealingPool();
        data = 5;
        work.submit(() -> { data++; }).get();
        Pair.check(data == 6);
        Executor direct = Runnable::run;
        direct.execute(() -> data++);
        Pair.check(data == 7);
        ExecutorService cached = Executors.newCachedThreadPool();
        Future<Integer> future = cached.submit(() -> data++);
        while (!future.isDone()) Thread.yield();
        Pair.check(data == 8);
        cached.shutdownNow();
    }
}
class Flows {
    static int data, got;
    public static void main(String[] args) throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        try (SubmissionPublisher<Integer> publisher = new SubmissionPublisher<>()) {
            publisher.subscribe(new Flow.Subscriber<>() {
                public void onSubscribe(Flow.Subscription s) { s.request(10); }
                public void onNext(Integer n) { got += n + data; }
                public void onError(Throwable t) { }
                public void onComplete() { done.countDown(); }
            });
            data = 1;
            publisher.submit(1);
            publisher.submit(2);
        }
        done.await();
        Pair.check(got == 5);
    }
}
class Processes {
    static int data;
    public static void main(String[] args) throws Exception {
        Process cat = new ProcessBuilder("cat").start();
        OutputStream to = cat.getOutputStream();
        InputStream from = cat.getInputStream();
        Pair.run(() -> { data = 1; to.write('x'); to.close(); }, () -> { if (from.read() == 'x') Pair.check(data == 1); });
        cat.waitFor();
    }
}
class Finals {
    final int[] numbers; final String name;
    static volatile Finals shared;
    Finals() { numbers = new int[] {1, 2}; name = "n"; }
    public static void main(String[] args) throws Exception {
        Pair.run(() -> shared = new Finals(), () -> { Finals f = shared; if (f != null) Pair.check(f.numbers[1] == 2 && f.name.equals("n")); });
    }
}
class Copies implements Cloneable {
    int x; int[] more = {1};
    public static void main(String[] args) throws Exception {
        Copies first = new Copies();
        first.x = 5;
        Object guard = new Object();
        Pair.run(() -> { Copies other = (Copies) first.clone(); Pair.check(other.x == 5); other.x++; }, () -> { Copies other = (Copies) first.clone(); other.x++; Pair.check(other.x == 6); });
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        new ObjectOutputStream(bytes).writeObject(new int[] {4});
        int[] read = (int[]) new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
        Pair.run(() -> Pair.check(read[0] == 4), () -> Pair.check(read[0] == 4));
    }
}
class CorrectAll {
    public static void main(String[] args) throws Exception {
        for (String name : (args.length > 0 ? args : ALL)) {
            System.out.println(name);
            Class.forName(name).getDeclaredMethod("main", String[].class).invoke(null, (Object) new String[0]);
        }
    }
    static final String[] ALL = {"BarrierAction", "PhaserAdvance", "Exchange", "LatchByReference", "FutureFails", "InvokeAllTasks", "CompletionOrder", "Scheduled", "Timers", "Completable", "ForkJoin", "ParallelStreams", "SharedReaders", "Interrupts", "Initialised", "LazyHolder", "EnumSingleton", "Pipes", "ThroughFiles", "ReadWriteAll", "TimedLocks", "Stamped", "ManyPermits", "Updates", "OtherAtomics", "Handles", "Reflected", "ArrayFlags", "TextFlags", "ViewFlags", "Queues", "Maps", "Conditions", "Joins", "Locals", "Parks", "Synchronizer", "Wrapped", "Handlers", "Pools", "Flows", "Processes", "Finals", "Copies"};
}
