// Moves the clock of a program: preloaded, it adds one second for each byte of the file $CLOCK. GLib's timers use this clock.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*original)(clockid_t, struct timespec *);
    if (!original) original = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = original(clock, now);
    struct stat file;
    if (clock == CLOCK_MONOTONIC && stat(getenv("CLOCK"), &file) == 0) now->tv_sec += file.st_size;
    return result;
}
