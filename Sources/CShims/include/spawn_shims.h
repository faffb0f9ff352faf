// What Swift cannot import from glibc's posix_spawn: closing inherited descriptors is a GNU extension.
#ifndef SPAWN_SHIMS_H
#define SPAWN_SHIMS_H

#include <sys/types.h>

// Starts a program, looked up in the PATH of this process and without a shell, that keeps nothing of this process but its
// working directory: a session of its own, default signals, none of them blocked, /dev/null as its three standard
// streams, no other descriptor. `arguments` ends with NULL, and so does `environment`; without it the program has ours.
// Returns 0 and the process id, or an error number.
int shims_spawn_detached(char *const arguments[], char *const environment[], pid_t *pid);

// Starts a program at the other end of two pipes: what is written to `input` it reads, and what it writes can be read
// from `output`. Its standard error and its environment are ours; everything else is as for `shims_spawn_detached`.
// Returns 0 or an error number.
int shims_spawn_child(char *const arguments[], int *input, int *output, pid_t *pid);

// Turns core dumps, and debuggers that are not root's, away from this process.
void shims_forbid_dumps(void);

// Waits at most some milliseconds for a child to end, without collecting it. Returns 1 if it has ended, 0 if not, or
// if the kernel cannot tell (it is older than 5.3, or a sandbox forbids it).
int shims_wait_briefly(pid_t pid, int milliseconds);

#endif
