// A parser: each thread parses nested texts by recursive descent into trees of its own and adds up what they say.
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value { int kind; long number; struct value *first, *next; };
static const char text[] = "[1, 22, [333, 4, {\"key\": 55, \"other\": [6, 7, 8]}], \"some text\", {\"a\": [], \"b\": {\"c\": 1000}}]";
static int rounds;
static long total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void skip(const char **at) {
    while (**at == ' ' || **at == ',' || **at == ':')
        ++*at;
}

static struct value *parse(const char **at) {
    struct value *value = calloc(1, sizeof *value), **end = &value->first;
    skip(at);
    if (**at == '[' || **at == '{') {
        char close = *(*at)++ == '[' ? ']' : '}';
        for (skip(at); **at != close; skip(at)) {
            *end = parse(at);
            end = &(*end)->next;
        }
        ++*at;
    } else if (**at == '"') {
        value->kind = 1;
        for (++*at; **at != '"'; ++*at)
            value->number++;
        ++*at;
    } else {
        value->kind = 2;
        while (isdigit((unsigned char)**at))
            value->number = value->number * 10 + *(*at)++ - '0';
    }
    return value;
}

static long add_up(struct value *value) {
    long sum = 0;
    while (value) {
        struct value *next = value->next;
        sum += value->number + add_up(value->first);
        free(value);
        value = next;
    }
    return sum;
}

static void *work(void *argument) {
    (void)argument;
    for (int i = 0; i < rounds; i++) {
        const char *at = text;
        long sum = add_up(parse(&at));
        pthread_mutex_lock(&lock);
        total += sum;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atoi(argv[1]) : 10000;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", total);
}
