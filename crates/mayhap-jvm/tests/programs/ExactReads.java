// Threads race on a few variables, write values that no other thread writes, and log what they wrote and read.
// Usage: ExactReads LOG THREADS STEPS. The log has per thread: how many entries, then the entries of 64 bits: bit 63 for a
// write, the variable from bit 56, the value below.

import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.*;

public class ExactReads {
    static final int VARIABLES = 4;
    static final long[] shared = new long[VARIABLES];

    static void work(long me, int steps, Path file) throws Exception {
        long[] log = new long[3 * steps + 1];
        int count = 0;
        long random = 88172645463325252L + 7919 * me;
        for (int i = 0; i < steps; i++) {
            random ^= random << 13;
            random ^= random >>> 7;
            random ^= random << 17;
            int one = (int) Long.remainderUnsigned(random, VARIABLES), two = (int) (random >>> 8 & VARIABLES - 1);
            long value = me << 40 | i;
            if (random >>> 59 == 3) {
                long before = shared[one];
                shared[one] = value;
                long after = shared[two];
                log[++count] = (long) one << 56 | before;
                log[++count] = 1L << 63 | (long) one << 56 | value;
                log[++count] = (long) two << 56 | after;
            } else if (random >>> 60 == 2) {
                long first = shared[one], second = shared[two];
                log[++count] = (long) one << 56 | first;
                log[++count] = (long) two << 56 | second;
            } else if (random >>> 60 == 0) {
                shared[one] = value;
                log[++count] = 1L << 63 | (long) one << 56 | value;
            } else {
                log[++count] = (long) one << 56 | shared[one];
            }
        }
        log[0] = count;
        ByteBuffer bytes = ByteBuffer.allocate(8 * (count + 1)).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asLongBuffer().put(log, 0, count + 1);
        Files.write(file, bytes.array());
    }

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[1]), steps = Integer.parseInt(args[2]);
        Thread[] all = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            int me = i + 1;
            all[i] = new Thread(() -> {
                try { work(me, steps, Path.of(args[0] + me)); } catch (Exception e) { throw new RuntimeException(e); }
            });
        }
        for (Thread thread : all) thread.start();
        for (Thread thread : all) thread.join();
        try (OutputStream out = Files.newOutputStream(Path.of(args[0]))) {
            for (int i = 0; i < threads; i++) Files.copy(Path.of(args[0] + (i + 1)), out);
        }
    }
}
