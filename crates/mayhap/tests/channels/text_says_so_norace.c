// A text says that the data is there, and the C library reads it: as a number, by a format, as a part of another text, as the environment.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static char number[16] = "0", scanned[16] = "0", part[16] = "none", word[16] = "no";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data[6];

static void *work(void *nothing) {
    for (int i = 0; i < 6; i++) data[i] = 7;
    pthread_mutex_lock(&lock);
    strcpy(number, "15");
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    strcpy(scanned, "5");
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    strcpy(part, "data here");
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    strcpy(word, "Yes");
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    setenv("DATA_IS_HERE", "1", 1);
    pthread_mutex_unlock(&lock);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    usleep(3000);
    int value = 0, sum = 0;
    pthread_mutex_lock(&lock);
    long read = strtol(number, 0, 10);
    pthread_mutex_unlock(&lock);
    if (read == 15) sum += data[0];
    pthread_mutex_lock(&lock);
    sscanf(scanned, "%d", &value);
    pthread_mutex_unlock(&lock);
    if (value == 5) sum += data[1];
    pthread_mutex_lock(&lock);
    char *found = strstr(part, "here");
    pthread_mutex_unlock(&lock);
    if (found) sum += data[2];
    pthread_mutex_lock(&lock);
    int same = strcasecmp(word, "yes") == 0;
    pthread_mutex_unlock(&lock);
    if (same) sum += data[3];
    pthread_mutex_lock(&lock);
    int set = getenv("DATA_IS_HERE") != 0;
    pthread_mutex_unlock(&lock);
    if (set) sum += data[4];
    pthread_join(thread, 0);
    printf("%d\n", sum >= 0);
    return 0;
}
