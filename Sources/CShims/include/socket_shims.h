// What Swift cannot import from glibc's sockets: accept4 (a GNU extension), and addresses, whose casts C does in a line.
#ifndef SOCKET_SHIMS_H
#define SOCKET_SHIMS_H

#include <stdint.h>

// A listening TCP socket on the loopback address of a family (AF_INET or AF_INET6), non-blocking and closed on exec.
// Port 0 takes a free one; `bound` says which it is. Returns the descriptor, or -errno.
int shims_listen_loopback(int family, uint16_t port, int backlog, uint16_t *bound);

// The next waiting connection, non-blocking and closed on exec. Returns the descriptor, or -errno.
int shims_accept(int listener);

// Ends the sending side of a connection.
void shims_end_sending(int fd);

// Ends a connection, or the listening of a socket, and closes the descriptor. Closing alone would leave it to live on in
// a child that another thread is just starting, which has a copy of each descriptor until it runs its program.
void shims_end(int fd);

// The user (as this process sees users) whose program has the other end of an accepted loopback connection; UINT32_MAX if
// that program has closed it. Returns 0, or -1 where the kernel does not tell.
int shims_peer_user(int fd, uint32_t *user);

// An event descriptor that starts at 0, non-blocking and closed on exec. Returns the descriptor, or -errno.
int shims_event(void);

// Names the calling thread, for debuggers and /proc; cut at 15 bytes.
void shims_name_thread(const char *name);

#endif
