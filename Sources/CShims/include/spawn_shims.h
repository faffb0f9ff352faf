// posix_spawn. Closing inherited descriptors is a GNU extension, which Swift cannot import.
#ifndef SPAWN_SHIMS_H
#define SPAWN_SHIMS_H

#include <sys/types.h>

// Starts a program from the PATH of this process, without a shell. The program inherits only the working directory: it
// gets its own session, default signals, an empty signal mask, /dev/null as its three standard streams, and no other
// descriptor. `arguments` and `environment` end with NULL. Returns 0 and the process id, or an error number.
int shims_spawn_detached(char *const arguments[], char *const environment[], pid_t *pid);

// Starts a program with two pipes: its standard input reads from `input`, and its standard output writes to `output`. It
// inherits standard error and the environment. The rest is as for `shims_spawn_detached`. Returns 0 or an error number.
int shims_spawn_child(char *const arguments[], int *input, int *output, pid_t *pid);

// Turns off core dumps of this process, and debugging by anyone but root.
void shims_forbid_dumps(void);

// Waits for a child to end, up to a limit in milliseconds, and does not reap it. Returns 1 if it has ended, 0 if not, or
// if the kernel cannot tell (it is older than 5.3, or a sandbox forbids it).
int shims_wait_briefly(pid_t pid, int milliseconds);

#endif
