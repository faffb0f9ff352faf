#define _GNU_SOURCE
#include "spawn_shims.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int set_attributes(posix_spawnattr_t *attributes) {
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int error = posix_spawnattr_setsigdefault(attributes, &all);
    if (error == 0) error = posix_spawnattr_setsigmask(attributes, &none);
    if (error == 0)
        error = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    return error;
}

static int silence(posix_spawn_file_actions_t *files) {
    int error = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (error == 0) error = posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (error == 0) error = posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    return error;
}

static int connect_to(posix_spawn_file_actions_t *files, int input, int output) {
    int error = posix_spawn_file_actions_adddup2(files, input, STDIN_FILENO);
    if (error == 0) error = posix_spawn_file_actions_adddup2(files, output, STDOUT_FILENO);
    return error;
}

// Without descriptors (-1) the standard streams are /dev/null.
static int start(char *const arguments[], char *const environment[], int input, int output, pid_t *pid) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    int error = posix_spawnattr_init(&attributes);
    if (error != 0) return error;
    error = posix_spawn_file_actions_init(&files);
    if (error == 0) {
        error = set_attributes(&attributes);
        if (error == 0) error = input < 0 ? silence(&files) : connect_to(&files, input, output);
        if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
        if (error == 0) error = posix_spawnp(pid, arguments[0], &files, &attributes, arguments, environment);
        posix_spawn_file_actions_destroy(&files);
    }
    posix_spawnattr_destroy(&attributes);
    return error;
}

int shims_spawn_detached(char *const arguments[], char *const environment[], pid_t *pid) {
    return start(arguments, environment, -1, -1, pid);
}

int shims_spawn_child(char *const arguments[], int *input, int *output, pid_t *pid) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0) return errno;
    if (pipe2(from, O_CLOEXEC) != 0) {
        int error = errno;
        close(to[0]), close(to[1]);
        return error;
    }
    int error = start(arguments, environ, to[0], from[1], pid);
    close(to[0]), close(from[1]);
    if (error != 0) close(to[1]), close(from[0]);
    *input = to[1], *output = from[0];
    return error;
}

void shims_forbid_dumps(void) {
    // Not the hard limit, which every started program would inherit.
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &limit);
    }
    prctl(PR_SET_DUMPABLE, 0);
}

int shims_wait_briefly(pid_t pid, int milliseconds) {
    // By its number: glibc has a function for it only since 2.36.
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) return 0;
    struct pollfd process = {.fd = fd, .events = POLLIN};
    int ended = poll(&process, 1, milliseconds) == 1;
    close(fd);
    return ended;
}
