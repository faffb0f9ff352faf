// Unix sockets, as far as Swift cannot import them: addresses, which need casts, and the credentials of the peer, a GNU
// extension.
#ifndef UNIX_SOCKET_SHIMS_H
#define UNIX_SOCKET_SHIMS_H

#include <stdint.h>

// The longest path of a socket in bytes (unix(7)), without the terminating zero.
int shims_longest_socket_path(void);

// Creates a listening socket at a path that does not exist: with mode 0600 from the start, non-blocking, closed on exec.
// Returns the descriptor, or -errno. After an error, nothing is left at the path.
int shims_listen_at(const char *path, int backlog);

// Connects to the socket at a path. The connection is blocking and closed on exec. The limit, in milliseconds, applies to
// connecting, and to each send and each receive. Returns the descriptor, or -errno: ECONNREFUSED if no process listens.
int shims_connect_to(const char *path, int milliseconds);

// Gets the user of the peer: of the process that connected, or that listens. Returns 0, or -1 if the kernel does not
// report the user.
int shims_peer_credentials(int fd, uint32_t *user);

#endif
