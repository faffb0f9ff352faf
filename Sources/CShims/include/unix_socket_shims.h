// What Swift cannot import from sockets in the file system: the address, whose casts C does in a line, and the credentials of
// the other end, a GNU extension.
#ifndef UNIX_SOCKET_SHIMS_H
#define UNIX_SOCKET_SHIMS_H

#include <stdint.h>

// The longest path of a socket in bytes (unix(7)), without the zero at its end.
int shims_longest_socket_path(void);

// A listening socket at a path where nothing is yet, with mode 0600 from its first moment on, non-blocking and closed on exec.
// Returns the descriptor, or -errno; nothing is left at the path then.
int shims_listen_at(const char *path, int backlog);

// A blocking connection to the socket at a path, closed on exec, of which connecting, each sending and each receiving take so
// many milliseconds at most. Returns the descriptor, or -errno: ECONNREFUSED where nobody listens any more.
int shims_connect_to(const char *path, int milliseconds);

// The user whose process has the other end of a connection: the one that connected, or that listens. Returns 0, or -1 where
// the kernel does not tell.
int shims_peer_credentials(int fd, uint32_t *user);

#endif
