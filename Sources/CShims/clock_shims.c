#define _GNU_SOURCE
#include "clock_shims.h"

#include <time.h>

int64_t shims_milliseconds_since_boot(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
