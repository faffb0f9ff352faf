// What Swift cannot import: fcntl is variadic, and locks of open file descriptions are a GNU extension.
#ifndef LOCK_SHIMS_H
#define LOCK_SHIMS_H

#include <sys/types.h>

// Locks one byte of a file for whoever holds this open file description, waiting for as long as another does. The kernel
// lets go of it when the last descriptor is closed, also when the process dies. Returns 0 or an error number.
int shims_lock_byte(int descriptor, off_t position);

// The same without waiting: EAGAIN or EACCES if another holds it.
int shims_try_lock_byte(int descriptor, off_t position);

// Whether another holds it; no lock is taken.
int shims_is_locked_byte(int descriptor, off_t position);

#endif
