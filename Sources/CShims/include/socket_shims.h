// Sockets, as far as Swift cannot import them: accept4, a GNU extension, and addresses, which need casts.
#ifndef SOCKET_SHIMS_H
#define SOCKET_SHIMS_H

#include <stdint.h>

// Creates a listening TCP socket on the loopback address of a family (AF_INET or AF_INET6), non-blocking and closed on exec.
// Port 0 means any free port. `bound` receives the port. Returns the descriptor, or -errno.
int shims_listen_loopback(int family, uint16_t port, int backlog, uint16_t *bound);

// Gets the family of a listening socket that this process was started with, and the port: AF_UNIX, or AF_INET or AF_INET6 on
// loopback. Makes it non-blocking and closed on exec. Returns -1 for any other descriptor.
int shims_listening_family(int fd, uint16_t *port);

// Accepts the next connection, non-blocking and closed on exec. Returns the descriptor, or -errno.
int shims_accept(int listener);

// Returns the port of this end of a TCP socket, or -1.
int shims_local_port(int fd);

// Ends the sending side of a connection.
void shims_end_sending(int fd);

// Shuts down a connection or a listening socket, and closes the descriptor. Closing is not enough: a child that another
// thread is starting has a copy of each descriptor until it calls exec.
void shims_end(int fd);

// Creates a socket for questions to the kernel about the owners of sockets, closed on exec. Returns it, or -errno.
int shims_open_diagnosis(void);

// Gets the user whose program has the other end of an accepted loopback connection, in this process's user namespace;
// UINT32_MAX if that program has closed it. Returns 0, or -1 if the kernel does not report the user, for example of a
// connection that was reset.
int shims_peer_user(int diagnosis, int fd, uint32_t *user);

// Gets the users whose programs have the server's end of a connection from this process, by the addresses as text: of the
// listening socket, and of the accepted one. Without our end, only of the listening one. Returns their number. Returns 0 if the
// kernel tells nothing, -1 if it knows the connection, but no program that has it or may still get it, or cannot be asked now, and -2
// if it does not know the other end, or without our end, no listening socket: a server in another network namespace, for example.
int shims_server_users(const char *server, int server_port, const char *own, int own_port, uint32_t users[2]);

// Connects to an address, within a second. Returns the descriptor, closed on exec, or -errno.
int shims_connect(const char *server, int port);

// Gets the address of this end of a connection as text. Returns its port, or -1.
int shims_local_address(int fd, char text[46]);

// Gets the users whose programs have a connection with this address at their own end: each once, at most `capacity`.
// Returns their number, or -1 if the kernel does not report them.
int shims_connected_users(const char *server, int port, uint32_t *users, int capacity);

// Returns 1 if the kernel reports the owners of sockets, else 0. Tries it with a listening socket of this process.
int shims_tells_users(int diagnosis, int listener);

// Creates an event descriptor that starts at 0, non-blocking and closed on exec. Returns it, or -errno.
int shims_event(void);

// Names the calling thread, for debuggers and /proc. The name is cut at 15 bytes.
void shims_name_thread(const char *name);

#endif
