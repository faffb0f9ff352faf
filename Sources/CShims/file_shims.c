#define _GNU_SOURCE

#include "file_shims.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x00002000
#endif

int shims_open_unnamed(const char *folder) { return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600); }

int shims_is_mount_point(const char *path) {
    struct statx found;
    if (syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &found) != 0) return 0;
    return (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}
