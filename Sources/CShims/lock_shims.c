#define _GNU_SOURCE
#include "lock_shims.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static int lock(int descriptor, off_t position, int command, short type) {
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = position, .l_len = 1};
    while (fcntl(descriptor, command, &range) != 0)
        if (errno != EINTR) return errno;
    return 0;
}

int shims_lock_byte(int descriptor, off_t position) { return lock(descriptor, position, F_OFD_SETLKW, F_WRLCK); }

int shims_try_lock_byte(int descriptor, off_t position) { return lock(descriptor, position, F_OFD_SETLK, F_WRLCK); }

int shims_unlock_byte(int descriptor, off_t position) { return lock(descriptor, position, F_OFD_SETLK, F_UNLCK); }

pid_t shims_lock_holder(int descriptor, off_t position) {
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = position, .l_len = 1};
    if (fcntl(descriptor, F_OFD_GETLK, &range) != 0 || range.l_type == F_UNLCK) return 0;
    return range.l_pid > 0 ? range.l_pid : -1;
}

ssize_t shims_write_at(int descriptor, const void *bytes, size_t count, off_t position) {
    sigset_t signal, former, pending;
    sigemptyset(&signal);
    sigaddset(&signal, SIGXFSZ);
    sigemptyset(&pending);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &signal, &former);
    ssize_t written = pwrite(descriptor, bytes, count, position);
    int error = errno;
    if (written < 0 && error == EFBIG && !sigismember(&pending, SIGXFSZ)) {
        struct timespec now = {0, 0};
        sigtimedwait(&signal, NULL, &now);
    }
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    errno = error;
    return written;
}
