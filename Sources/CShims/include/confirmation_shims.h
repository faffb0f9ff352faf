// Whether a server has taken part in a TCP connection.
#ifndef CONFIRMATION_SHIMS_H
#define CONFIRMATION_SHIMS_H

#include <stdint.h>

// Returns 1 once the other end of a new connection has acknowledged a probe (SO_KEEPALIVE, after a second): then a socket has it. A
// handshake alone proves none: under load, the kernel responds to it from memory of its own (SYN cookies), and makes the socket
// when the first data arrives. Returns 0 if the connection ends meanwhile, or after three seconds.
int shims_is_confirmed(int fd);

#endif
