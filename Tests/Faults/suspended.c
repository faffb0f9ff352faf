// A machine that has slept for an hour since the file $SUSPENDED appeared: the clocks that went on meanwhile are an hour later.
// The next timer of such a clock ends at once. Its milliseconds are written to the file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>

static const time_t hour = 3600;
static clockid_t clocks[1024];

static int hasSlept(struct stat *file) { return stat(getenv("SUSPENDED"), file) == 0; }

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int (*next)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = next(clock, time);
    struct stat file;
    if (result == 0 && (clock == CLOCK_BOOTTIME || clock == CLOCK_REALTIME) && hasSlept(&file)) time->tv_sec += hour;
    return result;
}

int timerfd_create(int clock, int flags)
{
    int (*next)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "timerfd_create");
    int timer = next(clock, flags);
    if (timer >= 0 && timer < 1024) clocks[timer] = clock;
    return timer;
}

int timerfd_settime(int timer, int flags, const struct itimerspec *value, struct itimerspec *former)
{
    int (*next)(int, int, const struct itimerspec *, struct itimerspec *) =
        (int (*)(int, int, const struct itimerspec *, struct itimerspec *))dlsym(RTLD_NEXT, "timerfd_settime");
    struct itimerspec changed = *value;
    struct stat file;
    if (clocks[timer] != CLOCK_MONOTONIC && (flags & TFD_TIMER_ABSTIME) && hasSlept(&file)) {
        changed.it_value.tv_sec -= hour;
        if (file.st_size == 0) {
            struct timespec now;
            clock_gettime(clocks[timer], &now);
            long long rest = (value->it_value.tv_sec - now.tv_sec) * 1000LL + (value->it_value.tv_nsec - now.tv_nsec) / 1000000;
            FILE *report = fopen(getenv("SUSPENDED"), "a");
            fprintf(report, "%lld\n", rest);
            fclose(report);
            changed.it_value.tv_sec = 1;
        }
    }
    return next(timer, flags, &changed, former);
}
