static int value;

__attribute__((constructor)) static void set(void) {
    value = 7;
}

int get(void) {
    return value;
}
