// The programs that papers on predicting races and deadlocks evaluate on, written anew from what is published of them: how many threads and locks they have,
// how long they run, and what is wrong in them. The classes' names begin with `P`, so that they can lie beside others.

import java.util.*;

class PThreads {
    final List<Thread> all = new ArrayList<>();
    PThreads start(Runnable work) {
        Thread thread = new Thread(work);
        all.add(thread);
        thread.start();
        return this;
    }
    void join() {
        for (Thread thread : all) {
            try { thread.join(); } catch (InterruptedException e) { throw new RuntimeException(e); }
        }
    }
}

/** A transfer takes the lock of the account it takes from, and not that of the one it pays to. */
class PAccount {
    int balance;
    synchronized void deposit(int amount) { balance += amount; }
    synchronized void transfer(PAccount to, int amount) { balance -= amount; to.balance += amount; }
    public static void main(String[] args) {
        PAccount[] accounts = { new PAccount(), new PAccount(), new PAccount() };
        PThreads threads = new PThreads();
        for (int i = 0; i < 3; i++) {
            PAccount own = accounts[i], other = accounts[(i + 1) % 3];
            threads.start(() -> { own.deposit(100); own.transfer(other, 10); own.deposit(5); });
        }
        threads.join();
        int sum = 0;
        for (PAccount account : accounts) sum += account.balance;
        System.out.println(sum);
    }
}

/** Clerks sell until a plain flag says that all seats are gone. */
class PAirline {
    static final int SEATS = 6;
    static int sold;
    static boolean stop;
    static void sell() {
        if (stop) return;
        sold++;
        if (sold >= SEATS) stop = true;
    }
    public static void main(String[] args) {
        PThreads threads = new PThreads();
        for (int i = 0; i < 10; i++) threads.start(PAirline::sell);
        threads.join();
        System.out.println(sold <= SEATS ? "fine" : "oversold " + sold);
    }
}

/** Each element has a lock: nothing is wrong. */
class PArray {
    static final int[] values = new int[2];
    static final Object[] locks = { new Object(), new Object() };
    static void add(int at) { synchronized (locks[at]) { values[at]++; } }
    public static void main(String[] args) {
        new PThreads().start(() -> { add(0); add(1); }).start(() -> { add(1); add(0); }).join();
        System.out.println(values[0] + values[1]);
    }
}

/** Puts and takes under a lock; how many are in it is asked without. */
class PBoundedBuffer {
    final int[] cells = new int[4];
    int in, out, count;
    synchronized void put(int value) throws InterruptedException {
        while (count == cells.length) wait();
        cells[in] = value;
        in = (in + 1) % cells.length;
        count++;
        notifyAll();
    }
    synchronized int take() throws InterruptedException {
        while (count == 0) wait();
        int value = cells[out];
        out = (out + 1) % cells.length;
        count--;
        notifyAll();
        return value;
    }
    boolean isEmpty() { return count == 0; }
    public static void main(String[] args) {
        PBoundedBuffer buffer = new PBoundedBuffer();
        int[] sum = new int[2];
        PThreads threads = new PThreads();
        for (int t = 0; t < 2; t++) {
            int own = t;
            threads.start(() -> { try { for (int i = 0; i < 6; i++) buffer.put(i); } catch (InterruptedException e) { } });
            threads.start(() -> {
                try { for (int i = 0; i < 6; i++) { buffer.isEmpty(); sum[own] += buffer.take(); } } catch (InterruptedException e) { }
            });
        }
        threads.join();
        System.out.println(sum[0] + sum[1]);
    }
}

/** Each thread sweeps over the array; it compares without the lock under which it exchanges. */
class PBubblesort {
    static final int[] values = new int[24];
    static final Object lock = new Object();
    static void sweep() {
        for (int i = 0; i + 1 < values.length; i++) {
            if (values[i] > values[i + 1]) {
                synchronized (lock) {
                    int kept = values[i];
                    values[i] = values[i + 1];
                    values[i + 1] = kept;
                }
            }
        }
    }
    public static void main(String[] args) {
        for (int i = 0; i < values.length; i++) values[i] = (i * 7919) % 101;
        PThreads threads = new PThreads();
        for (int i = 0; i < 10; i++) threads.start(PBubblesort::sweep);
        threads.join();
        System.out.println(values[0]);
    }
}

