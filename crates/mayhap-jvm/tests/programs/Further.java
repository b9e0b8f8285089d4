import java.lang.invoke.*;
import java.lang.ref.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
import java.util.function.*;
import java.util.stream.*;

/** Correct programs, one to a method: all of them run, or those that are named. */
public class Further {
    interface Body { void run() throws Exception; }
    static Thread go(Body b) {
        Thread t = new Thread(() -> { try { b.run(); } catch (Exception e) { throw new RuntimeException(e); } });
        t.start();
        return t;
    }
    static void all(Body... bs) throws Exception {
        List<Thread> ts = new ArrayList<>();
        for (Body b : bs) ts.add(go(b));
        for (Thread t : ts) t.join();
    }
    static void check(boolean ok) { if (!ok) throw new AssertionError(); }

    // a ring buffer for one producer and one consumer, acquire/release
    static class Spsc { final int[] items = new int[8]; int head, tail; static final VarHandle H, T; static { try { var l = MethodHandles.lookup(); H = l.findVarHandle(Spsc.class, "head", int.class); T = l.findVarHandle(Spsc.class, "tail", int.class); } catch (Exception e) { throw new Error(e); } }
        boolean put(int v) {
            int t = (int) T.get(this);
            if (t - (int) H.getAcquire(this) == 8) return false;
            items[t & 7] = v;
            T.setRelease(this, t + 1);
            return true;
        }
        int take() {
            int h = (int) H.get(this);
            if (h == (int) T.getAcquire(this)) return -1;
            int v = items[h & 7];
            H.setRelease(this, h + 1);
            return v;
        }
        }
    static void spsc() throws Exception {
        Spsc q = new Spsc();
        int[] sum = {0};
        all(() -> {
            for (int i = 0; i < 30; i++) while (!q.put(i)) Thread.yield();
        }, () -> { for (int i = 0; i < 30; ) { int v = q.take(); if (v >= 0) { sum[0] += v; i++; } else Thread.yield(); } });
        check(sum[0] == 435);
    }

    // seqlock with volatile sequence and opaque data
    static class Seq {
        volatile int seq;
        volatile int a, b;
        synchronized void write(int v) { seq++; a = v; b = -v; seq++; }
        int read() {
            while (true) { int s = seq; if ((s & 1) == 0) { int x = a, y = b; if (s == seq) { check(x == -y); return x; } } Thread.onSpinWait(); }
        }
    }
    static void seqlock() throws Exception {
        Seq s = new Seq();
        all(() -> {
            for (int i = 0; i < 20; i++) s.write(i);
        }, () -> { for (int i = 0; i < 20; i++) s.read(); }, () -> { for (int i = 0; i < 20; i++) s.read(); });
    }

    // spin lock: CAS by VarHandle on own field
    static class Spin {
        int held;
        static final VarHandle V;
        static { try { V = MethodHandles.lookup().findVarHandle(Spin.class, "held", int.class); } catch (Exception e) { throw new Error(e); } }
        void lock() { while (!V.compareAndSet(this, 0, 1)) Thread.onSpinWait(); }
        void unlock() { V.setVolatile(this, 0); }
    }
    static void spinHandle() throws Exception {
        Spin l = new Spin();
        int[] n = {0};
        Body b = () -> { for (int i = 0; i < 20; i++) { l.lock(); n[0]++; l.unlock(); } };
        all(b, b, b);
        check(n[0] == 60);
    }
    static void spinHandleRelease() throws Exception {
        Spin l = new Spin();
        int[] n = {0};
        Body b = () -> {
            for (int i = 0; i < 20; i++) { while (!Spin.V.weakCompareAndSetAcquire(l, 0, 1)) Thread.yield(); n[0]++; Spin.V.setRelease(l, 0); }
        };
        all(b, b);
        check(n[0] == 40);
    }

    // ticket lock
    static void ticket() throws Exception {
        AtomicInteger next = new AtomicInteger(), now = new AtomicInteger();
        int[] n = {0};
        Body b = () -> {
            for (int i = 0; i < 15; i++) { int t = next.getAndIncrement(); while (now.get() != t) Thread.yield(); n[0]++; now.incrementAndGet(); }
        };
        all(b, b, b);
        check(n[0] == 45);
    }

    // FIFO mutex by park
    static class Fifo { final AtomicBoolean locked = new AtomicBoolean(); final Queue<Thread> q = new ConcurrentLinkedQueue<>();
        void lock() {
            Thread me = Thread.currentThread();
            q.add(me);
            while (q.peek() != me || !locked.compareAndSet(false, true)) LockSupport.park(this);
            q.remove();
        }
        void unlock() { locked.set(false); LockSupport.unpark(q.peek()); }
        }
    static void fifo() throws Exception {
        Fifo l = new Fifo();
        Map<Integer, Integer> m = new HashMap<>();
        Body b = () -> { for (int i = 0; i < 10; i++) { l.lock(); try { m.merge(i, 1, Integer::sum); } finally { l.unlock(); } } };
        all(b, b, b);
        check(m.get(3) == 3);
    }

    // Peterson with volatiles
    static volatile boolean w0, w1; static volatile int turn; static int peter;
    static void peterson() throws Exception {
        w0 = w1 = false;
        all(() -> {
            for (int i = 0; i < 10; i++) { w0 = true; turn = 1; while (w1 && turn == 1) Thread.yield(); peter++; w0 = false; }
        }, () -> { for (int i = 0; i < 10; i++) { w1 = true; turn = 0; while (w0 && turn == 0) Thread.yield(); peter++; w1 = false; } });
    }

    // publication through compute
    static class Holder { int v; List<String> l = new ArrayList<>(); }
    static void compute() throws Exception {
        var m = new ConcurrentHashMap<String, Holder>();
        Body b = () -> {
            for (int i = 0; i < 20; i++) m.compute("k" + i % 3, (k, h) -> { if (h == null) h = new Holder(); h.v++; h.l.add(k); return h; });
        };
        all(b, b, b);
        int s = 0;
        for (Holder h : m.values()) s += h.v;
        check(s == 60);
    }
    static void computeIfAbsent() throws Exception {
        var m = new ConcurrentHashMap<Integer, Holder>();
        Body b = () -> {
            for (int i = 0; i < 10; i++) {
                int j = i;
                Holder h = m.computeIfAbsent(i, k -> { Holder x = new Holder(); x.v = k * 7; return x; });
                check(h.v == j * 7);
            }
        };
        all(b, b, b);
    }
    static void putIfAbsent() throws Exception {
        var m = new ConcurrentSkipListMap<Integer, Holder>();
        Body b = () -> {
            for (int i = 0; i < 10; i++) {
                Holder n = new Holder();
                n.v = i;
                Holder o = m.putIfAbsent(i, n);
                Holder h = o == null ? n : o;
                check(h.v == i);
            }
        };
        all(b, b);
    }
    static void mapEntryIter() throws Exception {
        var m = new ConcurrentHashMap<Integer, Holder>();
        for (int i = 0; i < 5; i++) { Holder h = new Holder(); h.v = i; m.put(i, h); }
        all(() -> {
            for (int i = 5; i < 15; i++) { Holder h = new Holder(); h.v = i; m.put(i, h); }
        }, () -> {
            for (int k = 0; k < 5; k++) for (var e : m.entrySet()) check(e.getValue().v == e.getKey());
        }, () -> m.forEach(1, (k, h) -> check(h.v == k)));
    }

    // CompletableFuture combinations
    static void futures() throws Exception {
        int[] data = new int[3];
        var a = CompletableFuture.runAsync(() -> data[0] = 1);
        var b = a.thenRunAsync(() -> data[1] = data[0] + 1);
        var c = b.thenCombine(CompletableFuture.supplyAsync(() -> 5), (v, x) -> data[1] + x);
        var d = c.thenCompose(x -> CompletableFuture.supplyAsync(() -> { data[2] = data[1] + x; return data[2]; }));
        check(d.get() == 9 && data[2] == 9);
    }
    static void futuresAllOf() throws Exception {
        int[] r = new int[6];
        var fs = new CompletableFuture<?>[6];
        for (int i = 0; i < 6; i++) { int j = i; fs[i] = CompletableFuture.runAsync(() -> r[j] = j); }
        CompletableFuture.allOf(fs).join();
        check(IntStream.of(r).sum() == 15);
    }
    static void futureHandle() throws Exception {
        Holder h = new Holder();
        var f = new CompletableFuture<Holder>();
        all(() -> {
            h.v = 4;
            f.complete(h);
        }, () -> check(f.get().v == 4), () -> f.handle((x, e) -> {
            check(x.v == 4);
            return null;
        }).get(), () -> check(f.thenApplyAsync(x -> x.v + 1).orTimeout(30, TimeUnit.SECONDS).get() == 5));
    }
    static void futureException() throws Exception {
        Holder h = new Holder();
        var f = CompletableFuture.supplyAsync(() -> { h.v = 3; throw new IllegalStateException("x"); });
        try { f.get(); } catch (ExecutionException e) { check(h.v == 3); }
        check(f.exceptionally(t -> { h.v++; return null; }).join() == null && h.v == 4);
    }

