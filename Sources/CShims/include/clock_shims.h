// CLOCK_BOOTTIME, in a form whose type every version of Swift finds.
#ifndef CLOCK_SHIMS_H
#define CLOCK_SHIMS_H

#include <stdint.h>

// Milliseconds since the machine was started, the time in which it slept included.
int64_t shims_milliseconds_since_boot(void);

#endif
