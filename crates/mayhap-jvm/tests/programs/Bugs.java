import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;

/** Programs with one bug each. */
public class Bugs {
    interface Body { void run() throws Exception; }
    static void all(Body... bodies) throws Exception {
        Thread[] t = new Thread[bodies.length];
        for (int i = 0; i < t.length; i++) { Body b = bodies[i]; t[i] = new Thread(() -> { try { b.run(); } catch (Exception e) { throw new RuntimeException(e); } }); }
        for (Thread x : t) x.start();
        for (Thread x : t) x.join();
    }
    // the wrong object is locked: each thread its own
    static class Stock { int left = 100; Object lock() { return new Object(); } }
    static void wrongLock() throws Exception { Stock s = new Stock(); Body b = () -> { for (int i = 0; i < 5; i++) synchronized (s.lock()) { s.left--; } }; all(b, b); System.out.println(s.left); }
    // a boxed lock that is replaced
    static Integer total = 0; static void boxedLock() throws Exception { Body b = () -> { for (int i = 0; i < 5; i++) synchronized (total) { total = total + 1; } }; all(b, b); System.out.println(total); }
    // a row of a matrix is shared by an off-by-one
    static void rows() throws Exception { int[][] m = new int[8][8]; Body up = () -> { for (int i = 0; i <= 4; i++) for (int j = 0; j < 8; j++) m[i][j]++; }; Body down = () -> { for (int i = 4; i < 8; i++) for (int j = 0; j < 8; j++) m[i][j]++; }; all(up, down); System.out.println(m[4][0]); }
    // readers of a list that holds the read lock write to it
    static void readLock() throws Exception { var rw = new ReentrantReadWriteLock(); long[] hits = new long[1]; Body b = () -> { for (int i = 0; i < 5; i++) { rw.readLock().lock(); try { hits[0]++; } finally { rw.readLock().unlock(); } } }; all(b, b); System.out.println(hits[0]); }
    // reader-writer locks in both orders
    static void rwOrder() throws Exception { var p = new ReentrantReadWriteLock(); var q = new ReentrantReadWriteLock(); int[] n = new int[1];
        Body b = () -> { p.writeLock().lock(); try { q.writeLock().lock(); try { n[0]++; } finally { q.writeLock().unlock(); } } finally { p.writeLock().unlock(); } };
        Body c = () -> { Thread.sleep(300); q.writeLock().lock(); try { p.readLock().lock(); try { n[0] += 2; } finally { p.readLock().unlock(); } } finally { q.writeLock().unlock(); } };
        all(b, c); System.out.println(n[0]); }
    // a copied object shares its array
    static class Sheet implements Cloneable { int[] cells = new int[4]; int sum; public Sheet clone() { try { return (Sheet) super.clone(); } catch (CloneNotSupportedException e) { throw new Error(e); } } }
    static void copied() throws Exception { Sheet s = new Sheet(); Sheet t = s.clone(); all(() -> { for (int i = 0; i < 4; i++) { s.cells[i]++; s.sum++; } }, () -> { for (int i = 0; i < 4; i++) { t.cells[i] += 2; t.sum++; } }); System.out.println(s.cells[0]); }
    // a linked list whose nodes are unlinked without the lock that readers take
    static class Node { Node next; int v; Node(int v, Node n) { this.v = v; next = n; } }
    static void unlinked() throws Exception { Node h = new Node(0, new Node(1, new Node(2, new Node(3, null)))); Object lock = new Object();
        all(() -> { synchronized (lock) { int s = 0; for (Node n = h; n != null; n = n.next) s += n.v; System.out.println(s); } }, () -> { h.next.next = h.next.next.next; }); }
    // a flag that is not volatile publishes
    static boolean ready; static float result; static void flag() throws Exception { ready = false; all(() -> { result = 1.5f; ready = true; }, () -> { for (int i = 0; i < 20 && !ready; i++) Thread.sleep(10); if (ready) System.out.println(result); }); }
    // cached sizes of subclasses
    static class Base { short count; byte kind; } static class Sub extends Base { char last; }
    static void subclass() throws Exception { Sub s = new Sub(); Object l = new Object(); all(() -> { synchronized (l) { s.count++; s.last = 'a'; } }, () -> { synchronized (l) { s.count++; } s.last = 'b'; }); System.out.println(s.count); }
    // an exchanged lock is given up before the last write
    static void exchanged() throws Exception { var rw = new ReentrantReadWriteLock(); int[] d = new int[2];
        Body w = () -> { for (int i = 0; i < 3; i++) { rw.writeLock().lock(); d[0]++; rw.readLock().lock(); rw.writeLock().unlock(); d[1]++; rw.readLock().unlock(); } };
        Body r = () -> { for (int i = 0; i < 3; i++) { rw.readLock().lock(); int x = d[1]; rw.readLock().unlock(); if (x > 9) System.out.println(x); } };
        all(w, r); System.out.println(d[0]); }
    // monitors nested in both orders through an inner method
    static class Acc { int m; synchronized void move(Acc o) { m--; o.add(); } synchronized void add() { m++; } }
    static void nested() throws Exception { Acc a = new Acc(), b = new Acc(); all(() -> a.move(b), () -> { Thread.sleep(300); b.move(a); }); System.out.println(a.m + b.m); }
    public static void main(String[] a) throws Exception {
        for (var m : Bugs.class.getDeclaredMethods()) {
            boolean is = m.getParameterCount() == 0 && m.getReturnType() == void.class && !m.isSynthetic();
            if (is && (a.length == 0 || List.of(a).contains(m.getName()))) m.invoke(null);
        }
    }
}
