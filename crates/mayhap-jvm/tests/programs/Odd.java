import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
import java.util.function.*;

/** Correct programs of unusual use: each method is one. */
public class Odd {
    interface Body { void run() throws Exception; }
    static void all(Body... bodies) throws Exception {
        Thread[] t = new Thread[bodies.length];
        AtomicReference<Throwable> bad = new AtomicReference<>();
        for (int i = 0; i < t.length; i++) { Body b = bodies[i]; t[i] = new Thread(() -> { try { b.run(); } catch (Throwable e) { bad.set(e); } }); }
        for (Thread x : t) x.start();
        for (Thread x : t) x.join();
        if (bad.get() != null) throw new Error(bad.get());
    }
    static void check(boolean ok) { if (!ok) throw new AssertionError(); }

    // every primitive type, odd bit patterns, under one lock, while the collector runs
    static class Wide { byte b; short s; char c; boolean z; int i; long l; float f; double d; Object o; int[] a = new int[3]; String t; Class<?> k; }
    static void types() throws Exception {
        Wide w = new Wide(); Object lock = new Object();
        Body body = () -> {
            for (int n = 0; n < 300; n++) synchronized (lock) {
                w.b = (byte) -n; w.s = (short) (n * 77); w.c = (char) (65535 - n); w.z = !w.z; w.i = -n; w.l = Long.MIN_VALUE + n;
                w.f = n % 3 == 0 ? Float.intBitsToFloat(0x7fc00000 + n) : -0.0f; w.d = n % 3 == 0 ? Double.longBitsToDouble(0x7ff8000000000000L + n) : -0.0;
                w.o = n % 4 == 0 ? null : n % 4 == 1 ? (Object) "x" : n % 4 == 2 ? w : new int[n % 5]; w.t = "t" + n; w.k = n % 2 == 0 ? Wide.class : int[].class;
                w.a = n % 7 == 0 ? new int[3] : w.a; w.a[n % 3] += n;
                check(w.b == (byte) -n && w.s == (short) (n * 77) && w.c == (char) (65535 - n) && w.i == -n && w.l == Long.MIN_VALUE + n);
                check(w.t.equals("t" + n) && (w.o != w || n % 4 == 2));
                if (n % 100 == 99) System.gc();
            }
        };
        all(body, body, body);
    }
    // arrays handed round by an exchanger-like slot under a lock and condition, moved by the collector
    static double[][] slot; static final Object gate = new Object();
    static void handed() throws Exception {
        slot = null;
        all(() -> { for (int i = 0; i < 60; i++) { double[][] m = new double[5][5]; m[i % 5][2] = i; synchronized (gate) { while (slot != null) gate.wait(); slot = m; gate.notifyAll(); } if (i % 20 == 0) System.gc(); } },
            () -> { double sum = 0; for (int i = 0; i < 60; i++) { double[][] m; synchronized (gate) { while (slot == null) gate.wait(); m = slot; slot = null; gate.notifyAll(); } m[0][0]++; sum += m[i % 5][2]; } check(sum == 1770); });
    }
    // fields of classes that extend each other, hidden fields of the same name
    static class A { int v; int same; } static class B extends A { long v; int same; } static class C extends B implements Cloneable { int v; C copy() throws Exception { return (C) clone(); } }
    static void inherited() throws Exception {
        C c = new C(); ReentrantLock l = new ReentrantLock();
        Body body = () -> { for (int i = 0; i < 80; i++) { l.lock(); try { c.v++; ((B) c).v += 2; ((A) c).v += 3; ((A) c).same--; c.same++; C d = c.copy(); d.v = -1; ((A) d).v = -1; check(((B) c).v == 2L * c.v && ((A) c).v == 3 * c.v); } finally { l.unlock(); } } };
        all(body, body); check(c.v == 160 && ((A) c).same == -160);
    }
    // immutable snapshots swapped by compare-and-set; what they hold is never written again
    static class Snap { final int[] data; int plain; Snap next; Snap(int[] d, Snap n) { data = d; plain = d.length; next = n; } }
    static void snapshots() throws Exception {
        AtomicReference<Snap> top = new AtomicReference<>(new Snap(new int[]{0}, null));
        Body body = () -> { for (int i = 0; i < 50; i++) { Snap o, n; do { o = top.get(); int[] d = o.data.clone(); d[0]++; n = new Snap(d, o); } while (!top.compareAndSet(o, n)); check(n.plain == 1 && n.next.data[0] == n.data[0] - 1); } };
        all(body, body, body); check(top.get().data[0] == 150);
    }
    // recursion with exceptions that pass several frames with locks
    static int depthSum;
    static void dive(Object lock, int n) { synchronized (lock) { depthSum++; if (n == 0) throw new IllegalStateException(); try { dive(lock, n - 1); } finally { depthSum--; } } }
    static void exceptions() throws Exception {
        depthSum = 0; Object lock = new Object();
        Body body = () -> { for (int i = 0; i < 30; i++) try { dive(lock, 5); } catch (IllegalStateException e) { synchronized (lock) { depthSum--; } } };
        all(body, body); check(depthSum == 0);
    }
    // stack overflow in the middle of accesses
    static int deep; static int overflow(int n, int[] a) { a[n & 7]++; deep++; return overflow(n + 1, a) + a[n & 7]; }
    static void overflows() throws Exception {
        Object lock = new Object();
        Body body = () -> { for (int i = 0; i < 3; i++) synchronized (lock) { int[] a = new int[8]; try { overflow(0, a); } catch (StackOverflowError e) { } int s = 0; for (int x : a) s += x; check(s > 100); } };
        all(body, body);
    }
    // worker threads own rows; a barrier lies between rounds
    static void stencil() throws Exception {
        int n = 24; int[][][] g = new int[2][n][n]; g[0][n / 2][n / 2] = 1 << 20; CyclicBarrier bar = new CyclicBarrier(3);
        Body[] bs = new Body[3];
        for (int k = 0; k < 3; k++) { int from = Math.max(1, k * n / 3), to = Math.min(n - 1, (k + 1) * n / 3); bs[k] = () -> { for (int r = 0; r < 12; r++) { int[][] a = g[r & 1], b = g[r + 1 & 1]; for (int i = from; i < to; i++) for (int j = 1; j < n - 1; j++) b[i][j] = (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]) / 4; bar.await(); } }; }
        all(bs); check(g[0][n / 2][n / 2] > 0);
    }
    // a hand-made reader-writer lock of a monitor
    static class RW { int readers; boolean writing; synchronized void r() throws InterruptedException { while (writing) wait(); readers++; } synchronized void ur() { if (--readers == 0) notifyAll(); } synchronized void w() throws InterruptedException { while (writing || readers > 0) wait(); writing = true; } synchronized void uw() { writing = false; notifyAll(); } }
    static void ownLock() throws Exception {
        RW rw = new RW(); long[] d = new long[2];
        Body r = () -> { for (int i = 0; i < 40; i++) { rw.r(); check(d[0] == -d[1]); rw.ur(); } };
        Body w = () -> { for (int i = 0; i < 20; i++) { rw.w(); d[0]++; d[1]--; rw.uw(); } };
        all(r, w, r, w);
    }
    // a volatile index publishes elements of a plain array, read back once
    static volatile int published; static final Object[] ring = new Object[64];
    static void publishes() throws Exception {
        published = 0;
        all(() -> { for (int i = 0; i < 64; i++) { ring[i] = i % 2 == 0 ? new int[]{i} : Integer.valueOf(i); published = i + 1; } },
            () -> { int seen = 0; while (seen < 64) { int p = published; for (; seen < p; seen++) { Object o = ring[seen]; check(o instanceof int[] a ? a[0] == seen : (Integer) o == seen); } Thread.yield(); } });
    }
    // an enum with state, a record with arrays, a static nested initialiser, all under the class's lock
    enum Light { RED, GREEN; int count; synchronized static void flip(Light l) { l.count++; } }
    record Pair(int[] left, List<String> right) { synchronized void add(int i) { left[0] += i; right.add("" + i); } }
    static class Lazy { static int[] table = new int[10]; static { for (int i = 0; i < 10; i++) table[i] = i * i; } }
    static void odds() throws Exception {
        Pair p = new Pair(new int[1], new ArrayList<>());
        Body body = () -> { for (int i = 0; i < 30; i++) { Light.flip(i % 2 == 0 ? Light.RED : Light.GREEN); p.add(Lazy.table[i % 10]); } };
        all(body, body); check(Light.RED.count == 30 && p.right().size() == 60);
    }
    // a lock taken by attempts with a limit, by two at once
    static void limited() throws Exception {
        ReentrantLock a = new ReentrantLock(), b = new ReentrantLock(); int[] n = new int[1];
        BiFunction<Lock, Lock, Body> of = (x, y) -> () -> { for (int i = 0; i < 10; ) { if (x.tryLock(2, TimeUnit.MILLISECONDS)) try { if (y.tryLock()) try { n[0]++; i++; } finally { y.unlock(); } } finally { x.unlock(); } Thread.yield(); } };
        all(of.apply(a, b), of.apply(b, a)); check(n[0] == 20);
    }
    public static void main(String[] a) throws Exception {
        for (var m : Odd.class.getDeclaredMethods()) {
            boolean is = m.getParameterCount() == 0 && m.getReturnType() == void.class && !m.isSynthetic();
            if (is && (a.length == 0 || List.of(a).contains(m.getName()))) m.invoke(null);
        }
        System.out.println("done");
    }
}
