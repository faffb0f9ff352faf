// What Swift cannot import: fcntl is variadic, and locks of open file descriptions are a GNU extension.
#ifndef LOCK_SHIMS_H
#define LOCK_SHIMS_H

#include <sys/types.h>

// Locks one byte of a file for whoever holds this open file description, waiting for as long as another does. The kernel
// lets go of it when the last descriptor is closed, also when the process dies. Returns 0 or an error number.
int shims_lock_byte(int descriptor, off_t position);

// The same without waiting: EAGAIN or EACCES if another holds it.
int shims_try_lock_byte(int descriptor, off_t position);

// Unlocks it. To close the descriptor is not enough: a child that was forked and runs no other program has it open too.
int shims_unlock_byte(int descriptor, off_t position);

// Who holds it: 0 if nobody else does, a process id, or -1 where the kernel does not say, as for a lock of an open file
// description. No lock is taken.
pid_t shims_lock_holder(int descriptor, off_t position);

// Writes like pwrite(2), but without the signal SIGXFSZ, which ends a process, where a limit on the size of files is in the way.
ssize_t shims_write_at(int descriptor, const void *_Nonnull bytes, size_t count, off_t position);

#endif
