package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class TillTest {
    private static void both(Runnable work) throws InterruptedException {
        Thread first = new Thread(work), second = new Thread(work);
        first.start();
        second.start();
        first.join();
        second.join();
    }

    @Test
    void sellsOnce() {
        Till till = new Till();
        till.sell(3);
        assertEquals(3, till.takings());
    }

    @Test
    void greetsTwoCustomers() throws InterruptedException {
        Till till = new Till();
        both(till::greet);
        assertEquals(2, till.customers());
    }

    @Test
    void sellsToTwoCustomers() throws InterruptedException {
        Till till = new Till();
        both(() -> till.sell(5));
        assertEquals(10, till.takings());
    }
}
