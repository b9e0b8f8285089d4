// What a process has set and can be asked for says how far another thread is: its folder, its limits, the name of a thread, flags of a
// descriptor, options of a socket, what a signal does, whether a number is a descriptor, how a file is called and kept.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int data[13], pipes[2], sealed, closed, socket_of_both;
static pthread_t first;
static char folder[4000], file[4096], other[4100];

static void handler(int signal) { (void)signal; }

static void set(int i) {
    struct rlimit limit;
    struct timespec times[2] = {{5, 0}, {5, 0}};
    switch (i) {
    case 0: pthread_setname_np(first, "ready"); break;
    case 1: getrlimit(RLIMIT_CORE, &limit), limit.rlim_cur = 0, setrlimit(RLIMIT_CORE, &limit); break;
    case 2: fcntl(pipes[0], F_SETFL, O_NONBLOCK); break;
    case 3: setsockopt(socket_of_both, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int)); break;
    case 4: signal(SIGUSR1, handler); break;
    case 5: close(closed); break;
    case 6: dup2(pipes[0], 100); break;
    case 7: fcntl(sealed, F_ADD_SEALS, F_SEAL_WRITE); break;
    case 8: utimensat(AT_FDCWD, file, times, 0); break;
    case 9: if (link(file, other)) abort(); break;
    case 10: prctl(PR_SET_CHILD_SUBREAPER, 1); break;
    case 11: setlocale(LC_ALL, "C.UTF-8"); break;
    case 12: if (chdir("/")) abort(); break;
    }
}

static int is_set(int i) {
    char name[4096];
    struct rlimit limit;
    struct sigaction action;
    struct stat status;
    int on = 0;
    socklen_t size = sizeof on;
    switch (i) {
    case 0: return !pthread_getname_np(first, name, sizeof name) && !strcmp(name, "ready");
    case 1: return getrlimit(RLIMIT_CORE, &limit), limit.rlim_cur == 0;
    case 2: return fcntl(pipes[0], F_GETFL) & O_NONBLOCK;
    case 3: return getsockopt(socket_of_both, SOL_SOCKET, SO_KEEPALIVE, &on, &size), on;
    case 4: return sigaction(SIGUSR1, NULL, &action), action.sa_handler == handler;
    case 5: return fcntl(closed, F_GETFD) < 0;
    case 6: return fcntl(100, F_GETFD) >= 0;
    case 7: return fcntl(sealed, F_GET_SEALS) & F_SEAL_WRITE;
    case 8: return stat(file, &status), status.st_mtime == 5;
    case 9: return stat(file, &status), status.st_nlink == 2;
    case 10: return prctl(PR_GET_CHILD_SUBREAPER, &on), on;
    case 11: return !strcmp(setlocale(LC_ALL, NULL), "C.UTF-8");
    default: return getcwd(name, sizeof name) && !strcmp(name, "/");
    }
}

static void *write_all(void *none) {
    for (int i = 0; i < 13; i++) {
        data[i] = i;
        set(i);
    }
    return none;
}

static void *read_all(void *none) {
    for (int i = 0; i < 13; i++) {
        while (!is_set(i)) usleep(300);
        data[i]++;
    }
    return none;
}

int main(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = limit.rlim_max ? 1 : 0;
    setrlimit(RLIMIT_CORE, &limit);
    if (pipe(pipes)) abort();
    sealed = memfd_create("sealed", MFD_ALLOW_SEALING);
    closed = open("/dev/null", O_RDONLY);
    socket_of_both = socket(AF_INET, SOCK_STREAM, 0);
    if (!getcwd(folder, sizeof folder)) abort();
    snprintf(file, sizeof file, "%s/settings-XXXXXX", folder);
    close(mkstemp(file));
    snprintf(other, sizeof other, "%s.2", file);
    pthread_t writer, reader;
    first = pthread_self();
    pthread_create(&writer, NULL, write_all, NULL);
    pthread_create(&reader, NULL, read_all, NULL);
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
    unlink(file);
    unlink(other);
    printf("%d\n", data[12]);
}