/** Writers fill a buffer under a lock, and a checker looks how full it is without. */
class PBufwriter {
    static final char[] buffer = new char[1200];
    static int filled;
    static boolean done;
    static final Object lock = new Object();
    static void write(char what) {
        for (int i = 0; i < 15; i++) {
            synchronized (lock) { for (int n = 0; n < 15 && filled < buffer.length; n++) buffer[filled++] = what; }
        }
    }
    static void check() {
        for (int i = 0; i < 40 && !done; i++) if (filled > buffer.length) throw new IllegalStateException();
    }
    public static void main(String[] args) {
        PThreads threads = new PThreads();
        for (char c = 'a'; c < 'e'; c++) { char own = c; threads.start(() -> write(own)); }
        threads.start(PBufwriter::check);
        threads.join();
        done = true;
        System.out.println(filled);
    }
}

/** Two threads keep each other out of a section by plain flags. */
class PCritical {
    static int turn, shared;
    static boolean[] wants = new boolean[2];
    static void enter(int me) {
        wants[me] = true;
        turn = 1 - me;
        for (int i = 0; i < 50 && wants[1 - me] && turn == 1 - me; i++) Thread.yield();
        shared++;
        wants[me] = false;
    }
    public static void main(String[] args) {
        new PThreads().start(() -> enter(0)).start(() -> enter(1)).join();
        System.out.println(shared);
    }
}

/** Halves are sorted by new threads; how many threads there are is asked for without the lock under which it changes. */
class PMergesort {
    static int threads;
    static final Object lock = new Object();
    static void sort(int[] values, int from, int to) {
        if (to - from < 2) return;
        int middle = (from + to) / 2;
        if (threads < 4) {
            synchronized (lock) { threads++; }
            PThreads half = new PThreads().start(() -> sort(values, from, middle));
            sort(values, middle, to);
            half.join();
        } else {
            sort(values, from, middle);
            sort(values, middle, to);
        }
        int[] merged = new int[to - from];
        for (int i = from, j = middle, k = 0; k < merged.length; k++) {
            merged[k] = j >= to || i < middle && values[i] <= values[j] ? values[i++] : values[j++];
        }
        for (int k = 0; k < merged.length; k++) values[from + k] = merged[k];
    }
    public static void main(String[] args) {
        int[] values = new int[64];
        for (int i = 0; i < values.length; i++) values[i] = (i * 7919) % 101;
        sort(values, 0, values.length);
        System.out.println(values[0] + " " + values[63]);
    }
}

/** One thread takes the player away while others play. */
class PPingpong {
    static class Player { int hits; void play() { hits++; } }
    static Player player = new Player();
    static int errors;
    static void play() { Player own = player; if (own != null) own.play(); else errors++; }
    public static void main(String[] args) {
        PThreads threads = new PThreads();
        for (int i = 0; i < 6; i++) threads.start(PPingpong::play);
        threads.start(() -> { player = null; });
        threads.join();
        System.out.println(errors >= 0);
    }
}

/** Lifts fetch people. Where a lift stands is shown without its lock. */
class PElevator {
    static class Lift {
        int floor, direction = 1, people;
        synchronized void move() { floor += direction; if (floor == 5 || floor == 0) direction = -direction; }
        synchronized void board(int count) { people += count; }
    }
    static final int[] waiting = new int[6];
    static final Object[] floors = new Object[6];
    static void run(Lift lift) {
        for (int i = 0; i < 20; i++) {
            lift.move();
            int at = lift.floor;
            int count;
            synchronized (floors[at]) { count = waiting[at]; waiting[at] = 0; }
            if (count > 0) lift.board(count);
        }
    }
    public static void main(String[] args) {
        Lift[] lifts = { new Lift(), new Lift() };
        for (int i = 0; i < 6; i++) floors[i] = new Object();
        for (int i = 0; i < 6; i++) waiting[i] = i;
        PThreads threads = new PThreads();
        for (Lift lift : lifts) threads.start(() -> run(lift));
        int shown = 0;
        for (int i = 0; i < 10; i++) for (Lift lift : lifts) shown += lift.floor;
        threads.join();
        System.out.println(shown >= 0);
    }
}

