#define _GNU_SOURCE
#include "lock_shims.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int lock(int descriptor, off_t position, int command) {
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = position, .l_len = 1};
    while (fcntl(descriptor, command, &range) != 0)
        if (errno != EINTR) return errno;
    return 0;
}

int shims_lock_byte(int descriptor, off_t position) { return lock(descriptor, position, F_OFD_SETLKW); }

int shims_try_lock_byte(int descriptor, off_t position) { return lock(descriptor, position, F_OFD_SETLK); }

int shims_is_locked_byte(int descriptor, off_t position) {
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = position, .l_len = 1};
    return fcntl(descriptor, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}
