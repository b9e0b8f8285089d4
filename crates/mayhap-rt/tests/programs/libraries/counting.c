int counted;
static int *other = &counted;
void count(void) { (*other)++; }
int count_of(void) { return *other; }