/** Threads look for a shortest tour. The shortest known one is read without the lock under which it is changed. */
class PTsp {
    static final int CITIES = 6;
    static final int[][] far = new int[CITIES][CITIES];
    static int shortest = Integer.MAX_VALUE;
    static final Object lock = new Object();
    static void search(int city, int visited, int length, int left) {
        if (length >= shortest) return;
        if (left == 0) {
            int tour = length + far[city][0];
            synchronized (lock) { if (tour < shortest) shortest = tour; }
            return;
        }
        for (int to = 1; to < CITIES; to++) {
            if ((visited & 1 << to) == 0) search(to, visited | 1 << to, length + far[city][to], left - 1);
        }
    }
    static void solve(int me) {
        for (int first = 1 + me; first < CITIES; first += 4) search(first, 1 | 1 << first, far[0][first], CITIES - 2);
    }
    public static void main(String[] args) {
        for (int i = 0; i < CITIES; i++) for (int j = 0; j < CITIES; j++) far[i][j] = (i * 31 + j * 17) % 23 + 1;
        PThreads threads = new PThreads();
        for (int i = 0; i < 4; i++) { int me = i; threads.start(() -> solve(me)); }
        threads.join();
        System.out.println(shortest);
    }
}

/** The producer says that it is done in a plain field. */
class PProducerConsumer {
    static final ArrayDeque<Integer> queue = new ArrayDeque<>();
    static boolean done;
    static int sum;
    public static void main(String[] args) {
        new PThreads().start(() -> {
            for (int i = 0; i < 30; i++) synchronized (queue) { queue.add(i); }
            done = true;
        }).start(() -> {
            for (int i = 0; i < 200; i++) {
                boolean last = done;
                Integer next;
                synchronized (queue) { next = queue.poll(); }
                if (next != null) sum += next;
                else if (last) return;
            }
        }).join();
        System.out.println(sum);
    }
}

/** Readers count themselves under a lock; one looks at the data before it has done so. */
class PReadersWriters {
    static int readers, data;
    static final Object lock = new Object();
    static void read(boolean isEarly) throws InterruptedException {
        int seen = isEarly ? data : 0;
        synchronized (lock) { readers++; }
        seen += data;
        synchronized (lock) { readers--; lock.notifyAll(); }
        if (seen < 0) throw new IllegalStateException();
    }
    static void write() throws InterruptedException {
        synchronized (lock) { while (readers > 0) lock.wait(); data++; }
    }
    public static void main(String[] args) {
        PThreads threads = new PThreads();
        for (int i = 0; i < 5; i++) {
            boolean isEarly = i == 4;
            threads.start(() -> { try { for (int n = 0; n < 3; n++) read(isEarly && n == 1); } catch (InterruptedException e) { } });
        }
        for (int i = 0; i < 2; i++) {
            threads.start(() -> { try { for (int n = 0; n < 3; n++) write(); } catch (InterruptedException e) { } });
        }
        threads.join();
        System.out.println(data);
    }
}

/** What belongs together is changed under two locks, one after the other: no race, and what is read depends on the order. */
class PTwoStage {
    static int first, second;
    static final Object a = new Object(), b = new Object();
    static void change() {
        int kept;
        synchronized (a) { first++; kept = first; }
        synchronized (b) { second = kept + 1; }
    }
    static void look() {
        int one, two;
        synchronized (a) { one = first; }
        synchronized (b) { two = second; }
        if (one > 0 && two != one + 1) System.out.println("torn");
    }
    public static void main(String[] args) {
        PThreads threads = new PThreads();
        for (int i = 0; i < 4; i++) threads.start(PTwoStage::change);
        for (int i = 0; i < 2; i++) threads.start(PTwoStage::look);
        threads.join();
        System.out.println(first);
    }
}

/** Each thread renders its lines, and adds to one sum under a lock of its own. */
class PRaytracer {
    static long checksum;
    static final double[] spheres = new double[12];
    static void render(int from, int step) {
        Object own = new Object();
        long sum = 0;
        for (int y = from; y < 16; y += step) {
            for (int x = 0; x < 16; x++) {
                double light = 0;
                for (int s = 0; s < spheres.length; s += 3) {
                    double dx = x - spheres[s], dy = y - spheres[s + 1], r = spheres[s + 2];
                    if (dx * dx + dy * dy < r * r) light += r;
                }
                sum += (long) light;
            }
        }
        synchronized (own) { checksum += sum; }
    }
    public static void main(String[] args) {
        for (int i = 0; i < spheres.length; i++) spheres[i] = 2 + i * 5 % 13;
        new PThreads().start(() -> render(0, 2)).start(() -> render(1, 2)).join();
        System.out.println(checksum);
    }
}