    static void phaserParties() throws Exception {
        Phaser p = new Phaser(1);
        int[] d = new int[4];
        for (int i = 0; i < 3; i++) {
            int j = i;
            p.register();
            go(() -> { d[j] = j + 1; p.arriveAndAwaitAdvance(); int s = d[0] + d[1] + d[2]; check(s == 6); p.arriveAndDeregister(); });
        }
        p.arriveAndAwaitAdvance();
        check(d[0] + d[1] + d[2] == 6);
        p.arriveAndAwaitAdvance();
        d[0] = 9;
        p.arriveAndDeregister();
    }
    static void exchanger() throws Exception {
        Exchanger<int[]> x = new Exchanger<>();
        all(() -> {
            int[] a = {1};
            for (int i = 0; i < 5; i++) { a[0]++; a = x.exchange(a); }
        }, () -> { int[] b = {100}; for (int i = 0; i < 5; i++) { b[0]++; b = x.exchange(b); } });
    }
    static void stamped() throws Exception {
        StampedLock l = new StampedLock();
        double[] p = new double[2];
        all(() -> {
            for (int i = 0; i < 10; i++) { long s = l.writeLock(); p[0]++; p[1]--; l.unlockWrite(s); }
        }, () -> {
            for (int i = 0; i < 10; i++) {
                long s = l.readLock();
                check(p[0] == -p[1]);
                long w = l.tryConvertToWriteLock(s);
                if (w != 0) { p[0] += 2; p[1] -= 2; l.unlock(w); } else l.unlockRead(s);
            }
        });
    }
    static void rwUpgradeless() throws Exception {
        var l = new ReentrantReadWriteLock(true);
        Map<String, Integer> m = new TreeMap<>();
        all(() -> {
            for (int i = 0; i < 10; i++) {
                l.writeLock().lock();
                m.put("a", i);
                l.readLock().lock();
                l.writeLock().unlock();
                check(m.get("a") >= i);
                l.readLock().unlock();
            }
        }, () -> {
            for (int i = 0; i < 10; i++) { l.readLock().lock(); m.get("a"); l.readLock().unlock(); }
        }, () -> { for (int i = 0; i < 10; i++) if (l.writeLock().tryLock()) { try { m.put("b", i); } finally { l.writeLock().unlock(); } } });
    }

    // a thread that has exchanged its write lock for a read lock waits for other readers
    static void rwExchangedWaits() throws Exception {
        var l = new ReentrantReadWriteLock();
        int[] data = new int[2];
        for (int round = 0; round < 20; round++) {
            var seen = new CountDownLatch(2);
            int now = round;
            all(() -> {
                l.writeLock().lock();
                data[0] = now; data[1] = -now;
                l.readLock().lock(); l.readLock().lock();
                l.writeLock().unlock();
                seen.await();
                check(data[0] == now && data[1] == -now);
                l.readLock().unlock(); l.readLock().unlock();
            }, () -> {
                l.readLock().lock();
                try { check(data[0] == -data[1]); } finally { l.readLock().unlock(); }
                seen.countDown();
            }, () -> {
                while (!l.readLock().tryLock()) Thread.yield();
                try { check(data[0] == -data[1]); } finally { l.readLock().unlock(); }
                seen.countDown();
            }, () -> {
                if (l.writeLock().tryLock(1, TimeUnit.MILLISECONDS)) { try { data[0]++; data[1]--; } finally { l.writeLock().unlock(); } }
            });
        }
    }

    // what a class says of its fields, copies of objects, and objects that are written out and read again
    static class Point implements Cloneable, java.io.Serializable { int x, y; Point other; public Point clone() { try { return (Point) super.clone(); } catch (CloneNotSupportedException e) { throw new Error(e); } } }
    static class Plain implements java.io.Serializable { long id; Plain next; }
    static void ownCopies() throws Exception {
        check(Point.class.getDeclaredFields().length == 3 && Plain.class.getDeclaredFields().length == 2);
        var p = new Point(); p.other = new Point(); p.x = 1; p.other.x = 2;
        var q = new Plain(); q.next = new Plain(); q.next.id = 7;
        all(() -> { for (int i = 0; i < 50; i++) { var c = p.clone(); c.x += i; c.other = new Point(); c.other.x = c.x; check(c.x == 1 + i && p.x == 1); } },
            () -> { for (int i = 0; i < 50; i++) { var c = p.clone(); c.y -= i; c.other.clone().y = i; check(c.y == -i && p.y == 0); } },
            () -> { for (int i = 0; i < 20; i++) {
                var out = new java.io.ByteArrayOutputStream();
                try (var o = new java.io.ObjectOutputStream(out)) { o.writeObject(q); }
                var r = (Plain) new java.io.ObjectInputStream(new java.io.ByteArrayInputStream(out.toByteArray())).readObject();
                r.id = i; r.next.id += i; check(q.id == 0 && q.next.id == 7 && r.next.id == 7 + i);
            } });
    }

    // attempts and waits for the same locks
    static void attempts() throws Exception {
        var l = new ReentrantLock();
        var rw = new ReentrantReadWriteLock();
        int[] data = new int[2];
        Body tries = () -> {
            for (int i = 0; i < 100; i++) {
                if (l.tryLock()) { try { data[0]++; } finally { l.unlock(); } }
                if (rw.writeLock().tryLock()) { try { data[1]++; } finally { rw.writeLock().unlock(); } }
                if (rw.readLock().tryLock()) { try { check(data[1] >= 0); } finally { rw.readLock().unlock(); } }
            }
        };
        Body waits = () -> {
            for (int i = 0; i < 100; i++) {
                l.lock(); try { data[0]++; } finally { l.unlock(); }
                rw.writeLock().lock();
                try { data[1]++; rw.readLock().lock(); } finally { rw.writeLock().unlock(); }
                try { check(data[1] > 0); } finally { rw.readLock().unlock(); }
            }
        };
        all(tries, waits, tries, waits);
        check(data[0] >= 200 && data[1] >= 200);
    }

    // double-checked, volatile
    static volatile Holder dcl;
    static Holder dcl() {
        Holder h = dcl;
        if (h == null) synchronized (Further.class) { h = dcl; if (h == null) { h = new Holder(); h.v = 11; dcl = h; } }
        return h;
    }
    static void doubleChecked() throws Exception { dcl = null; Body b = () -> check(dcl().v == 11); all(b, b, b); }
    static class Lazy { static class In { static final Holder H; static { H = new Holder(); H.v = 8; } } }
    static void holder() throws Exception { Body b = () -> check(Lazy.In.H.v == 8); all(b, b, b); }
    static class Box {
        final int[] xs;
        final Map<String, Integer> m = new HashMap<>();
        Box(int n) { xs = new int[n]; for (int i = 0; i < n; i++) xs[i] = i; m.put("n", n); }
    }
    static Box racy;

