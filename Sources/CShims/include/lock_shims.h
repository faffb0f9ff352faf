// File locks. Swift cannot import fcntl, which is variadic, nor locks of open file descriptions, a GNU extension.
#ifndef LOCK_SHIMS_H
#define LOCK_SHIMS_H

#include <sys/types.h>

// Locks one byte of a file for this open file description. Waits as long as another one holds the lock. The kernel
// releases the lock when the last descriptor is closed or the process dies. Returns 0 or an error number.
int shims_lock_byte(int descriptor, off_t position);

// The same without waiting: EAGAIN or EACCES if another one holds the lock.
int shims_try_lock_byte(int descriptor, off_t position);

// Releases the lock. Closing the descriptor is not enough: a forked child that has not called exec has a copy of it.
int shims_unlock_byte(int descriptor, off_t position);

// Returns the id of the process that holds the lock, 0 if the lock is free, or -1 if the kernel does not report the holder,
// as for a lock of an open file description. Acquires no lock.
pid_t shims_lock_holder(int descriptor, off_t position);

// Writes like pwrite(2). If a limit on the size of files is exceeded, it fails without SIGXFSZ, which would end the process.
ssize_t shims_write_at(int descriptor, const void *_Nonnull bytes, size_t count, off_t position);

#endif
