// CLOCK_BOOTTIME. Not every version of Swift imports its type.
#ifndef CLOCK_SHIMS_H
#define CLOCK_SHIMS_H

#include <stdint.h>

// Returns the milliseconds since the machine was started, including the time in which it slept.
int64_t shims_milliseconds_since_boot(void);

#endif
