// One behaviour a method: the name begins with what is to be found there. `race_`: a data race, `deadlock_`: a deadlock, `fine_`: nothing.
// They run one after the other, so that one recording has them all.

import java.lang.invoke.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;

public class Behaviours {
    interface Act { void go() throws Exception; }
    static class Cell { int i; long j; double d; float f; boolean z; byte b; short s; char c; Object o; }
    static class Heir extends Cell { int own; }
    static class Box { volatile int flag; volatile Cell cell; volatile int[] array; Constant constant; }
    static class Constant { final int value; Constant(int value) { this.value = value; } }
    static class Statics { static int plain; }
    static class Holder { static final Cell VALUE = new Cell(); static { VALUE.i = 1; } }
    static class Initialised { static int value = Integer.parseInt("1"); }
    enum Single { ONE }
    static class Methods {
        static int ofAll;
        int count;
        synchronized void locked() { count++; }
        void open() { count++; }
        static synchronized void ofClass() { ofAll++; }
        synchronized void ofObject() { ofAll++; }
        static int alone;
        static synchronized void ofClassAlone() { alone++; }
        synchronized void calls(Methods other) { other.locked(); }
    }
    static final VarHandle HANDLE, VOLATILE;
    static final AtomicIntegerFieldUpdater<Box> FLAG = AtomicIntegerFieldUpdater.newUpdater(Box.class, "flag");
    static {
        try {
            HANDLE = MethodHandles.lookup().findVarHandle(Cell.class, "i", int.class);
            VOLATILE = MethodHandles.lookup().findVarHandle(Box.class, "flag", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    static Thread thread(Act act) {
        return new Thread(() -> { try { act.go(); } catch (Exception e) { throw new RuntimeException(e); } });
    }
    static void two(Act first, Act second) throws Exception {
        Thread a = thread(first), b = thread(second);
        a.start();
        b.start();
        a.join();
        b.join();
    }
    static void both(Lock a, Lock b) { a.lock(); b.lock(); b.unlock(); a.unlock(); }
    static void end(ExecutorService e) throws Exception { e.shutdown(); e.awaitTermination(10, TimeUnit.SECONDS); }
    static void use(Object value) { }

    static void race_intField() throws Exception { Cell c = new Cell(); two(() -> c.i++, () -> c.i++); }
    static void race_longField() throws Exception { Cell c = new Cell(); two(() -> c.j = 1, () -> c.j = 2); }
    static void race_doubleField() throws Exception { Cell c = new Cell(); two(() -> c.d = 1, () -> c.d = 2); }
    static void race_floatField() throws Exception { Cell c = new Cell(); two(() -> c.f = 1, () -> c.f = 2); }
    static void race_booleanField() throws Exception { Cell c = new Cell(); two(() -> c.z = true, () -> use(c.z)); }
    static void race_byteField() throws Exception { Cell c = new Cell(); two(() -> c.b = 1, () -> use(c.b)); }
    static void race_shortField() throws Exception { Cell c = new Cell(); two(() -> c.s = 1, () -> use(c.s)); }
    static void race_charField() throws Exception { Cell c = new Cell(); two(() -> c.c = 'a', () -> use(c.c)); }
    static void race_referenceField() throws Exception { Cell c = new Cell(); two(() -> c.o = "a", () -> use(c.o)); }
    static void race_staticField() throws Exception { two(() -> Statics.plain++, () -> Statics.plain++); }
    static void race_intElement() throws Exception { int[] a = new int[2]; two(() -> a[1]++, () -> a[1]++); }
    static void race_longElement() throws Exception { long[] a = new long[2]; two(() -> a[1]++, () -> a[1]++); }
    static void race_doubleElement() throws Exception { double[] a = new double[2]; two(() -> a[1]++, () -> a[1]++); }
    static void race_floatElement() throws Exception { float[] a = new float[2]; two(() -> a[1]++, () -> a[1]++); }
    static void race_booleanElement() throws Exception { boolean[] a = new boolean[2]; two(() -> a[1] = true, () -> use(a[1])); }
    static void race_byteElement() throws Exception { byte[] a = new byte[2]; two(() -> a[1] = 1, () -> use(a[1])); }
    static void race_shortElement() throws Exception { short[] a = new short[2]; two(() -> a[1] = 1, () -> use(a[1])); }
    static void race_charElement() throws Exception { char[] a = new char[2]; two(() -> a[1] = 'a', () -> use(a[1])); }
    static void race_objectElement() throws Exception { Object[] a = new Object[2]; two(() -> a[1] = "a", () -> use(a[1])); }
    static void race_nestedElement() throws Exception { int[][] a = new int[2][2]; two(() -> a[1][1]++, () -> a[1][1]++); }
    static void race_rowOfArray() throws Exception { int[][] a = new int[2][2]; two(() -> a[1] = new int[3], () -> use(a[1])); }
    static void race_inheritedField() throws Exception { Heir h = new Heir(); two(() -> h.i++, () -> h.i++); }
    static void race_fieldOfHeir() throws Exception { Heir h = new Heir(); two(() -> h.own++, () -> h.own++); }
    static void race_twoLocks() throws Exception { Cell c = new Cell(); Object a = new Object(), b = new Object(); two(() -> { synchronized (a) { c.i++; } }, () -> { synchronized (b) { c.i++; } }); }
    static void race_lockOnOneSide() throws Exception { Cell c = new Cell(); two(() -> { synchronized (c) { c.i++; } }, () -> c.i++); }
    static void race_newLockEachTime() throws Exception { Cell c = new Cell(); two(() -> { synchronized (new Object()) { c.i++; } }, () -> { synchronized (new Object()) { c.i++; } }); }
    static void race_afterUnlock() throws Exception { Cell c = new Cell(); two(() -> { synchronized (c) { c.j++; } c.i++; }, () -> { synchronized (c) { c.j++; } c.i++; }); }
    static void race_beforeLock() throws Exception { Cell c = new Cell(); two(() -> { c.i++; synchronized (c) { c.j++; } }, () -> { c.i++; synchronized (c) { c.j++; } }); }
    static void race_oneMethodSynchronized() throws Exception { Methods m = new Methods(); two(m::locked, m::open); }
    static void race_staticAndInstanceLock() throws Exception { Methods m = new Methods(); two(Methods::ofClass, m::ofObject); }
    static void race_twoReadLocks() throws Exception { Cell c = new Cell(); ReadWriteLock l = new ReentrantReadWriteLock(); Act a = () -> { l.readLock().lock(); c.i++; l.readLock().unlock(); }; two(a, () -> { l.readLock().lock(); c.i++; l.readLock().unlock(); }); }
    static void race_semaphoreOfTwo() throws Exception { Cell c = new Cell(); Semaphore s = new Semaphore(2); two(() -> { s.acquire(); c.i++; s.release(); }, () -> { s.acquire(); c.i++; s.release(); }); }
    static void race_afterTriedLock() throws Exception { Cell c = new Cell(); ReentrantLock l = new ReentrantLock(); two(() -> { l.lock(); c.i++; l.unlock(); }, () -> { if (l.tryLock()) l.unlock(); c.i++; }); }
    static void race_volatileReference() throws Exception { Box b = new Box(); b.cell = new Cell(); two(() -> b.cell.i++, () -> b.cell.i++); }
    static void race_volatileArray() throws Exception { Box b = new Box(); b.array = new int[2]; two(() -> b.array[0]++, () -> b.array[0]++); }
    static void race_afterStart() throws Exception { Cell c = new Cell(); Thread t = thread(() -> use(c.i)); t.start(); c.i = 1; t.join(); }
    static void race_beforeJoin() throws Exception { Cell c = new Cell(); Thread t = thread(() -> c.i = 1); t.start(); use(c.i); t.join(); }
    static void race_lazy() throws Exception { Cell c = new Cell(); Act a = () -> { if (c.o == null) c.o = new Object(); }; two(a, a); }
    static void race_checkThenAct() throws Exception { Cell c = new Cell(); two(() -> { if (c.i == 0) c.i = 1; }, () -> { if (c.i == 0) c.i = 2; }); }
    static void race_taskNotAwaited() throws Exception { Cell c = new Cell(); ExecutorService e = Executors.newFixedThreadPool(1); Future<?> f = e.submit(() -> { c.i = 1; }); use(c.i); f.get(); e.shutdown(); }
    static void race_twoTasks() throws Exception { Cell c = new Cell(); ExecutorService e = Executors.newFixedThreadPool(2); e.submit(() -> { c.i++; }); e.submit(() -> { c.i++; }); end(e); }
    static void race_arrayList() throws Exception { List<String> l = new ArrayList<>(); two(() -> l.add("a"), () -> l.add("b")); }
    static void race_linkedList() throws Exception { List<String> l = new LinkedList<>(); two(() -> l.add("a"), () -> l.add("b")); }
    static void race_hashMap() throws Exception { Map<String, String> m = new HashMap<>(); two(() -> m.put("a", "a"), () -> m.put("b", "b")); }
    static void race_treeMap() throws Exception { Map<String, String> m = new TreeMap<>(); two(() -> m.put("a", "a"), () -> m.put("b", "b")); }
    static void race_hashSet() throws Exception { Set<String> m = new HashSet<>(); two(() -> m.add("a"), () -> m.contains("b")); }
    static void race_arrayDeque() throws Exception { Deque<String> d = new ArrayDeque<>(); two(() -> d.add("a"), () -> d.poll()); }
    static void race_stringBuilder() throws Exception { StringBuilder b = new StringBuilder(); two(() -> b.append("a"), () -> b.append("b")); }
    static void race_iterator() throws Exception { List<String> l = new ArrayList<>(List.of("a")); two(() -> { for (String s : l) use(s); }, () -> l.add("b")); }
    static void race_arraycopy() throws Exception { int[] a = new int[4], b = new int[4]; two(() -> System.arraycopy(b, 0, a, 0, 4), () -> a[2] = 1); }
    static void race_arraysFill() throws Exception { int[] a = new int[4]; two(() -> Arrays.fill(a, 1), () -> a[2] = 2); }
    static void race_varHandleOnOneSide() throws Exception { Cell c = new Cell(); two(() -> HANDLE.set(c, 1), () -> c.i = 2); }
    static void race_reflection() throws Exception { Cell c = new Cell(); java.lang.reflect.Field f = Cell.class.getDeclaredField("i"); two(() -> f.setInt(c, 1), () -> c.i = 2); }
    static void race_afterNotify() throws Exception { Cell c = new Cell(); two(() -> { synchronized (c) { c.z = true; c.notifyAll(); } c.i = 1; }, () -> { synchronized (c) { while (!c.z) c.wait(); } c.i = 2; }); }
    static void fine_intField() throws Exception { Cell c = new Cell(); two(() -> { synchronized (c) { c.i++; } }, () -> { synchronized (c) { c.i++; } }); }
    static void fine_twoFields() throws Exception { Cell c = new Cell(); two(() -> c.i++, () -> c.j++); }
    static void fine_twoElements() throws Exception { int[] a = new int[2]; two(() -> a[0]++, () -> a[1]++); }
    static void fine_twoObjects() throws Exception { Cell c = new Cell(), d = new Cell(); two(() -> c.i++, () -> d.i++); }
    static void fine_twoReads() throws Exception { Cell c = new Cell(); c.i = 1; two(() -> use(c.i), () -> use(c.i)); }
    static void fine_beforeStart() throws Exception { Cell c = new Cell(); c.i = 1; Thread t = thread(() -> c.i++); t.start(); t.join(); }
    static void fine_afterJoin() throws Exception { Cell c = new Cell(); Thread t = thread(() -> c.i++); t.start(); t.join(); c.i++; }
    static void fine_oneAfterTheOther() throws Exception { Cell c = new Cell(); Thread t = thread(() -> c.i++); t.start(); t.join(); Thread u = thread(() -> c.i++); u.start(); u.join(); }
    static void fine_startedByThread() throws Exception { Cell c = new Cell(); Thread t = thread(() -> { c.i = 1; Thread u = thread(() -> c.i++); u.start(); u.join(); }); t.start(); t.join(); }
    static void fine_synchronizedMethods() throws Exception { Methods m = new Methods(); two(m::locked, m::locked); }
    static void fine_staticSynchronized() throws Exception { two(Methods::ofClassAlone, Methods::ofClassAlone); }
    static void fine_reentrantMonitor() throws Exception { Cell c = new Cell(); Act a = () -> { synchronized (c) { synchronized (c) { c.i++; } c.i++; } }; two(a, a); }
    static void fine_exceptionInMonitor() throws Exception { Cell c = new Cell(); Act a = () -> { try { synchronized (c) { c.i++; throw new Exception(); } } catch (Exception e) { } synchronized (c) { c.i++; } }; two(a, a); }
    static void fine_reentrantLock() throws Exception { Cell c = new Cell(); Lock l = new ReentrantLock(); Act a = () -> { l.lock(); try { c.i++; } finally { l.unlock(); } }; two(a, a); }
    static void fine_tryLock() throws Exception { Cell c = new Cell(); Lock l = new ReentrantLock(); Act a = () -> { if (l.tryLock()) try { c.i++; } finally { l.unlock(); } }; two(a, a); }
    static void fine_tryLockForSomeTime() throws Exception { Cell c = new Cell(); Lock l = new ReentrantLock(); Act a = () -> { if (l.tryLock(5, TimeUnit.SECONDS)) try { c.i++; } finally { l.unlock(); } }; two(a, a); }
    static void fine_lockInterruptibly() throws Exception { Cell c = new Cell(); Lock l = new ReentrantLock(); Act a = () -> { l.lockInterruptibly(); try { c.i++; } finally { l.unlock(); } }; two(a, a); }
    static void fine_readersAndWriter() throws Exception { Cell c = new Cell(); ReadWriteLock l = new ReentrantReadWriteLock(); two(() -> { l.readLock().lock(); use(c.i); l.readLock().unlock(); }, () -> { l.writeLock().lock(); c.i++; l.writeLock().unlock(); }); }
    static void fine_downgrade() throws Exception { Cell c = new Cell(); ReadWriteLock l = new ReentrantReadWriteLock(); two(() -> { l.writeLock().lock(); c.i++; l.readLock().lock(); l.writeLock().unlock(); use(c.i); l.readLock().unlock(); }, () -> { l.writeLock().lock(); c.i++; l.writeLock().unlock(); }); }
    static void fine_stampedLock() throws Exception { Cell c = new Cell(); StampedLock l = new StampedLock(); Act a = () -> { long s = l.writeLock(); c.i++; l.unlockWrite(s); }; two(a, a); }
    static void fine_semaphoreOfOne() throws Exception { Cell c = new Cell(); Semaphore s = new Semaphore(1); Act a = () -> { s.acquire(); c.i++; s.release(); }; two(a, a); }
    static void fine_semaphoreHandOver() throws Exception { Cell c = new Cell(); Semaphore s = new Semaphore(0); two(() -> { c.i = 1; s.release(); }, () -> { s.acquire(); c.i++; }); }
    static void fine_volatileField() throws Exception { Box b = new Box(); two(() -> b.flag = 1, () -> use(b.flag)); }
    static void fine_volatileFlag() throws Exception { Cell c = new Cell(); Box b = new Box(); two(() -> { c.i = 1; b.flag = 1; }, () -> { if (b.flag == 1) c.i++; }); }
    static void fine_volatileSpin() throws Exception { Cell c = new Cell(); Box b = new Box(); two(() -> { c.i = 1; b.flag = 1; }, () -> { while (b.flag == 0) Thread.onSpinWait(); c.i++; }); }
    static void fine_volatilePublished() throws Exception { Box b = new Box(); two(() -> { Cell c = new Cell(); c.i = 1; b.cell = c; }, () -> { Cell c = b.cell; if (c != null) use(c.i); }); }
    static void fine_doubleChecked() throws Exception { Box b = new Box(); Act a = () -> { if (b.cell == null) synchronized (b) { if (b.cell == null) { Cell c = new Cell(); c.i = 1; b.cell = c; } } use(b.cell.i); }; two(a, a); }
    static void race_publishedWithoutLock() throws Exception { Box b = new Box(); two(() -> b.constant = new Constant(7), () -> { Constant c = b.constant; if (c != null) use(c.value); }); }
    static void fine_finalField() throws Exception { Constant c = new Constant(7); two(() -> use(c.value), () -> use(c.value)); }
    static void fine_holder() throws Exception { Act a = () -> use(Holder.VALUE.i); two(a, a); }
    static void fine_initialiser() throws Exception { two(() -> use(Initialised.value), () -> use(Initialised.value)); }
    static void fine_enumeration() throws Exception { two(() -> use(Single.ONE.name()), () -> use(Single.ONE.name())); }
    static void fine_waitAndNotify() throws Exception { Cell c = new Cell(); two(() -> { synchronized (c) { c.z = true; c.i = 1; c.notifyAll(); } }, () -> { synchronized (c) { while (!c.z) c.wait(); c.i++; } }); }
    static void fine_waitForSomeTime() throws Exception { Cell c = new Cell(); two(() -> { synchronized (c) { c.i = 1; c.notify(); } }, () -> { synchronized (c) { if (c.i == 0) c.wait(20); c.i++; } }); }
    static void fine_condition() throws Exception { Cell c = new Cell(); Lock l = new ReentrantLock(); Condition d = l.newCondition(); two(() -> { l.lock(); c.i = 1; d.signalAll(); l.unlock(); }, () -> { l.lock(); while (c.i == 0) d.await(); c.i++; l.unlock(); }); }
    static void fine_latch() throws Exception { Cell c = new Cell(); CountDownLatch l = new CountDownLatch(1); two(() -> { c.i = 1; l.countDown(); }, () -> { l.await(); c.i++; }); }
    static void fine_barrier() throws Exception { Cell c = new Cell(), d = new Cell(); CyclicBarrier b = new CyclicBarrier(2); two(() -> { c.i = 1; b.await(); d.i++; }, () -> { d.i = 1; b.await(); c.i++; }); }
    static void fine_phaser() throws Exception { Cell c = new Cell(), d = new Cell(); Phaser p = new Phaser(2); two(() -> { c.i = 1; p.arriveAndAwaitAdvance(); d.i++; }, () -> { d.i = 1; p.arriveAndAwaitAdvance(); c.i++; }); }
    static void fine_exchanger() throws Exception { Exchanger<Cell> x = new Exchanger<>(); Act a = () -> { Cell c = new Cell(); c.i = 1; x.exchange(c).i++; }; two(a, a); }
    static void fine_blockingQueue() throws Exception { BlockingQueue<Cell> q = new LinkedBlockingQueue<>(); two(() -> { Cell c = new Cell(); c.i = 1; q.put(c); }, () -> q.take().i++); }
    static void fine_arrayBlockingQueue() throws Exception { BlockingQueue<Cell> q = new ArrayBlockingQueue<>(1); two(() -> { Cell c = new Cell(); c.i = 1; q.put(c); }, () -> q.take().i++); }
    static void fine_synchronousQueue() throws Exception { BlockingQueue<Cell> q = new SynchronousQueue<>(); two(() -> { Cell c = new Cell(); c.i = 1; q.put(c); }, () -> q.take().i++); }
    static void fine_concurrentQueue() throws Exception { Queue<Cell> q = new ConcurrentLinkedQueue<>(); two(() -> { Cell c = new Cell(); c.i = 1; q.add(c); }, () -> { Cell c = q.poll(); if (c != null) c.i++; }); }
    static void fine_concurrentMap() throws Exception { Map<String, Cell> m = new ConcurrentHashMap<>(); two(() -> { Cell c = new Cell(); c.i = 1; m.put("a", c); }, () -> { Cell c = m.get("a"); if (c != null) use(c.i); }); }
    static void fine_copyOnWrite() throws Exception { List<String> l = new CopyOnWriteArrayList<>(); two(() -> l.add("a"), () -> { for (String s : l) use(s); }); }
    static void fine_synchronizedList() throws Exception { List<String> l = Collections.synchronizedList(new ArrayList<>()); two(() -> l.add("a"), () -> l.add("b")); }
    static void fine_synchronizedMap() throws Exception { Map<String, String> m = Collections.synchronizedMap(new HashMap<>()); two(() -> m.put("a", "a"), () -> m.put("b", "b")); }
    static void fine_vector() throws Exception { List<String> l = new Vector<>(); two(() -> l.add("a"), () -> l.add("b")); }
    static void fine_stringBuffer() throws Exception { StringBuffer b = new StringBuffer(); two(() -> b.append("a"), () -> b.append("b")); }
    static void fine_atomicInteger() throws Exception { AtomicInteger n = new AtomicInteger(); Act a = n::incrementAndGet; two(a, a); }
    static void fine_atomicFlag() throws Exception { Cell c = new Cell(); AtomicBoolean b = new AtomicBoolean(); Act a = () -> { if (b.compareAndSet(false, true)) c.i++; }; two(a, a); }
    static void fine_atomicReference() throws Exception { AtomicReference<Cell> r = new AtomicReference<>(); two(() -> { Cell c = new Cell(); c.i = 1; r.set(c); }, () -> { Cell c = r.get(); if (c != null) use(c.i); }); }
    static void fine_atomicSpinLock() throws Exception { Cell c = new Cell(); AtomicInteger l = new AtomicInteger(); Act a = () -> { while (!l.compareAndSet(0, 1)) Thread.onSpinWait(); c.i++; l.set(0); }; two(a, a); }
    static void fine_adder() throws Exception { LongAdder n = new LongAdder(); two(n::increment, n::increment); }
    static void fine_fieldUpdater() throws Exception { Box b = new Box(); two(() -> FLAG.incrementAndGet(b), () -> FLAG.incrementAndGet(b)); }
    static void fine_varHandle() throws Exception { Cell c = new Cell(); Box b = new Box(); two(() -> { c.i = 1; VOLATILE.setRelease(b, 1); }, () -> { if ((int) VOLATILE.getAcquire(b) == 1) c.i++; }); }
    static void fine_future() throws Exception { Cell c = new Cell(); ExecutorService e = Executors.newFixedThreadPool(1); e.submit(() -> { c.i = 1; }).get(); c.i++; end(e); }
    static void fine_tasksOfOneThread() throws Exception { Cell c = new Cell(); ExecutorService e = Executors.newSingleThreadExecutor(); e.submit(() -> { c.i++; }); e.submit(() -> { c.i++; }); end(e); }
    static void fine_termination() throws Exception { Cell c = new Cell(); ExecutorService e = Executors.newFixedThreadPool(2); e.submit(() -> { c.i++; }); end(e); c.i++; }
    static void fine_futureTask() throws Exception { Cell c = new Cell(); FutureTask<Integer> f = new FutureTask<>(() -> { c.i = 1; return 1; }); Thread t = thread(f::run); t.start(); f.get(); c.i++; t.join(); }
    static void fine_completableFuture() throws Exception { Cell c = new Cell(); CompletableFuture.runAsync(() -> c.i = 1).thenRun(() -> c.i++).join(); c.i++; }
    static void fine_forkJoin() throws Exception { int[] a = new int[8]; new ForkJoinPool(2).submit(() -> { java.util.stream.IntStream.range(0, 8).parallel().forEach(i -> a[i]++); }).join(); a[0]++; }
    static void fine_threadLocal() throws Exception { ThreadLocal<Cell> l = ThreadLocal.withInitial(Cell::new); Act a = () -> l.get().i++; two(a, a); }
    static void fine_park() throws Exception { Cell c = new Cell(); Box b = new Box(); Thread t = thread(() -> { while (b.flag == 0) LockSupport.parkNanos(1000000); c.i++; }); t.start(); c.i = 1; b.flag = 1; LockSupport.unpark(t); t.join(); }
    static void fine_interrupt() throws Exception { Cell c = new Cell(); Thread t = thread(() -> { try { Thread.sleep(10000); } catch (InterruptedException e) { c.i++; } }); t.start(); c.i = 1; t.interrupt(); t.join(); }
    static void deadlock_monitors() throws Exception { Object a = new Object(), b = new Object(); two(() -> { synchronized (a) { synchronized (b) { use(1); } } }, () -> { synchronized (b) { synchronized (a) { use(1); } } }); }
    static void deadlock_locks() throws Exception { Lock a = new ReentrantLock(), b = new ReentrantLock(); two(() -> both(a, b), () -> { b.lock(); a.lock(); a.unlock(); b.unlock(); }); }
    static void deadlock_monitorAndLock() throws Exception { Object a = new Object(); Lock b = new ReentrantLock(); two(() -> { synchronized (a) { b.lock(); b.unlock(); } }, () -> { b.lock(); synchronized (a) { use(1); } b.unlock(); }); }
    static void deadlock_writeLocks() throws Exception { ReadWriteLock a = new ReentrantReadWriteLock(), b = new ReentrantReadWriteLock(); two(() -> { a.writeLock().lock(); b.writeLock().lock(); b.writeLock().unlock(); a.writeLock().unlock(); }, () -> { b.writeLock().lock(); a.writeLock().lock(); a.writeLock().unlock(); b.writeLock().unlock(); }); }
    static void deadlock_vectors() throws Exception { Vector<String> a = new Vector<>(), b = new Vector<>(); two(() -> { synchronized (a) { b.add("a"); } }, () -> { synchronized (b) { a.add("b"); } }); }
    static void deadlock_synchronizedMethods() throws Exception { Methods a = new Methods(), b = new Methods(); two(() -> a.calls(b), () -> b.calls(a)); }
    static void fine_gateLock() throws Exception { Object a = new Object(), b = new Object(), gate = new Object(); two(() -> { synchronized (gate) { synchronized (a) { synchronized (b) { use(1); } } } }, () -> { synchronized (gate) { synchronized (b) { synchronized (a) { use(1); } } } }); }
    static void fine_sameOrder() throws Exception { Object a = new Object(), b = new Object(); Act x = () -> { synchronized (a) { synchronized (b) { use(1); } } }; two(x, x); }
    static void fine_ordersOfOneThread() throws Exception { Object a = new Object(), b = new Object(); Thread t = thread(() -> { synchronized (a) { synchronized (b) { use(1); } } }); t.start(); t.join(); synchronized (b) { synchronized (a) { use(1); } } }
    static void fine_triedLocks() throws Exception { Lock a = new ReentrantLock(), b = new ReentrantLock(); two(() -> both(a, b), () -> { b.lock(); if (a.tryLock()) a.unlock(); b.unlock(); }); }

    public static void main(String[] args) throws Exception {
        for (var method : Behaviours.class.getDeclaredMethods()) {
            String name = method.getName();
            boolean isOne = name.startsWith("race_") || name.startsWith("fine_") || name.startsWith("deadlock_");
            if (isOne && (args.length == 0 || List.of(args).contains(name))) method.invoke(null);
        }
        System.out.println("done");
    }
}
