// Lets something happen at a certain point of a program's life: loaded into it by LD_PRELOAD.
//
// A point is a call whose effect outlives the program: on a file in FAULT_FOLDER (opened, locked, written, given room,
// synchronised, renamed, removed) and on a connection (made, sent to, received from). Each is told on standard error before the call is
// made; when half has been written or sent there is one more, and one after what was sent and what was received:
//
//     fault: 7 write session.new
//
// FAULT says what happens at point FAULT_AT, counted from 1 in all threads: `kill` the program, `pause` the thread
// until the named pipe FAULT_GATE is opened for writing, `fail` the call (not one that is told of afterwards) with the error
// number FAULT_ERROR or a usual one, or `full`: from then on there is no room on the disk. `outage` kills the program and
// leaves in the folder what was synchronised, and `outage with names` does so where the names were, too.
//
// It is for this program alone, and not for those that it starts.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// The function of the same name that would have been called.
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static bool is_full;

// What a file is for a session; NULL for one that lies elsewhere.
static const char *name(const char *path) {
    const char *folder = getenv("FAULT_FOLDER");
    size_t length = folder ? strlen(folder) : 0, whole = strlen(path);
    if (length == 0 || strncmp(path, folder, length) != 0) return NULL;
    if (whole == length) return "folder";
    if (path[length] != '/') return NULL;
    if (whole > 5 && strcmp(path + whole - 5, ".lock") == 0) return "lock";
    if (whole > 4 && strcmp(path + whole - 4, ".new") == 0) return "session.new";
    return "session";
}

static const char *name_of(int descriptor) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return NULL;
    path[length] = 0;
    return name(path);
}

#include "disk.h"

__attribute__((constructor)) static void begin(void) {
    unsetenv("LD_PRELOAD");
    disk_begin();
}

// Tells of a point, and lets happen what is due.
//
// Returns: Whether the call has to fail; errno is the error then.
static bool point(const char *call, const char *name, int error) {
    pthread_mutex_lock(&lock);
    char line[128];
    int length = snprintf(line, sizeof line, "fault: %d %s%s%s\n", ++count, call, *name ? " " : "", name);
    (void)!NEXT(write)(STDERR_FILENO, line, (size_t)length);
    const char *at = getenv("FAULT_AT"), *fault = getenv("FAULT");
    bool is_due = at && fault && atoi(at) == count;
    bool is_outage = is_due && strncmp(fault, "outage", 6) == 0;
    if (is_outage) disk_lose_power(strcmp(fault, "outage with names") == 0);
    if (is_outage || (is_due && strcmp(fault, "kill") == 0)) kill(getpid(), SIGKILL);
    if (is_due && strcmp(fault, "full") == 0) is_full = true;
    pthread_mutex_unlock(&lock);
    if (is_due && strcmp(fault, "pause") == 0) {
        const char *gate = getenv("FAULT_GATE");
        if (gate) close(NEXT(open)(gate, O_RDONLY | O_CLOEXEC));
    }
    bool fails = is_due && strcmp(fault, "fail") == 0;
    const char *other = getenv("FAULT_ERROR");
    if (fails) errno = other ? atoi(other) : error;
    return fails;
}

// As point(), for a call that takes room on the disk.
static bool point_on_disk(const char *call, const char *name, int error) {
    if (point(call, name, error)) return true;
    pthread_mutex_lock(&lock);
    bool fails = is_full;
    pthread_mutex_unlock(&lock);
    if (fails) errno = ENOSPC;
    return fails;
}

// Whether the file has the room already for what is to be written.
static bool has_room(int descriptor, size_t length) {
    struct stat status;
    off_t at = lseek(descriptor, 0, SEEK_CUR);
    return at >= 0 && fstat(descriptor, &status) == 0 && at + (off_t)length <= (off_t)status.st_blocks * 512;
}

static bool is_connection(int descriptor) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    return getpeername(descriptor, (struct sockaddr *)&address, &length) == 0 &&
           (address.ss_family == AF_INET || address.ss_family == AF_INET6);
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    const char *file = name(path);
    bool makes = flags & O_CREAT && access(path, F_OK) != 0;
    if (file && (makes ? point_on_disk("make", file, EMFILE) : point("open", file, EMFILE))) return -1;
    int descriptor = NEXT(open)(path, flags, mode);
    if (file && makes && descriptor >= 0) disk_make(path);
    return descriptor;
}

int fcntl(int descriptor, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    const char *file = command == F_OFD_SETLK || command == F_OFD_SETLKW ? name_of(descriptor) : NULL;
    bool releases = file && ((struct flock *)argument)->l_type == F_UNLCK;
    if (file && point(releases ? "release" : "take", file, ENOLCK)) return -1;
    return NEXT(fcntl)(descriptor, command, argument);
}

ssize_t write(int descriptor, const void *bytes, size_t length) {
    const char *file = name_of(descriptor);
    if (!file || length < 2) return NEXT(write)(descriptor, bytes, length);
    bool has = has_room(descriptor, length);
    if (has ? point("write", file, EIO) : point_on_disk("write", file, EIO)) return -1;
    ssize_t half = NEXT(write)(descriptor, bytes, length / 2);
    if (half <= 0) return half;
    if (has ? point("write the rest of", file, EIO) : point_on_disk("write the rest of", file, EIO))
        return errno == ENOSPC ? half : -1;
    ssize_t rest = NEXT(write)(descriptor, (const char *)bytes + half, length - (size_t)half);
    return rest < 0 ? half : half + rest;
}

int posix_fallocate(int descriptor, off_t begin, off_t length) {
    const char *file = name_of(descriptor);
    if (file && point_on_disk("reserve", file, ENOSPC)) return ENOSPC;
    return NEXT(posix_fallocate)(descriptor, begin, length);
}

int fsync(int descriptor) {
    const char *file = name_of(descriptor);
    if (file && point("synchronise", file, EIO)) return -1;
    int result = NEXT(fsync)(descriptor);
    if (file && result == 0) disk_synchronise_descriptor(descriptor);
    return result;
}

int rename(const char *from, const char *to) {
    const char *file = name(from);
    if (file && point("rename", file, EIO)) return -1;
    int result = NEXT(rename)(from, to);
    if (file && result == 0) disk_rename(from, to);
    return result;
}

int unlink(const char *path) {
    const char *file = name(path);
    if (file && access(path, F_OK) == 0 && point("remove", file, EIO)) return -1;
    int result = NEXT(unlink)(path);
    if (file && result == 0) disk_remove(path);
    return result;
}

int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
    bool is_network = address->sa_family == AF_INET || address->sa_family == AF_INET6;
    if (is_network && point("connect", "", ECONNREFUSED)) return -1;
    return NEXT(connect)(descriptor, address, length);
}

ssize_t send(int descriptor, const void *bytes, size_t length, int flags) {
    if (!is_connection(descriptor) || length < 2) return NEXT(send)(descriptor, bytes, length, flags);
    if (point("send", "", ECONNRESET)) return -1;
    ssize_t half = NEXT(send)(descriptor, bytes, length / 2, flags);
    if (half <= 0) return half;
    if (point("send the rest", "", ECONNRESET)) return -1;
    ssize_t rest = NEXT(send)(descriptor, (const char *)bytes + half, length - (size_t)half, flags);
    point("sent", "", 0);
    return rest < 0 ? half : half + rest;
}

ssize_t recv(int descriptor, void *bytes, size_t length, int flags) {
    ssize_t received = NEXT(recv)(descriptor, bytes, length, flags);
    if (received > 0 && !(flags & MSG_PEEK) && is_connection(descriptor)) point("received", "", 0);
    return received;
}
