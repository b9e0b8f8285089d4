// A small bank. It runs, it prints the right numbers, and its tests pass, time after time.
import java.util.concurrent.Semaphore;

public class Bank {
    static class Account {
        int balance = 100;
    }
    static final Account checking = new Account(), savings = new Account(), cash = new Account();

    static final Object journal = new Object();
    static final boolean[] entries = new boolean[2];
    static int takings;

    static final Semaphore asked = new Semaphore(0), answered = new Semaphore(0);
    static int rate;

    // Money goes from one account to another: both are locked, as they should be.
    static void transfer(Account from, Account to, int amount) {
        synchronized (from) {
            synchronized (to) {
                from.balance -= amount;
                to.balance += amount;
            }
        }
    }

    static void saver() {
        transfer(checking, savings, 10);
    }

    static void spender() {
        transfer(savings, checking, 20);
    }

    // The cash machine first looks whether there is enough, then pays. Each time under the lock.
    static boolean enough(int amount) {
        synchronized (cash) {
            return cash.balance >= amount;
        }
    }

    static void cashMachine() {
        if (enough(60)) {
            synchronized (cash) {
                cash.balance -= 60;
                if (cash.balance < 0) {
                    System.err.println("the account is overdrawn");
                    System.exit(1);
                }
            }
        }
    }

    // Closing the account empties it.
    static void closing() {
        synchronized (cash) {
            cash.balance = 0;
        }
    }

    // The teller counts the day's takings and then signs the journal.
    static void teller() {
        takings = 240;
        synchronized (journal) {
            entries[0] = true;
        }
    }

    // The auditor signs the journal and then reads the takings.
    static void auditor() {
        synchronized (journal) {
            entries[1] = true;
        }
        System.out.println("takings: " + takings);
    }

    // The clerk looks the rate up when asked. No lock, and none is needed: the semaphores make one wait for the other.
    static void clerk() {
        asked.acquireUninterruptibly();
        rate = rate + 1;
        answered.release();
    }

    public static void main(String[] args) throws InterruptedException {
        Runnable[] work = {
            Bank::cashMachine, Bank::saver, Bank::spender, Bank::teller, Bank::auditor, Bank::clerk, Bank::closing
        };
        Thread[] threads = new Thread[work.length];
        for (int i = 0; i < work.length; i++) {
            threads[i] = new Thread(work[i]);
            threads[i].start();
        }
        rate = 2;
        asked.release();
        answered.acquire();
        System.out.println("rate: " + rate);
        for (Thread thread : threads) thread.join();
    }
}
