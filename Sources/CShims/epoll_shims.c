#include "epoll_shims.h"

#include <errno.h>
#include <sys/epoll.h>

_Static_assert((int)SHIMS_EPOLL_IN == (int)EPOLLIN && (int)SHIMS_EPOLL_OUT == (int)EPOLLOUT, "data");
_Static_assert(
    (int)SHIMS_EPOLL_ERR == (int)EPOLLERR && (int)SHIMS_EPOLL_HUP == (int)EPOLLHUP && (int)SHIMS_EPOLL_RDHUP == (int)EPOLLRDHUP, "ends");

int shims_epoll(void) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    return epoll < 0 ? -errno : epoll;
}

int shims_epoll_watch(int epoll, int fd, uint32_t events) {
    struct epoll_event event = {.events = events | EPOLLONESHOT, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0) return 0;
    if (errno != ENOENT) return -errno;
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

void shims_epoll_forget(int epoll, int fd) { epoll_ctl(epoll, EPOLL_CTL_DEL, fd, 0); }

int shims_epoll_wait(int epoll, int *fds, uint32_t *events, int capacity, int milliseconds) {
    struct epoll_event found[64];
    int count = epoll_wait(epoll, found, capacity < 64 ? capacity : 64, milliseconds);
    for (int i = 0; i < count; i++) {
        fds[i] = found[i].data.fd;
        events[i] = found[i].events;
    }
    return count < 0 ? 0 : count;
}
