// twin: log_rotation.c
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct segment {
    int used;
    char text[64];
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct segment *current;
static int lines, rotations;

static void append(const char *line) {
    pthread_mutex_lock(&lock);
    struct segment *segment = current;
    int used = segment->used;
    memcpy(segment->text + used, line, strlen(line));
    segment->used = used + (int)strlen(line);
    lines++;
    pthread_mutex_unlock(&lock);
}

static void *writer(void *unused) {
    (void)unused;
    append("one ");
    append("two ");
    return NULL;
}

static void *rotator(void *unused) {
    (void)unused;
    usleep(30000);  // rotation at "midnight"
    pthread_mutex_lock(&lock);
    struct segment *old = current;
    current = calloc(1, sizeof *current);
    rotations++;
    pthread_mutex_unlock(&lock);
    free(old);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    current = calloc(1, sizeof *current);
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, rotator, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d lines, %d rotations\n", lines, rotations);
    free(current);
    return 0;
}
