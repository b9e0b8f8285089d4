// What the C library reads and writes for a program says whether another thread has published something: wide texts, sets of signals, packed lists,
// names of files, what is searched backwards, kept in another form or printed into memory of its own.
// flags: -D_GNU_SOURCE
#include <argz.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

enum { WIDE, WIDE_NUMBER, SIGNALS, LIST, WIDENED, BACKWARDS, NAME, ENDED, NUMBER, PRINTED, SORTED, CASES };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data[CASES];
static char text[CASES][32], *list;
static wchar_t wide[CASES][16];
static size_t list_bytes;
static sigset_t signals;

static void publish(int i) {
    switch (i) {
    case WIDE: wcscpy(wide[i], L"go"); break;
    case WIDE_NUMBER: wcscpy(wide[i], L"42"); break;
    case SIGNALS: sigaddset(&signals, SIGUSR1); break;
    case LIST: argz_add(&list, &list_bytes, "go"); break;
    case WIDENED: strcpy(text[i], "wide"); break;
    case BACKWARDS: text[i][20] = 'z'; break;
    case NAME: strcpy(text[i], "/dev/null"); break;
    case ENDED: strcpy(text[i], "four"); break;
    case NUMBER: strcpy(text[i], "0123"); break;
    case PRINTED: strcpy(text[i], "abc"); break;
    case SORTED: strcpy(text[i], "ab"); break;
    }
}

static int is_published(int i) {
    char kept[64], *made;
    int file, length;
    switch (i) {
    case WIDE: return !wcscmp(wide[i], L"go");
    case WIDE_NUMBER: return wcstol(wide[i], NULL, 10) == 42;
    case SIGNALS: return sigismember(&signals, SIGUSR1);
    case LIST: return argz_count(list, list_bytes) == 1;
    case WIDENED: return mbstowcs(NULL, text[i], 0) == 4;
    case BACKWARDS: return memrchr(text[i], 'z', sizeof text[i]) != NULL;
    case NAME:
        file = open(text[i], O_RDONLY);
        if (file >= 0) close(file);
        return file >= 0;
    case ENDED: return (char *)rawmemchr(text[i], 0) == text[i] + 4;
    case NUMBER: return a64l(text[i]) != 0;
    case PRINTED:
        length = asprintf(&made, "%s", text[i]);
        free(made);
        return length == 3;
    default: return strxfrm(kept, text[i], sizeof kept) >= 2;
    }
}

static void publish_under_lock(int i) {
    pthread_mutex_lock(&lock);
    publish(i);
    pthread_mutex_unlock(&lock);
}

static void await(int i) {
    for (int found = 0; !found; usleep(300)) {
        pthread_mutex_lock(&lock);
        found = is_published(i);
        pthread_mutex_unlock(&lock);
    }
}

static void *writer(void *none) {
    data[WIDE] = 1, publish_under_lock(WIDE);
    data[WIDE_NUMBER] = 1, publish_under_lock(WIDE_NUMBER);
    data[SIGNALS] = 1, publish_under_lock(SIGNALS);
    data[LIST] = 1, publish_under_lock(LIST);
    data[WIDENED] = 1, publish_under_lock(WIDENED);
    data[BACKWARDS] = 1, publish_under_lock(BACKWARDS);
    data[NAME] = 1, publish_under_lock(NAME);
    data[ENDED] = 1, publish_under_lock(ENDED);
    data[NUMBER] = 1, publish_under_lock(NUMBER);
    data[PRINTED] = 1, publish_under_lock(PRINTED);
    data[SORTED] = 1, publish_under_lock(SORTED);
    return none;
}

static void *reader(void *none) {
    await(WIDE), data[WIDE]++;
    await(WIDE_NUMBER), data[WIDE_NUMBER]++;
    await(SIGNALS), data[SIGNALS]++;
    await(LIST), data[LIST]++;
    await(WIDENED), data[WIDENED]++;
    await(BACKWARDS), data[BACKWARDS]++;
    await(NAME), data[NAME]++;
    await(ENDED), data[ENDED]++;
    await(NUMBER), data[NUMBER]++;
    await(PRINTED), data[PRINTED]++;
    await(SORTED), data[SORTED]++;
    return none;
}

int main(void) {
    pthread_t threads[2];
    sigemptyset(&signals);
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%d\n", data[SORTED]);
}
