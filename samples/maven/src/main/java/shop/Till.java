package shop;

/** Counts what was sold. */
public class Till {
    private int takings;
    private int customers;

    public void sell(int price) {
        takings += price;
    }

    public synchronized void greet() {
        customers++;
    }

    public int takings() {
        return takings;
    }

    public synchronized int customers() {
        return customers;
    }
}
