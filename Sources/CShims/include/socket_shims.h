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

// A socket through which the kernel is asked whose a socket is, closed on exec. Returns the descriptor, or -errno.
int shims_open_diagnosis(void);

// The user (as this process sees users) whose program has the other end of an accepted loopback connection; UINT32_MAX if
// that program has closed it. Returns 0, or -1 if the kernel does not tell, as of a connection that was reset.
int shims_peer_user(int diagnosis, int fd, uint32_t *user);

// Whether the kernel tells whose a socket is: tried with a listening socket of this process. Returns 1 if so, else 0.
int shims_tells_users(int diagnosis, int listener);

// An event descriptor that starts at 0, non-blocking and closed on exec. Returns the descriptor, or -errno.
int shims_event(void);

// Names the calling thread, for debuggers and /proc; cut at 15 bytes.
void shims_name_thread(const char *name);

#endif