/** Particles move in steps, with a barrier between. The energy is summed up without a lock. */
class PMoldyn {
    static final int COUNT = 24, THREADS = 2;
    static final double[] at = new double[COUNT], force = new double[COUNT];
    static double energy;
    static int arrived, round;
    static final Object barrier = new Object();
    static void await() throws InterruptedException {
        synchronized (barrier) {
            int own = round;
            if (++arrived == THREADS) { arrived = 0; round++; barrier.notifyAll(); }
            while (round == own) barrier.wait();
        }
    }
    static void run(int me) throws InterruptedException {
        for (int step = 0; step < 4; step++) {
            for (int i = me; i < COUNT; i += THREADS) {
                double sum = 0;
                for (int j = 0; j < COUNT; j++) if (i != j) sum += 1 / (1 + (at[i] - at[j]) * (at[i] - at[j]));
                force[i] = sum;
            }
            energy += force[me];
            await();
            for (int i = me; i < COUNT; i += THREADS) at[i] += force[i] * 0.01;
            await();
        }
    }
    public static void main(String[] args) {
        for (int i = 0; i < COUNT; i++) at[i] = i * 0.7;
        PThreads threads = new PThreads();
        for (int t = 0; t < THREADS; t++) {
            int me = t;
            threads.start(() -> { try { run(me); } catch (InterruptedException e) { } });
        }
        threads.join();
        System.out.println(energy > 0);
    }
}

/** Two locks in both orders. */
class PTransfer {
    int balance = 100;
    static void move(PTransfer from, PTransfer to) { synchronized (from) { synchronized (to) { from.balance--; to.balance++; } } }
    public static void main(String[] args) {
        PTransfer a = new PTransfer(), b = new PTransfer();
        new PThreads().start(() -> move(a, b)).start(() -> move(b, a)).join();
        System.out.println(a.balance + b.balance);
    }
}

/** Each philosopher takes the left fork first. */
class PDiningPhilosophers {
    static int eaten;
    static final Object table = new Object();
    static void dine(Object left, Object right) { synchronized (left) { synchronized (right) { synchronized (table) { eaten++; } } } }
    public static void main(String[] args) {
        Object[] forks = { new Object(), new Object(), new Object() };
        PThreads threads = new PThreads();
        for (int i = 0; i < 3; i++) { int me = i; threads.start(() -> dine(forks[me], forks[(me + 1) % 3])); }
        threads.join();
        System.out.println(eaten);
    }
}

/** Both orders of two locks, and a third that makes one of the two pairs impossible. */
class PPicklock {
    static final Object a = new Object(), b = new Object(), gate = new Object();
    static int count;
    static void both(Object first, Object second) { synchronized (first) { synchronized (second) { count++; } } }
    public static void main(String[] args) {
        new PThreads()
            .start(() -> { synchronized (gate) { both(a, b); } both(a, b); })
            .start(() -> { synchronized (gate) { both(b, a); } both(b, a); })
            .join();
        System.out.println(count);
    }
}

/** Both orders of two locks, always under a third: no deadlock. */
class PNotADeadlock {
    static final Object a = new Object(), b = new Object(), gate = new Object();
    static int count;
    static void both(Object first, Object second) { synchronized (gate) { synchronized (first) { synchronized (second) { count++; } } } }
    public static void main(String[] args) {
        new PThreads().start(() -> both(a, b)).start(() -> both(b, a)).join();
        System.out.println(count);
    }
}

/** Each of two tables is put into the other. */
class PHashtable {
    public static void main(String[] args) {
        Hashtable<Integer, Integer> a = new Hashtable<>(), b = new Hashtable<>();
        a.put(1, 1);
        b.put(1, 1);
        new PThreads().start(() -> { synchronized (a) { b.put(2, 2); } }).start(() -> { synchronized (b) { a.put(2, 2); } }).join();
        System.out.println(a.size() + b.size());
    }
}

/** Each of two buffers is appended to the other under its lock. */
class PStringBuffer {
    public static void main(String[] args) {
        StringBuffer a = new StringBuffer("a"), b = new StringBuffer("b");
        new PThreads().start(() -> { synchronized (a) { a.append(b.length()); } }).start(() -> { synchronized (b) { b.append(a.length()); } }).join();
        System.out.println(a.length() + b.length());
    }
}
