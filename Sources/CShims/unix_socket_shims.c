#define _GNU_SOURCE
#include "unix_socket_shims.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

int shims_longest_socket_path(void) { return sizeof((struct sockaddr_un *)0)->sun_path - 1; }

static int address_of(const char *path, struct sockaddr_un *address) {
    if (strlen(path) >= sizeof address->sun_path) return ENAMETOOLONG;
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    strcpy(address->sun_path, path);
    return 0;
}

int shims_listen_at(const char *path, int backlog) {
    struct sockaddr_un address;
    int error = address_of(path, &address);
    if (error != 0) return -error;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    // Linux gives the file the socket's mode, less the umask. So other users can never connect.
    if (fchmod(fd, S_IRUSR | S_IWUSR) == 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0) {
        if (listen(fd, backlog) == 0) return fd;
        error = errno;
        unlink(path);
    } else {
        error = errno;
    }
    close(fd);
    return -error;
}

static int set_times(int fd, int milliseconds) {
    struct timeval time = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
    // The limit for sending also applies to connecting, which waits for room in the backlog.
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) != 0) return -1;
    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

int shims_connect_to(const char *path, int milliseconds) {
    struct sockaddr_un address;
    int error = address_of(path, &address);
    if (error != 0) return -error;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    if (set_times(fd, milliseconds) == 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    error = errno;
    close(fd);
    return -error;
}

int shims_peer_credentials(int fd, uint32_t *user) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 || length < sizeof credentials) return -1;
    *user = credentials.uid;
    return 0;
}
