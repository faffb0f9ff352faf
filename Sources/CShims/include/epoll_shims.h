// epoll(7), which Swift's Glibc module does not have.
#ifndef EPOLL_SHIMS_H
#define EPOLL_SHIMS_H

#include <stdint.h>

enum shims_epoll_event {
    SHIMS_EPOLL_IN = 0x001,
    SHIMS_EPOLL_OUT = 0x004,
    SHIMS_EPOLL_ERR = 0x008,
    SHIMS_EPOLL_HUP = 0x010,
    SHIMS_EPOLL_RDHUP = 0x2000,  // the peer has ended its sending side
};

// Creates an epoll instance, closed on exec. Returns the descriptor, or -errno.
int shims_epoll(void);

// Watches a socket for events, once: until the next one is reported. Replaces what was watched for before. Returns 0, or -errno.
int shims_epoll_watch(int epoll, int fd, uint32_t events);

// Ends watching a socket. Must be called before the descriptor is closed: a child that another thread is starting may have a
// copy of it, and with it of the registration.
void shims_epoll_forget(int epoll, int fd);

// Waits for events. A negative limit is none. Returns the number of sockets with events, at most `capacity`.
int shims_epoll_wait(int epoll, int *fds, uint32_t *events, int capacity, int milliseconds);

#endif