    static void interruptStop() throws Exception {
        int[] n = {0};
        Thread t = go(() -> { while (!Thread.currentThread().isInterrupted()) { n[0]++; Thread.yield(); } });
        Thread.sleep(5);
        t.interrupt();
        t.join();
        check(n[0] >= 0);
    }
    static void interruptSleep() throws Exception {
        Holder h = new Holder();
        Thread t = go(() -> { try { Thread.sleep(100000); } catch (InterruptedException e) { check(h.v == 2); h.v = 3; } });
        h.v = 2;
        t.interrupt();
        t.join();
        check(h.v == 3);
    }
    static void waitTimeouts() throws Exception {
        Object m = new Object();
        int[] s = {0};
        all(() -> {
            synchronized (m) { while (s[0] < 3) m.wait(2); s[0]++; m.notifyAll(); }
        }, () -> {
            for (int i = 0; i < 3; i++) { Thread.sleep(3); synchronized (m) { s[0]++; } }
        }, () -> { synchronized (m) { while (s[0] < 4) m.wait(1, 500); } check(s[0] >= 4); });
    }
    static void timer() throws Exception {
        Timer t = new Timer(true);
        int[] n = {0};
        CountDownLatch d = new CountDownLatch(3);
        t.schedule(new TimerTask() { public void run() { n[0]++; d.countDown(); } }, 1, 1);
        d.await();
        t.cancel();
    }
    static void scheduled() throws Exception {
        var e = Executors.newScheduledThreadPool(2);
        int[] n = {0};
        CountDownLatch d = new CountDownLatch(4);
        var f = e.scheduleWithFixedDelay(() -> { n[0]++; d.countDown(); }, 0, 1, TimeUnit.MILLISECONDS);
        d.await();
        f.cancel(false);
        e.shutdown();
        check(e.awaitTermination(30, TimeUnit.SECONDS));
        check(n[0] >= 4);
    }
    static void parallel() throws Exception {
        Map<Integer, List<Integer>> g = IntStream.range(0, 200).parallel().boxed().collect(Collectors.groupingByConcurrent(i -> i % 5));
        check(g.get(0).size() == 40);
        int[] a = new int[100];
        Arrays.parallelSetAll(a, i -> i);
        Arrays.parallelPrefix(a, Integer::sum);
        check(a[99] == 4950);
        Arrays.parallelSort(a);
        Holder[] hs = IntStream.range(0, 50).parallel().mapToObj(i -> { Holder h = new Holder(); h.v = i; return h; }).toArray(Holder[]::new);
        check(Stream.of(hs).parallel().mapToInt(h -> h.v).sum() == 1225);
    }
    static class Sum extends RecursiveTask<Long> {
        int[] a;
        int l, h;
        Sum(int[] a, int l, int h) { this.a = a; this.l = l; this.h = h; }
        protected Long compute() {
            if (h - l < 20) { long s = 0; for (int i = l; i < h; i++) s += a[i]; return s; }
            Sum x = new Sum(a, l, (l + h) / 2), y = new Sum(a, (l + h) / 2, h);
            x.fork();
            return y.compute() + x.join();
        }
    }
    static void forkJoin() throws Exception {
        int[] a = new int[200];
        Arrays.fill(a, 2);
        var p = new ForkJoinPool(3);
        check(p.invoke(new Sum(a, 0, 200)) == 400);
        p.shutdown();
    }
    static class Inc extends RecursiveAction {
        int[] a;
        int l, h;
        Inc(int[] a, int l, int h) { this.a = a; this.l = l; this.h = h; }
        protected void compute() {
            if (h - l < 30) for (int i = l; i < h; i++) a[i]++;
            else invokeAll(new Inc(a, l, (l + h) / 2), new Inc(a, (l + h) / 2, h));
        }
    }
    static void forkJoinAction() throws Exception {
        int[] a = new int[200];
        for (int i = 0; i < 3; i++) ForkJoinPool.commonPool().invoke(new Inc(a, 0, 200));
        check(a[7] == 3 && a[199] == 3);
    }
    static class Count extends CountedCompleter<Void> {
        final int[] a;
        final int l, h;
        Count(CountedCompleter<?> p, int[] a, int l, int h) { super(p); this.a = a; this.l = l; this.h = h; }
        public void compute() {
            int hh = h, ll = l;
            while (hh - ll > 20) { int m = (ll + hh) >>> 1; addToPendingCount(1); new Count(this, a, m, hh).fork(); hh = m; }
            for (int i = ll; i < hh; i++) a[i] += i;
            tryComplete();
        }
    }
    static void counted() throws Exception { int[] a = new int[100]; new Count(null, a, 0, 100).invoke(); check(a[99] == 99 && a[1] == 1); }
    static void adders() throws Exception {
        LongAdder x = new LongAdder();
        LongAccumulator m = new LongAccumulator(Long::max, 0);
        DoubleAdder d = new DoubleAdder();
        Body b = () -> { for (int i = 0; i < 20; i++) { x.increment(); m.accumulate(i); d.add(.5); } };
        all(b, b, b);
        check(x.sum() == 60 && m.get() == 19 && d.sum() == 30);
    }
    static void weak() throws Exception {
        ReferenceQueue<Object> q = new ReferenceQueue<>();
        Holder h = new Holder();
        List<Reference<?>> refs = new ArrayList<>();
        for (int i = 0; i < 5; i++) refs.add(new WeakReference<>(new byte[1000], q));
        Thread t = go(() -> { Reference<?> r = q.remove(20000); if (r != null) h.v = 1; });
        System.gc();
        t.join();
        check(h.v <= 1 && refs.size() == 5);
    }
    static void files() throws Exception {
        Path p = Files.createTempFile("fr", ".x");
        Holder h = new Holder();
        all(() -> {
            h.v = 5;
            Files.writeString(p, "ready");
        }, () -> { while (!Files.readString(p).equals("ready")) Thread.sleep(1); check(h.v == 5); });
        Files.delete(p);
    }
    static void fileExists() throws Exception {
        Path d = Files.createTempDirectory("fr"), p = d.resolve("f");
        int[] h = {0};
        all(() -> { h[0] = 5; Files.createFile(p); }, () -> { while (!Files.exists(p)) Thread.sleep(1); check(h[0] == 5); });
        Files.delete(p);
        Files.delete(d);
    }
    static void pipes() throws Exception {
        var out = new java.io.PipedOutputStream();
        var in = new java.io.PipedInputStream(out);
        Holder h = new Holder();
        all(() -> { h.v = 1; out.write(1); out.close(); }, () -> { check(in.read() == 1 && h.v == 1); });
        var pipe = java.nio.channels.Pipe.open();
        all(() -> {
            h.v = 2;
            pipe.sink().write(java.nio.ByteBuffer.wrap(new byte[] {7}));
        }, () -> { var bb = java.nio.ByteBuffer.allocate(1); pipe.source().read(bb); check(h.v == 2 && bb.get(0) == 7); });
    }
    static void sockets() throws Exception {
        Holder h = new Holder();
        try (var s = new java.net.ServerSocket(0, 5, java.net.InetAddress.getLoopbackAddress())) {
            all(() -> {
                try (var c = s.accept()) { check(c.getInputStream().read() == 3); check(h.v == 1); h.v = 2; c.getOutputStream().write(4); }
            }, () -> {
                try (var c = new java.net.Socket(s.getInetAddress(), s.getLocalPort())) {
                    h.v = 1;
                    c.getOutputStream().write(3);
                    check(c.getInputStream().read() == 4 && h.v == 2);
                }
            });
        }
    }
    static int cls; static synchronized void bump() { cls++; } static void bump2() { synchronized (Further.class) { cls++; } }
    static void classLock() throws Exception {
        cls = 0;
        all(() -> {
            for (int i = 0; i < 10; i++) bump();
        }, () -> {
            for (int i = 0; i < 10; i++) bump2();
        }, () -> { for (int i = 0; i < 10; i++) synchronized (Class.forName("Further")) { cls++; } });
        check(cls == 30);
    }
    static class Base { int v; void add() { v++; } } static class Sub extends Base { @Override synchronized void add() { super.add(); } }
    static void inherited() throws Exception {
        Base b = new Sub();
        Body x = () -> { for (int i = 0; i < 10; i++) b.add(); };
        all(x, x);
        check(b.v == 20);
    }
    static void internedLock() throws Exception {
        int[] n = {0};
        Body b = () -> { for (int i = 0; i < 10; i++) synchronized (("lo" + "ck" + (char) 'x').intern()) { n[0]++; } };
        all(b, b);
        check(n[0] == 20);
    }
    static void integerLock() throws Exception {
        Integer l = 77;
        int[] n = {0};
        Body b = () -> { for (int i = 0; i < 10; i++) synchronized (Integer.valueOf(77)) { n[0]++; } };
        all(b, b);
        check(n[0] == 20 && l == 77);
    }
    static void enumLock() throws Exception {
        int[] n = {0};
        Body b = () -> { for (int i = 0; i < 10; i++) synchronized (TimeUnit.valueOf("SECONDS")) { n[0]++; } };
        all(b, b);
        check(n[0] == 20);
    }
    static void inheritableLocal() throws Exception {
        InheritableThreadLocal<int[]> l = new InheritableThreadLocal<>() { protected int[] childValue(int[] p) { return p.clone(); } };
        l.set(new int[] {3});
        all(() -> l.get()[0]++, () -> l.get()[0]--);
        check(l.get()[0] == 3);
    }
    static void synchronous() throws Exception {
        SynchronousQueue<int[]> q = new SynchronousQueue<>(true);
        all(() -> { for (int i = 0; i < 5; i++) q.put(new int[] {i}); }, () -> { for (int i = 0; i < 5; i++) check(q.take()[0] == i); });
    }
    static void transfer() throws Exception {
        LinkedTransferQueue<Holder> q = new LinkedTransferQueue<>();
        all(() -> {
            for (int i = 0; i < 5; i++) { Holder h = new Holder(); h.v = i; q.transfer(h); }
        }, () -> { for (int i = 0; i < 5; i++) { Holder h = q.poll(30, TimeUnit.SECONDS); check(h.v == i); h.v = -1; } });
    }
    static void delayed() throws Exception {
        record D(long at, int[] v) implements Delayed {
            public long getDelay(TimeUnit u) { return u.convert(at - System.nanoTime(), TimeUnit.NANOSECONDS); }
            public int compareTo(Delayed o) { return Long.compare(at, ((D) o).at); }
        }
        DelayQueue<D> q = new DelayQueue<>();
        all(() -> {
            for (int i = 0; i < 4; i++) q.add(new D(System.nanoTime() + 1000000L * i, new int[] {i}));
        }, () -> { int s = 0; for (int i = 0; i < 4; i++) s += q.take().v[0]; check(s == 6); });
    }
    static void deques() throws Exception {
        LinkedBlockingDeque<StringBuilder> q = new LinkedBlockingDeque<>(2);
        all(() -> {
            for (int i = 0; i < 6; i++) q.putFirst(new StringBuilder().append(i));
        }, () -> { for (int i = 0; i < 6; i++) q.takeLast().append("x"); });
    }
    static void priority() throws Exception {
        PriorityBlockingQueue<int[]> q = new PriorityBlockingQueue<>(11, Comparator.comparingInt(x -> x[0]));
        all(() -> { for (int i = 9; i > 0; i--) q.put(new int[] {i}); }, () -> { for (int i = 0; i < 9; i++) q.take()[0]++; });
    }
    static void semaphoreMutex() throws Exception {
        Semaphore s = new Semaphore(1, true);
        int[] n = {0};
        Body b = () -> { for (int i = 0; i < 10; i++) { if (i % 2 == 0) s.acquire(); else s.acquireUninterruptibly(); n[0]++; s.release(); } };
        all(b, b, b);
        check(n[0] == 30);
    }
    static void semaphoreSignal() throws Exception {
        Semaphore e = new Semaphore(0), f = new Semaphore(1);
        int[] c = {0};
        all(() -> {
            for (int i = 0; i < 8; i++) { f.acquire(); c[0] = i; e.release(); }
        }, () -> { for (int i = 0; i < 8; i++) { e.acquire(); check(c[0] == i); f.release(); } });
    }
    static void barrierRounds() throws Exception {
        int n = 3;
        int[][] g = new int[2][n];
        CyclicBarrier b = new CyclicBarrier(n, () -> { int[] t = g[0]; g[0] = g[1]; g[1] = t; });
        Body[] bs = new Body[n];
        for (int i = 0; i < n; i++) {
            int j = i;
            bs[i] = () -> { for (int r = 0; r < 4; r++) { g[1][j] = g[0][j] + g[0][(j + 1) % n] + 1; b.await(); } };
        }
        all(bs);
    }
    static void atomicArrays() throws Exception {
        AtomicReferenceArray<int[]> a = new AtomicReferenceArray<>(4);
        all(() -> {
            for (int i = 0; i < 4; i++) a.set(i, new int[] {i});
        }, () -> { for (int i = 0; i < 4; i++) { int[] x; while ((x = a.get(i)) == null) Thread.yield(); check(x[0] == i); } });
        AtomicIntegerArray f = new AtomicIntegerArray(2);
        int[] d = new int[2];
        all(() -> { d[0] = 1; f.set(0, 1); }, () -> { while (f.get(0) == 0) Thread.yield(); check(d[0] == 1); });
    }
    static void marked() throws Exception {
        AtomicMarkableReference<Holder> r = new AtomicMarkableReference<>(null, false);
        all(() -> {
            Holder h = new Holder();
            h.v = 2;
            r.set(h, true);
        }, () -> { boolean[] m = new boolean[1]; Holder h; while ((h = r.get(m)) == null) Thread.yield(); check(h.v == 2 && m[0]); });
        AtomicStampedReference<int[]> s = new AtomicStampedReference<>(new int[] {1}, 0);
        Body b = () -> {
            for (int i = 0; i < 5; i++) {
                int[] st = new int[1];
                int[] o;
                do o = s.get(st);
                while (!s.compareAndSet(o, new int[] {o[0] + 1}, st[0], st[0] + 1));
            }
        };
        all(b, b);
        check(s.getReference()[0] == 11);
    }
    static void updater() throws Exception {
        class N { volatile Holder h; volatile int st; int data; }
        var u = AtomicIntegerFieldUpdater.newUpdater(N.class, "st");
        N n = new N();
        Body b = () -> { for (int i = 0; i < 10; i++) { while (!u.compareAndSet(n, 0, 1)) Thread.yield(); n.data++; u.lazySet(n, 0); } };
        all(b, b);
        check(n.data == 20);
    }
    static void lazySets() throws Exception {
        AtomicBoolean f = new AtomicBoolean();
        AtomicReference<Holder> r = new AtomicReference<>();
        int[] d = {0};
        all(() -> {
            d[0] = 1;
            f.lazySet(true);
            Holder h = new Holder();
            h.v = 1;
            r.lazySet(h);
        }, () -> {
            while (!f.getAcquire()) Thread.yield();
            check(d[0] == 1);
            Holder h;
            while ((h = r.getAcquire()) == null) Thread.yield();
            check(h.v == 1);
        });
    }
    static int fenced;
    static boolean fencedFlag;
    static final VarHandle FF;
    static {
        try {
            FF = MethodHandles.lookup().findStaticVarHandle(Further.class, "fencedFlag", boolean.class);
        } catch (Exception e) { throw new Error(e); }
    }
    static void fences() throws Exception {
        fenced = 0;
        FF.setVolatile(false);
        all(() -> {
            fenced = 1;
            VarHandle.releaseFence();
            FF.setOpaque(true);
        }, () -> { while (!(boolean) FF.getOpaque()) Thread.yield(); VarHandle.acquireFence(); check(fenced == 1); });
    }
    static void arrayHandles() throws Exception {
        VarHandle a = MethodHandles.arrayElementVarHandle(int[].class);
        int[] f = new int[2], d = new int[2];
        all(() -> { d[0] = 7; a.setRelease(f, 0, 1); }, () -> { while ((int) a.getAcquire(f, 0) == 0) Thread.yield(); check(d[0] == 7); });
    }
    static void uncaught() throws Exception {
        int[] n = {0};
        CountDownLatch l = new CountDownLatch(1);
        Thread t = new Thread(() -> { n[0] = 1; throw new IllegalStateException(); });
        t.setUncaughtExceptionHandler((x, e) -> { n[0]++; l.countDown(); });
        t.start();
        l.await();
        check(n[0] == 2);
        t.join();
    }
    static void invokeAny() throws Exception {
        var e = Executors.newFixedThreadPool(2);
        int[] a = new int[2];
        int r = e.invokeAny(List.of(() -> { a[0] = 1; return 1; }, () -> { a[1] = 1; return 2; }));
        check(r > 0);
        e.shutdown();
        check(e.awaitTermination(30, TimeUnit.SECONDS));
        check(a[0] + a[1] >= 1);
    }
    static void completionService() throws Exception {
        var e = Executors.newCachedThreadPool();
        var c = new ExecutorCompletionService<Holder>(e);
        for (int i = 0; i < 5; i++) { int j = i; c.submit(() -> { Holder h = new Holder(); h.v = j; return h; }); }
        int s = 0;
        for (int i = 0; i < 5; i++) s += c.take().get().v;
        check(s == 10);
        e.shutdown();
    }
    static void singleThread() throws Exception {
        var e = Executors.newSingleThreadExecutor();
        int[] n = {0};
        Body b = () -> { for (int i = 0; i < 10; i++) e.execute(() -> n[0]++); };
        all(b, b);
        e.shutdown();
        check(e.awaitTermination(30, TimeUnit.SECONDS) && n[0] == 20);
    }
    static void poolHooks() throws Exception {
        int[] begun = {0};
        var e = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new ArrayBlockingQueue<>(20)) {
            protected void beforeExecute(Thread t, Runnable r) { begun[0]++; }
            protected void afterExecute(Runnable r, Throwable t) { begun[0]--; }
        };
        for (int i = 0; i < 5; i++) e.submit(() -> begun[0]++).get();
        e.shutdown();
        check(e.awaitTermination(30, TimeUnit.SECONDS));
        check(begun[0] == 5);
    }
    static void callerRuns() throws Exception {
        AtomicInteger n = new AtomicInteger();
        var e = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new SynchronousQueue<>(), new ThreadPoolExecutor.CallerRunsPolicy());
        int[] box = {0};
        Object m = new Object();
        for (int i = 0; i < 10; i++) e.execute(() -> { synchronized (m) { box[0]++; } n.incrementAndGet(); });
        e.shutdown();
        check(e.awaitTermination(30, TimeUnit.SECONDS) && n.get() == 10 && box[0] == 10);
    }
    static void publisher() throws Exception {
        var p = new SubmissionPublisher<int[]>();
        CountDownLatch l = new CountDownLatch(1);
        int[] s = {0};
        p.subscribe(new Flow.Subscriber<>() {
            Flow.Subscription u;
            public void onSubscribe(Flow.Subscription x) { u = x; u.request(1); }
            public void onNext(int[] x) { s[0] += x[0]; u.request(1); }
            public void onError(Throwable t) { }
            public void onComplete() { l.countDown(); }
        });
        for (int i = 0; i < 5; i++) p.submit(new int[] {i});
        p.close();
        l.await();
        check(s[0] == 10);
    }
    static void joinTimeout() throws Exception {
        int[] n = {0};
        Thread t = go(() -> { Thread.sleep(2); n[0] = 1; });
        while (t.isAlive()) t.join(1);
        check(n[0] == 1);
    }
    static void stateTerminated() throws Exception {
        int[] n = {0};
        Thread t = go(() -> n[0] = 1);
        while (t.getState() != Thread.State.TERMINATED) Thread.sleep(1);
        check(n[0] == 1);
    }
    static void unmodifiable() throws Exception {
        List<Holder> l = new ArrayList<>();
        for (int i = 0; i < 5; i++) { Holder h = new Holder(); h.v = i; l.add(h); }
        List<Holder> u = Collections.unmodifiableList(l);
        Map<String, Integer> m = Map.of("a", 1, "b", 2);
        Body b = () -> { int s = 0; for (Holder h : u) s += h.v; check(s == 10 && m.get("a") == 1); };
        all(b, b);
    }
    static void multiCondition() throws Exception {
        ReentrantLock l = new ReentrantLock();
        Condition full = l.newCondition(), empty = l.newCondition();
        ArrayDeque<int[]> q = new ArrayDeque<>();
        all(() -> {
            for (int i = 0; i < 10; i++) {
                l.lockInterruptibly();
                try { while (q.size() == 2) full.await(); q.add(new int[] {i}); empty.signal(); } finally { l.unlock(); }
            }
        }, () -> {
            for (int i = 0; i < 10; i++) {
                l.lock();
                try { while (q.isEmpty()) empty.awaitNanos(1000000); check(q.poll()[0] == i); full.signalAll(); } finally { l.unlock(); }
            }
        });
    }
    static void aqs() throws Exception {
        class M extends AbstractQueuedSynchronizer {
            protected boolean tryAcquire(int x) { return compareAndSetState(0, 1); }
            protected boolean tryRelease(int x) { setState(0); return true; }
        }
        M m = new M();
        int[] n = {0};
        Body b = () -> { for (int i = 0; i < 10; i++) { m.acquire(1); n[0]++; m.release(1); } };
        all(b, b);
        check(n[0] == 20);
    }
    static void latchSub() throws Exception {
        class Once {
            final CountDownLatch l = new CountDownLatch(1);
            Object v;
            void set(Object o) { v = o; l.countDown(); }
            Object get() throws InterruptedException { l.await(); return v; }
        }
        Once o = new Once();
        all(() -> o.set("x"), () -> check(o.get().equals("x")), () -> { while (o.l.getCount() > 0) Thread.yield(); check(o.v != null); });
    }
    static void threadLocalPool() throws Exception {
        ThreadLocal<StringBuilder> l = ThreadLocal.withInitial(StringBuilder::new);
        Body b = () -> { for (int i = 0; i < 10; i++) l.get().append(i); check(l.get().length() == 10); l.remove(); };
        all(b, b);
    }
    static void copyOnWriteIter() throws Exception {
        var l = new CopyOnWriteArrayList<Holder>();
        all(() -> {
            for (int i = 0; i < 8; i++) { Holder h = new Holder(); h.v = i; l.add(h); }
        }, () -> { for (int k = 0; k < 8; k++) for (Holder h : l) check(h.v >= 0); }, () -> l.forEach(h -> check(h.v < 8)));
    }
    static void bigRecursion() throws Exception {
        int[] d = {0};
        class R { int f(int n) { return n == 0 ? d[0] : f(n - 1) + 1; } }
        Body b = () -> { try { new R().f(10000000); } catch (StackOverflowError e) { synchronized (d) { d[0]++; } } };
        b.run();
        check(d[0] == 1);
        all(() -> { synchronized (d) { d[0]++; } }, () -> { synchronized (d) { d[0]++; } });
    }
    static void shapes() throws Exception {
        byte[] by = new byte[4];
        char[] c = new char[4];
        short[] s = new short[4];
        boolean[] z = new boolean[4];
        float[] f = new float[4];
        double[] d = new double[4];
        long[] l = new long[4];
        Object[] o = new Object[4];
        Object m = new Object();
        Body b = () -> {
            for (int i = 0; i < 12; i++) synchronized (m) {
                by[i & 3] -= 5;
                c[i & 3] += 7;
                s[i & 3] -= 9;
                z[i & 3] ^= true;
                f[i & 3] += -0.0f;
                d[i & 3] /= 0.0;
                l[i & 3] -= 11;
                o[i & 3] = i % 2 == 0 ? null : by;
            }
        };
        all(b, b);
    }
    static void garbage() throws Exception {
        Object m = new Object();
        List<Object> keep = new ArrayList<>();
        Body b = () -> {
            for (int i = 0; i < 3000; i++) {
                Holder h = new Holder();
                h.v = i;
                int[] x = new int[500];
                x[i % 500] = h.v;
                if (i % 300 == 0) synchronized (m) { keep.add(h); if (i == 900) System.gc(); for (Object k : keep) ((Holder) k).v++; }
            }
        };
        all(b, b, b);
    }


    static class Log extends ArrayList<Holder> {
        @Override public synchronized boolean add(Holder h) { return super.add(h); }
        @Override public synchronized Holder get(int i) { return super.get(i); }
        @Override public synchronized int size() { return super.size(); }
    }
    static void superCalls() throws Exception {
        Log l = new Log();
        all(() -> {
            for (int i = 0; i < 5; i++) { Holder h = new Holder(); h.v = i; l.add(h); }
        }, () -> { for (int i = 0; i < 5; i++) { while (l.size() <= i) Thread.yield(); check(l.get(i).v == i); } });
    }
    static class Wide extends AtomicLong {
        int hi() { return (int) (get() >>> 32); }
        boolean compareAndSet(int hi, int lo) { long o = get(); return compareAndSet(o, (long) hi << 32 | lo); }
    }
    static class Task extends AtomicReference<Runnable> implements Runnable {
        int done;
        public void run() { Runnable r = getAndSet(null); if (r != null) { r.run(); done++; } }
    }
    static void atomicClasses() throws Exception {
        Wide w = new Wide();
        int[] d = {0};
        all(() -> { d[0] = 4; while (!w.compareAndSet(1, 2)) { } }, () -> { while (w.hi() == 0) Thread.yield(); check(d[0] == 4); });
        Task t = new Task();
        int[] n = {0};
        t.set(() -> n[0]++);
        all(t::run, t::run);
        check(n[0] == 1);
    }
    static void sharedIterator() throws Exception {
        List<Holder> hs = new ArrayList<>();
        for (int i = 0; i < 10; i++) hs.add(new Holder());
        Iterator<Holder> it = hs.iterator();
        Body b = () -> { while (true) { Holder h; synchronized (it) { if (!it.hasNext()) return; h = it.next(); } h.v++; } };
        all(b, b);
        StringTokenizer st = new StringTokenizer("0 1 2 3 4 5");
        int[] seen = new int[6];
        Body c = () -> {
            while (true) { int k; synchronized (st) { if (!st.hasMoreTokens()) return; k = Integer.parseInt(st.nextToken()); } seen[k]++; }
        };
        all(c, c);
        for (int x : seen) check(x == 1);
    }
    static void sharedBuffer() throws Exception {
        var bb = java.nio.ByteBuffer.allocate(8);
        for (int i = 0; i < 8; i++) bb.put((byte) i);
        bb.flip();
        int[] seen = new int[8];
        Body c = () -> { while (true) { int k; synchronized (bb) { if (bb.remaining() == 0) return; k = bb.get(); } seen[k]++; } };
        all(c, c);
        for (int x : seen) check(x == 1);
    }
    static void ragged() throws Exception {
        short[][] s = new short[5][7];
        byte[][][] b = new byte[3][4][];
        boolean[][] z = new boolean[9][1];
        char[][] c = {{'a'}, null, {'b', 'c'}};
        all(() -> s[1][6] = 5, () -> s[2][6] = 6, () -> { b[0][0] = new byte[3]; b[0][0][2] = 1; }, () -> z[8][0] = c[2][1] == 'c');
        check(s[1][6] + s[2][6] == 11 && z[8][0]);
    }
    static void lruCache() throws Exception {
        class Lru extends LinkedHashMap<Integer, Holder> {
            Lru() { super(8, .75f, true); }
            protected boolean removeEldestEntry(Map.Entry<Integer, Holder> e) { return size() > 3; }
        }
        Map<Integer, Holder> m = new Lru();
        Body b = () -> {
            for (int i = 0; i < 12; i++) {
                Holder h;
                synchronized (m) { h = m.get(i % 4); if (h == null) { h = new Holder(); m.put(i % 4, h); } h.v++; }
            }
        };
        all(b, b);
    }
    static void bitSets() throws Exception {
        BitSet s = new BitSet();
        for (int i = 0; i < 20; i += 3) s.set(i);
        Body b = () -> { int n = 0; for (int i = s.nextSetBit(0); i >= 0; i = s.nextSetBit(i + 1)) n++; check(n == 7); };
        all(b, b, b);
    }
    static void stackOfObjects() throws Exception {
        ArrayDeque<Holder> free = new ArrayDeque<>();
        Body b = () -> {
            for (int i = 0; i < 10; i++) {
                Holder h;
                synchronized (free) { h = free.isEmpty() ? new Holder() : free.pop(); }
                h.v++;
                synchronized (free) { free.push(h); }
            }
        };
        all(b, b, b);
    }
    static void freeListOfArrays() throws Exception {
        LinkedList<int[]> free = new LinkedList<>();
        for (int i = 0; i < 2; i++) free.add(new int[4]);
        Body b = () -> {
            for (int i = 0; i < 10; i++) {
                int[] x;
                synchronized (free) { while (free.isEmpty()) free.wait(); x = free.removeFirst(); }
                x[i & 3]++;
                synchronized (free) { free.addLast(x); free.notify(); }
            }
        };
        all(b, b, b);
    }
    static void heapOrder() throws Exception {
        PriorityQueue<Holder> q = new PriorityQueue<>(Comparator.comparingInt((Holder h) -> h.l.size()).thenComparingInt(h -> System.identityHashCode(h)));
        Body b = () -> { for (int i = 0; i < 6; i++) { Holder h = new Holder(); h.v = i; synchronized (q) { q.add(h); h = q.poll(); } h.v++; } };
        all(b, b);
    }
    static void builders() throws Exception {
        StringBuilder s = new StringBuilder();
        int[] owner = new int[40];
        Body b = () -> { for (int i = 0; i < 10; i++) { int at; synchronized (s) { at = s.length(); s.append('x'); } owner[at]++; } };
        all(b, b, b);
    }
    static void swap() throws Exception {
        AtomicReference<List<Holder>> r = new AtomicReference<>(new ArrayList<>());
        Object m = new Object();
        all(() -> {
            for (int i = 0; i < 8; i++) { Holder h = new Holder(); h.v = i; synchronized (m) { r.get().add(h); } }
        }, () -> {
            for (int k = 0; k < 4; k++) { List<Holder> l; synchronized (m) { l = r.getAndSet(new ArrayList<>()); } for (Holder h : l) h.v++; }
        });
    }
    static void workStealing() throws Exception {
        Deque<int[]>[] q = new Deque[] {new ConcurrentLinkedDeque<int[]>(), new ConcurrentLinkedDeque<int[]>()};
        for (int i = 0; i < 10; i++) q[0].add(new int[] {i});
        Body a = () -> {
            int[] x;
            while ((x = q[0].pollFirst()) != null) x[0]++;
        }, b = () -> { int[] x; while ((x = q[0].pollLast()) != null) x[0]--; };
        all(a, b);
    }

    static void superLocks() throws Exception {
        class L extends ReentrantLock {
            int taken;
            @Override public void lock() { super.lock(); taken++; }
            @Override public void unlock() { taken--; super.unlock(); }
        }
        L l = new L();
        int[] n = {0};
        Body b = () -> { for (int i = 0; i < 10; i++) { l.lock(); try { n[0]++; } finally { l.unlock(); } } };
        all(b, b);
        check(n[0] == 20 && l.taken == 0);
        class S extends Semaphore {
            S() { super(1); }
            @Override public void acquire() throws InterruptedException { super.acquire(); }
            @Override public void release() { super.release(); }
        }
        S s = new S();
        Body c = () -> { for (int i = 0; i < 10; i++) { s.acquire(); n[0]--; s.release(); } };
        all(c, c);
        check(n[0] == 0);
    }
    static void superThreads() throws Exception {
        int[] n = {0};
        class T extends Thread { @Override public void start() { n[0]++; super.start(); } @Override public void run() { n[0]++; } }
        T t = new T();
        t.start();
        t.join();
        check(n[0] == 2);
        class I extends Thread {
            int seen;
            @Override public void interrupt() { seen++; super.interrupt(); }
            @Override public void run() { while (!isInterrupted()) Thread.yield(); seen++; }
        }
        I x = new I();
        x.start();
        x.interrupt();
        x.join();
        check(x.seen == 2);
    }
    static void superFutures() throws Exception {
        int[] n = {0};
        class F extends FutureTask<Integer> {
            F() { super(() -> { n[0] = 5; return 5; }); }
            @Override public void run() { super.run(); }
            @Override public Integer get() throws InterruptedException, ExecutionException { return super.get(); }
            @Override protected void done() { n[0]++; }
        }
        F f = new F();
        all(f::run, () -> check(f.get() == 5 && n[0] >= 5));
        class P extends ThreadPoolExecutor {
            P() { super(2, 2, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>()); }
            @Override public void execute(Runnable r) { super.execute(() -> r.run()); }
        }
        P p = new P();
        int[] d = new int[4];
        for (int i = 0; i < 4; i++) { int j = i; d[j] = 1; p.execute(() -> d[j]++); }
        p.shutdown();
        check(p.awaitTermination(30, TimeUnit.SECONDS));
        for (int v : d) check(v == 2);
    }
    static void superQueues() throws Exception {
        class Q extends LinkedBlockingQueue<Holder> {
            @Override public void put(Holder h) throws InterruptedException { h.v++; super.put(h); }
            @Override public Holder take() throws InterruptedException { Holder h = super.take(); h.v++; return h; }
        }
        Q q = new Q();
        all(() -> { for (int i = 0; i < 6; i++) q.put(new Holder()); }, () -> { for (int i = 0; i < 6; i++) check(q.take().v == 2); });
        class M extends HashMap<Integer, Holder> {
            @Override public synchronized Holder put(Integer k, Holder h) { return super.put(k, h); }
            @Override public synchronized Holder get(Object k) { return super.get(k); }
        }
        M m = new M();
        all(() -> {
            for (int i = 0; i < 6; i++) { Holder h = new Holder(); h.v = i; m.put(i, h); }
        }, () -> { for (int i = 0; i < 6; i++) { Holder h; while ((h = m.get(i)) == null) Thread.yield(); check(h.v == i); } });
    }
    static void defaults() throws Exception {
        class It implements Iterator<Holder> {
            final Queue<Holder> q = new ConcurrentLinkedQueue<>();
            public boolean hasNext() { return !q.isEmpty(); }
            public Holder next() { return q.poll(); }
        }
        It it = new It();
        for (int i = 0; i < 8; i++) it.q.add(new Holder());
        Body b = () -> it.forEachRemaining(h -> { if (h != null) h.v++; });
        all(b, b);
        class Bag extends AbstractCollection<Holder> {
            final List<Holder> l = Collections.synchronizedList(new ArrayList<>());
            public boolean add(Holder h) { return l.add(h); }
            public Iterator<Holder> iterator() { synchronized (l) { return new ArrayList<>(l).iterator(); } }
            public int size() { return l.size(); }
        }
        Bag g = new Bag();
        all(() -> {
            for (int i = 0; i < 6; i++) { Holder h = new Holder(); h.v = 3; g.addAll(List.of(h)); }
        }, () -> {
            for (int k = 0; k < 4; k++) for (Holder h : g) check(h.v == 3);
        }, () -> { for (Object o : g.toArray()) check(((Holder) o).v == 3); });
    }
    static void arrayMonitors() throws Exception {
        int[][] g = new int[3][3];
        Body b = () -> { for (int i = 0; i < 9; i++) synchronized (g[i % 3]) { g[i % 3][i / 3]++; } };
        all(b, b);
    }
    static void entrySets() throws Exception {
        Map<String, Holder> m = new TreeMap<>();
        for (int i = 0; i < 4; i++) m.put("k" + i, new Holder());
        Body b = () -> {
            for (int i = 0; i < 4; i++) synchronized (m) {
                for (var e : m.entrySet()) { e.getValue().v++; Holder h = new Holder(); h.v = e.getValue().v; e.setValue(h); }
            }
        };
        all(b, b);
        check(m.get("k1").v == 8);
    }
    static void subLists() throws Exception {
        List<Holder> l = new ArrayList<>();
        for (int i = 0; i < 8; i++) { Holder h = new Holder(); h.v = 8 - i; l.add(h); }
        Body b = () -> {
            for (int i = 0; i < 3; i++) synchronized (l) {
                l.subList(0, 4).forEach(h -> h.v++);
                l.sort(Comparator.comparingInt(h -> h.v));
                Collections.reverse(l.subList(2, 6));
                l.add(l.remove(0));
            }
        };
        all(b, b);
    }
    static void matchers() throws Exception {
        var p = java.util.regex.Pattern.compile("(\\d+)");
        var m = p.matcher("1 22 333 4444 55");
        int[] seen = new int[6];
        Body b = () -> {
            while (true) { int n; synchronized (m) { if (!m.find()) return; n = m.group(1).length(); } synchronized (seen) { seen[n]++; } }
        };
        all(b, b);
        Body c = () -> check(p.matcher("ab12").find());
        all(c, c);
    }
    static void stringBuffers() throws Exception {
        StringBuffer s = new StringBuffer();
        Body b = () -> { for (int i = 0; i < 10; i++) s.append(i); };
        all(b, b);
        check(s.length() == 20);
        java.io.StringWriter w = new java.io.StringWriter();
        java.io.PrintWriter pw = new java.io.PrintWriter(w);
        Body c = () -> { for (int i = 0; i < 5; i++) pw.println(i); };
        all(c, c);
        pw.flush();
        check(w.toString().length() == 20);
    }
    static void oldCollections() throws Exception {
        Vector<Holder> v = new Vector<>();
        Hashtable<Integer, Holder> t = new Hashtable<>();
        Stack<int[]> k = new Stack<>();
        all(() -> {
            for (int i = 0; i < 5; i++) { Holder h = new Holder(); h.v = i; v.add(h); t.put(i, h); k.push(new int[] {i}); }
        }, () -> {
            int n = 0;
            while (n < 5) { n = v.size(); Thread.yield(); }
            for (int i = 0; i < 5; i++) check(v.elementAt(i).v == i);
        }, () -> {
            for (int i = 0; i < 5; i++) { Holder h; while ((h = t.get(i)) == null) Thread.yield(); check(h.v == i); }
        }, () -> { int n = 0; while (n < 5) { try { int[] x = k.pop(); x[0]++; n++; } catch (EmptyStackException e) { Thread.yield(); } } });
        synchronized (v) { for (Enumeration<Holder> e = v.elements(); e.hasMoreElements(); ) e.nextElement().v++; }
    }
    static class Rec implements java.io.Serializable { int a; int[] b = {1, 2}; String c = "x"; Rec next; }
    static void serialised() throws Exception {
        Rec r = new Rec();
        r.next = new Rec();
        Body b = () -> {
            for (int i = 0; i < 3; i++) {
                byte[] bytes;
                synchronized (r) {
                    r.a++;
                    r.b[1]++;
                    r.next.a--;
                    var o = new java.io.ByteArrayOutputStream();
                    try (var s = new java.io.ObjectOutputStream(o)) { s.writeObject(r); }
                    bytes = o.toByteArray();
                }
                try (var in = new java.io.ObjectInputStream(new java.io.ByteArrayInputStream(bytes))) {
                    Rec x = (Rec) in.readObject();
                    check(x.a == x.b[1] - 2 && x.next.a == -x.a);
                    x.a++;
                    x.next.b[0]++;
                }
            }
        };
        all(b, b);
    }
    static class Cl implements Cloneable {
        int v;
        int[] xs = {1};
        public Cl clone() {
            try { Cl c = (Cl) super.clone(); c.xs = xs.clone(); return c; } catch (CloneNotSupportedException e) { throw new Error(e); }
        }
    }
    static void clones() throws Exception {
        Cl c = new Cl();
        Body b = () -> {
            for (int i = 0; i < 5; i++) { Cl d; synchronized (c) { c.v++; c.xs[0]++; d = c.clone(); } check(d.v + 1 == d.xs[0]); d.v++; d.xs[0] = 0; }
        };
        all(b, b);
    }
    static void copies() throws Exception {
        int[] a = new int[10];
        Body b = () -> {
            for (int i = 0; i < 5; i++) {
                int[] d;
                synchronized (a) { System.arraycopy(a, 0, a, 1, 9); a[0] = i; d = Arrays.copyOf(a, 10); Arrays.fill(a, 5, 10, i); Arrays.sort(a); }
                d[0]++;
                check(Arrays.stream(d).sum() >= 0);
            }
        };
        all(b, b);
    }
    static void reflected() throws Exception {
        Holder h = new Holder();
        var f = Holder.class.getDeclaredField("v");
        var mh = MethodHandles.lookup().findGetter(Holder.class, "v", int.class);
        var ms = MethodHandles.lookup().findSetter(Holder.class, "v", int.class);
        Body b = () -> {
            for (int i = 0; i < 5; i++) synchronized (h) {
                f.setInt(h, f.getInt(h) + 1);
                try { ms.invokeExact(h, (int) mh.invokeExact(h) + 1); } catch (Throwable t) { throw new Exception(t); }
                h.v++;
            }
        };
        all(b, b);
        check(h.v == 30);
    }
    interface Svc { int call(int x); }
    static void proxies() throws Exception {
        int[] n = {0};
        Svc s = (Svc) java.lang.reflect.Proxy.newProxyInstance(Further.class.getClassLoader(), new Class<?>[] {
            Svc.class
        }, (p, m, a) -> { synchronized (n) { return n[0] += (Integer) a[0]; } });
        Body b = () -> { for (int i = 0; i < 5; i++) s.call(1); };
        all(b, b);
        check(n[0] == 10);
    }
    static class Acc {
        int v;
        synchronized void add(int x) { v += x; }
        synchronized int get() { return v; }
        static void each(List<Integer> l, Consumer<Integer> c) { for (int x : l) c.accept(x); }
    }
    static void references() throws Exception {
        Acc a = new Acc();
        Body b = () -> Acc.each(List.of(1, 2, 3), a::add);
        Supplier<Integer> g = a::get;
        all(b, b, () -> g.get());
        check(g.get() == 12);
    }
    static void thrown() throws Exception {
        int[] n = {0};
        Object m = new Object();
        ReentrantLock l = new ReentrantLock();
        Body b = () -> {
            for (int i = 0; i < 5; i++) {
                try {
                    synchronized (m) { n[0]++; if (n[0] % 2 == 0) throw new IllegalStateException(); Object o = null; o.hashCode(); }
                } catch (IllegalStateException | NullPointerException e) { synchronized (m) { n[0]++; } }
                try {
                    l.lock();
                    try { int[] x = new int[1]; x[i] = 1; } finally { l.unlock(); }
                } catch (ArrayIndexOutOfBoundsException e) { l.lock(); l.unlock(); }
            }
        };
        all(b, b);
        check(n[0] == 20);
    }
    static abstract class Par { static final List<String> L = new ArrayList<>(); static { L.add("p"); } abstract int f(); }
    static class Ch extends Par {
        static final Map<String, int[]> M = new HashMap<>();
        static { M.put("a", new int[] {L.size()}); }
        int f() { return M.get("a")[0] + L.size(); }
    }
    static void classChains() throws Exception { Body b = () -> check(new Ch().f() == 2); all(b, b, () -> check(Par.L.size() == 1)); }
    static void lazyCas() throws Exception {
        AtomicReference<Holder> r = new AtomicReference<>();
        Body b = () -> {
            Holder h = r.get();
            if (h == null) { h = new Holder(); h.v = 6; if (!r.compareAndSet(null, h)) h = r.get(); }
            check(h.v == 6);
        };
        all(b, b, b);
        AtomicReference<int[]> u = new AtomicReference<>(new int[] {0});
        Body c = () -> { for (int i = 0; i < 5; i++) u.updateAndGet(x -> new int[] {x[0] + 1}); };
        all(c, c);
        check(u.get()[0] == 10);
    }
    static int bits;
    static final VarHandle BITS;
    static {
        try { BITS = MethodHandles.lookup().findStaticVarHandle(Further.class, "bits", int.class); } catch (Exception e) { throw new Error(e); }
    }
    static void handleUpdates() throws Exception {
        BITS.setVolatile(0);
        int[] d = new int[2];
        all(() -> {
            d[0] = 1;
            BITS.getAndBitwiseOr(1);
        }, () -> { d[1] = 1; BITS.getAndAdd(2); }, () -> { while ((int) BITS.getVolatile() != 3) Thread.yield(); check(d[0] + d[1] == 2); });
    }
    static void blockers() throws Exception {
        ReentrantLock l = new ReentrantLock();
        int[] n = {0};
        class B implements ForkJoinPool.ManagedBlocker {
            boolean has;
            public boolean block() { if (!has) { l.lock(); has = true; } return true; }
            public boolean isReleasable() { return has || (has = l.tryLock()); }
        }
        Body b = () -> { for (int i = 0; i < 5; i++) { ForkJoinPool.managedBlock(new B()); n[0]++; l.unlock(); } };
        all(b, b);
        check(n[0] == 10);
    }
    static void logging() throws Exception {
        var log = java.util.logging.Logger.getLogger("f");
        log.setUseParentHandlers(false);
        int[] n = {0};
        log.addHandler(new java.util.logging.Handler() {
            public synchronized void publish(java.util.logging.LogRecord r) { n[0]++; }
            public void flush() { }
            public void close() { }
        });
        Body b = () -> { for (int i = 0; i < 5; i++) log.info("x" + i); };
        all(b, b);
        check(n[0] == 10);
    }
    static void formats() throws Exception {
        var f = new java.text.SimpleDateFormat("yyyy");
        var d = new java.text.DecimalFormat("0.0");
        Body b = () -> {
            for (int i = 0; i < 3; i++) {
                synchronized (f) { f.format(new Date(0)); }
                synchronized (d) { d.format(1.5); }
                String.format("%d %s", i, new Date(0));
                java.time.LocalDate.of(2000, 1, 1).format(java.time.format.DateTimeFormatter.ISO_DATE);
            }
        };
        all(b, b);
    }
    static void factories() throws Exception {
        int[] made = {0}, n = {0};
        var e = Executors.newFixedThreadPool(2, r -> { made[0]++; Thread t = new Thread(r, "w" + made[0]); t.setDaemon(true); return t; });
        Object m = new Object();
        for (int i = 0; i < 6; i++) e.execute(() -> { synchronized (m) { n[0]++; } });
        e.shutdown();
        check(e.awaitTermination(30, TimeUnit.SECONDS));
        check(n[0] == 6);
        var fj = new ForkJoinPool(2);
        fj.submit(() -> { synchronized (m) { n[0]++; } }).get();
        fj.shutdown();
    }
    static void listeners() throws Exception {
        var p = new java.util.concurrent.CopyOnWriteArrayList<Consumer<int[]>>();
        int[] got = {0};
        Object m = new Object();
        for (int i = 0; i < 3; i++) p.add(x -> { synchronized (m) { got[0] += x[0]; } });
        Body b = () -> p.forEach(c -> c.accept(new int[] {2}));
        all(b, b);
        check(got[0] == 12);
    }
    static void keySets() throws Exception {
        Set<Integer> s = ConcurrentHashMap.newKeySet();
        Holder[] hs = new Holder[10];
        Body b = () -> { for (int i = 0; i < 10; i++) if (s.add(i)) { hs[i] = new Holder(); hs[i].v = i; } };
        all(b, b);
        for (Holder h : hs) check(h != null);
        Map<String, Integer> m = Collections.synchronizedMap(new LinkedHashMap<>());
        Body c = () -> { for (int i = 0; i < 6; i++) m.merge("a", 1, Integer::sum); };
        all(c, c);
        check(m.get("a") == 12);
        synchronized (m) { for (String k : m.keySet()) check(k != null); }
    }
    static void optionals() throws Exception {
        Optional<Holder>[] o = new Optional[1];
        Object m = new Object();
        all(() -> {
            Holder h = new Holder();
            h.v = 9;
            synchronized (m) { o[0] = Optional.of(h); }
        }, () -> {
            while (true) {
                synchronized (m) { if (o[0] != null && o[0].isPresent()) { check(o[0].map(h -> h.v).get() == 9); return; } }
                Thread.yield();
            }
        });
    }
    record Pt(int x, int[] y) { }
    static void records() throws Exception {
        BlockingQueue<Pt> q = new ArrayBlockingQueue<>(3);
        all(() -> {
            for (int i = 0; i < 8; i++) q.put(new Pt(i, new int[] {i}));
            q.put(new Pt(-1, null));
        }, () -> {
            for (Pt p = q.take(); p.x() >= 0; p = q.take()) {
                check(p.y()[0] == p.x());
                p.y()[0]++;
                p.hashCode();
                p.toString();
                check(!p.equals(null));
            }
        });
    }
    static void shutdownHook() throws Exception {
        int[] n = {7};
        Runtime.getRuntime().addShutdownHook(new Thread(() -> { if (n[0] != 8) System.out.println("WRONG"); }));
        n[0]++;
    }
    static void streamsOfShared() throws Exception {
        List<Holder> l = Collections.synchronizedList(new ArrayList<>());
        Body b = () -> { for (int i = 0; i < 5; i++) { Holder h = new Holder(); h.v = i; l.add(h); } };
        all(b, b);
        check(l.stream().mapToInt(h -> h.v).sum() == 20);
        int[] total = {0};
        Object m = new Object();
        IntStream.range(0, 50).parallel().forEach(i -> { synchronized (m) { total[0] += i; } });
        check(total[0] == 1225);
    }
    public static void main(String[] a) throws Exception {
        for (var m : Further.class.getDeclaredMethods()) if (m.getParameterCount() == 0 && m.getReturnType() == void.class && java.lang.reflect.Modifier.isStatic(m.getModifiers()) && !m.isSynthetic() && !List.of("bump", "bump2").contains(m.getName())) {
            if (a.length > 0 && !Set.of(a).contains(m.getName())) continue;
            m.invoke(null);
        }
        System.out.println("done");
    }
}
