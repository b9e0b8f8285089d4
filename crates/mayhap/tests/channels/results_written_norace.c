// What calls write for the program says whether another thread has published something: times, descriptors, what is known of a file or of the
// system, what became of a process or of descriptors, names, a new thread, memory that was printed into.
// flags: -D_GNU_SOURCE
#include <pthread.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CLOCK, DAY, STATUS, PIPE, PAIR, SYSTEM, LIMIT, PROCESS, POLLED, EVENTS, NAME, THREAD, FOLDER, TEXT, CASES };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data[CASES], ends[2], pair[2], code, event, epoll;
static struct timespec clock_time;
static struct timeval day;
static struct stat status;
static struct utsname names;
static struct rlimit limit;
static struct pollfd polled = {.events = POLLIN};
static struct epoll_event events;
static char name[] = "results-XXXXXX", folder[4096], *text;
static pthread_t thread;
static pid_t child;

static void *nothing(void *none) { return none; }

static void publish(int i) {
    pthread_mutex_lock(&lock);
    switch (i) {
    case CLOCK: clock_gettime(CLOCK_REALTIME, &clock_time); break;
    case DAY: gettimeofday(&day, NULL); break;
    case STATUS: stat("/", &status); break;
    case PIPE: if (pipe(ends)) abort(); break;
    case PAIR: socketpair(AF_UNIX, SOCK_STREAM, 0, pair); break;
    case SYSTEM: uname(&names); break;
    case LIMIT: getrlimit(RLIMIT_NOFILE, &limit); break;
    case PROCESS: waitpid(child, &code, 0); break;
    case POLLED: poll(&polled, 1, 0); break;
    case EVENTS: epoll_wait(epoll, &events, 1, 0); break;
    case NAME: close(mkstemp(name)); break;
    case THREAD: pthread_create(&thread, NULL, nothing, NULL); break;
    case FOLDER: if (!getcwd(folder, sizeof folder)) abort(); break;
    case TEXT: if (asprintf(&text, "%d", i) < 0) abort(); break;
    }
    pthread_mutex_unlock(&lock);
}

static int is_published(int i) {
    switch (i) {
    case CLOCK: return clock_time.tv_sec != 0;
    case DAY: return day.tv_sec != 0;
    case STATUS: return status.st_mode != 0;
    case PIPE: return ends[1] != 0;
    case PAIR: return pair[1] != 0;
    case SYSTEM: return names.sysname[0] != 0;
    case LIMIT: return limit.rlim_cur != 0;
    case PROCESS: return code != 0;
    case POLLED: return polled.revents != 0;
    case EVENTS: return events.events != 0;
    case NAME: return name[8] != 'X';
    case THREAD: return thread != 0;
    case FOLDER: return folder[0] != 0;
    default: return text != NULL;
    }
}

static void await(int i) {
    for (int found = 0; !found; usleep(300)) {
        pthread_mutex_lock(&lock);
        found = is_published(i);
        pthread_mutex_unlock(&lock);
    }
}

static void *writer(void *none) {
    data[CLOCK] = 1, publish(CLOCK);
    data[DAY] = 1, publish(DAY);
    data[STATUS] = 1, publish(STATUS);
    data[PIPE] = 1, publish(PIPE);
    data[PAIR] = 1, publish(PAIR);
    data[SYSTEM] = 1, publish(SYSTEM);
    data[LIMIT] = 1, publish(LIMIT);
    data[PROCESS] = 1, publish(PROCESS);
    data[POLLED] = 1, publish(POLLED);
    data[EVENTS] = 1, publish(EVENTS);
    data[NAME] = 1, publish(NAME);
    data[THREAD] = 1, publish(THREAD);
    data[FOLDER] = 1, publish(FOLDER);
    data[TEXT] = 1, publish(TEXT);
    return none;
}

static void *reader(void *none) {
    await(CLOCK), data[CLOCK]++;
    await(DAY), data[DAY]++;
    await(STATUS), data[STATUS]++;
    await(PIPE), data[PIPE]++;
    await(PAIR), data[PAIR]++;
    await(SYSTEM), data[SYSTEM]++;
    await(LIMIT), data[LIMIT]++;
    await(PROCESS), data[PROCESS]++;
    await(POLLED), data[POLLED]++;
    await(EVENTS), data[EVENTS]++;
    await(NAME), data[NAME]++;
    await(THREAD), data[THREAD]++;
    await(FOLDER), data[FOLDER]++;
    await(TEXT), data[TEXT]++;
    return none;
}

int main(void) {
    child = fork();
    if (child == 0) _exit(3);
    event = polled.fd = eventfd(1, 0);
    epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, event, &(struct epoll_event){.events = EPOLLIN});
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    pthread_join(thread, NULL);
    unlink(name);
    printf("%d\n", data[TEXT]);
}
