#define _GNU_SOURCE
#include "socket_shims.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t loopback(int family, uint16_t port, union address *address) {
    memset(address, 0, sizeof *address);
    if (family == AF_INET6) {
        address->v6.sin6_family = AF_INET6;
        address->v6.sin6_port = htons(port);
        address->v6.sin6_addr = in6addr_loopback;
        return sizeof address->v6;
    }
    address->v4.sin_family = AF_INET;
    address->v4.sin_port = htons(port);
    address->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return sizeof address->v4;
}

static int bind_and_listen(int fd, int family, uint16_t port, int backlog, uint16_t *bound) {
    union address address;
    socklen_t length = loopback(family, port, &address);
    int on = 1;
    if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) return -1;
    // A port must be free again at once, although connections of the last sign-in are still in TIME_WAIT (this side
    // closes first). On Linux, this option never lets two sockets listen on one port, and port 0 still gives an unused
    // port.
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) return -1;
    if (bind(fd, &address.any, length) != 0 || listen(fd, backlog) != 0) return -1;
    if (getsockname(fd, &address.any, &length) != 0) return -1;
    *bound = ntohs(family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
    return 0;
}

int shims_listen_loopback(int family, uint16_t port, int backlog, uint16_t *bound) {
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    if (bind_and_listen(fd, family, port, backlog, bound) == 0) return fd;
    int error = errno;
    close(fd);
    return -error;
}

int shims_listening_family(int fd, uint16_t *port) {
    union address address;
    socklen_t length = sizeof address;
    int is_listening = 0;
    socklen_t size = sizeof is_listening;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) != 0 || !is_listening) return -1;
    if (getsockname(fd, &address.any, &length) != 0) return -1;
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return -1;
    switch (address.any.sa_family) {
    case AF_UNIX: return AF_UNIX;
    case AF_INET:
        *port = ntohs(address.v4.sin_port);
        return ntohl(address.v4.sin_addr.s_addr) >> 24 == 127 ? AF_INET : -1;
    case AF_INET6:
        *port = ntohs(address.v6.sin6_port);
        return IN6_IS_ADDR_LOOPBACK(&address.v6.sin6_addr) ? AF_INET6 : -1;
    default: return -1;
    }
}

int shims_accept(int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int shims_local_port(int fd) {
    union address address;
    socklen_t length = sizeof address;
    if (getsockname(fd, &address.any, &length) != 0) return -1;
    switch (address.any.sa_family) {
    case AF_INET: return ntohs(address.v4.sin_port);
    case AF_INET6: return ntohs(address.v6.sin6_port);
    default: return -1;
    }
}

void shims_end_sending(int fd) { shutdown(fd, SHUT_WR); }

void shims_end(int fd) {
    shutdown(fd, SHUT_RDWR);
    close(fd);
}

// Asks the kernel about the socket with these two addresses (sock_diag(7)).
static int ask(int diagnosis, uint32_t number, const union address *local, const union address *remote) {
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } request = {
        .head = {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST,
                 .nlmsg_seq = number},
        .body = {.sdiag_family = local->any.sa_family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u,
                 .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
                 // Any user can bind a socket to the loopback interface, which is always the first one. It is found only so,
                 // and all others too.
                 .id.idiag_if = 1},
    };
    struct inet_diag_sockid *id = &request.body.id;
    if (local->any.sa_family == AF_INET6) {
        id->idiag_sport = local->v6.sin6_port;
        id->idiag_dport = remote->v6.sin6_port;
        memcpy(id->idiag_src, &local->v6.sin6_addr, sizeof local->v6.sin6_addr);
        memcpy(id->idiag_dst, &remote->v6.sin6_addr, sizeof remote->v6.sin6_addr);
    } else {
        id->idiag_sport = local->v4.sin_port;
        id->idiag_dport = remote->v4.sin_port;
        id->idiag_src[0] = local->v4.sin_addr.s_addr;
        id->idiag_dst[0] = remote->v4.sin_addr.s_addr;
    }
    return send(diagnosis, &request, sizeof request, 0) == sizeof request ? 0 : -1;
}

int shims_open_diagnosis(void) {
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    return fd < 0 ? -errno : fd;
}

static int user_of(int diagnosis, const union address *local, const union address *remote, uint32_t *user) {
    struct {
        struct nlmsghdr head;
        struct inet_diag_msg body;
        char attributes[512];
    } answer;
    // Several threads may share the socket, and must not take each other's answers.
    static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
    static uint32_t number = 0;
    int result = -1;
    pthread_mutex_lock(&asking);
    // Discards the rest of an earlier response, which would be taken for the response to this request.
    while (recv(diagnosis, &answer, sizeof answer, MSG_DONTWAIT) > 0) {}
    // The kernel responds before the send of the request returns. A response that is missing then does not come.
    if (ask(diagnosis, ++number, local, remote) == 0) {
        ssize_t count = recv(diagnosis, &answer, sizeof answer, MSG_DONTWAIT);
        // Without such a connection, the kernel answers with a socket that listens at the same address.
        int listens = answer.body.idiag_state == TCP_LISTEN;
        if (count >= (ssize_t)NLMSG_LENGTH(sizeof answer.body) && answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY
            && answer.head.nlmsg_seq == number && answer.body.id.idiag_sport == local->v4.sin_port
            && listens == (remote->v4.sin_port == 0)) {
            // A socket that its process has closed has no inode and no owner.
            *user = answer.body.idiag_inode != 0 ? answer.body.idiag_uid : UINT32_MAX;
            result = 0;
        }
    }
    pthread_mutex_unlock(&asking);
    return result;
}

int shims_peer_user(int diagnosis, int fd, uint32_t *user) {
    union address ours, theirs;
    socklen_t length = sizeof ours;
    if (getsockname(fd, &ours.any, &length) != 0) return -1;
    length = sizeof theirs;
    if (getpeername(fd, &theirs.any, &length) != 0) return -1;
    return user_of(diagnosis, &theirs, &ours, user);
}

static int parse(const char *text, int port, union address *address) {
    memset(address, 0, sizeof *address);
    if (inet_pton(AF_INET, text, &address->v4.sin_addr) == 1) {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons((uint16_t)port);
        return 0;
    }
    if (inet_pton(AF_INET6, text, &address->v6.sin6_addr) != 1) return -1;
    address->v6.sin6_family = AF_INET6;
    address->v6.sin6_port = htons((uint16_t)port);
    return 0;
}

int shims_server_users(const char *server, int server_port, const char *own, int own_port, uint32_t users[2]) {
    union address theirs, ours, none;
    memset(&none, 0, sizeof none);
    if (parse(server, server_port, &theirs) != 0 || (own && parse(own, own_port, &ours) != 0)) return 0;
    int diagnosis = shims_open_diagnosis();
    // Without descriptors or memory, it is not known whose server it is. Any other failure is a kernel that tells nothing.
    if (diagnosis == -EMFILE || diagnosis == -ENFILE || diagnosis == -ENOMEM || diagnosis == -ENOBUFS) return -1;
    if (diagnosis < 0) return 0;
    uint32_t end = UINT32_MAX, listener = UINT32_MAX;
    int is_known = own && user_of(diagnosis, &theirs, &ours, &end) == 0;
    // The kernel may name a thread of its own for a connection (AF_SMC), so both count.
    int count = user_of(diagnosis, &theirs, &none, &listener) == 0 && listener != UINT32_MAX;
    if (count) users[0] = listener;
    // A connection that waits to be accepted has no owner yet: it ends with the socket that listens, unless that one was closed
    // after it had accepted the connection meanwhile.
    if (own && end == UINT32_MAX && user_of(diagnosis, &theirs, &ours, &end) == 0) is_known = 1;
    close(diagnosis);
    // Then the socket that listens says nothing about whoever gets the connection.
    if (own && !is_known) return -2;
    if (end != UINT32_MAX) users[count++] = end;
    return count > 0 ? count : is_known ? -1 : -2;
}

int shims_connect(const char *server, int port) {
    union address address;
    if (parse(server, port, &address) != 0) return -EINVAL;
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    struct timeval limit = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    int result;
    do result = connect(fd, &address.any, sizeof address);
    while (result != 0 && errno == EINTR);
    if (result == 0 || errno == EISCONN) return fd;
    int error = errno;
    close(fd);
    return -error;
}

int shims_local_address(int fd, char text[46]) {
    union address address;
    socklen_t length = sizeof address;
    if (getsockname(fd, &address.any, &length) != 0) return -1;
    const void *own = address.any.sa_family == AF_INET ? (void *)&address.v4.sin_addr : &address.v6.sin6_addr;
    return inet_ntop(address.any.sa_family, own, text, 46) ? ntohs(address.v4.sin_port) : -1;
}

// Whether the address and port of a dumped socket are these, also as the kernel maps IPv4 to IPv6. The kernel does not select
// all kinds of sockets by their port.
static int is_at(const struct inet_diag_msg *socket, const union address *address) {
    // Both structures have the port at the same place.
    if (socket->id.idiag_sport != address->v4.sin_port) return 0;
    if (address->any.sa_family == AF_INET6)
        return socket->idiag_family == AF_INET6
            && memcmp(socket->id.idiag_src, &address->v6.sin6_addr, sizeof address->v6.sin6_addr) == 0;
    const uint32_t mapped[3] = {0, 0, htonl(0xFFFF)};
    uint32_t v4 = address->v4.sin_addr.s_addr;
    if (socket->idiag_family == AF_INET) return socket->id.idiag_src[0] == v4;
    return memcmp(socket->id.idiag_src, mapped, sizeof mapped) == 0 && socket->id.idiag_src[3] == v4;
}

int shims_connected_users(const char *server, int port, uint32_t *users, int capacity) {
    union address address;
    if (parse(server, port, &address) != 0) return -1;
    int diagnosis = shims_open_diagnosis();
    if (diagnosis < 0) return -1;
    int count = 0;
    for (int turn = 0; turn < 2 && count >= 0; turn++) {
        struct {
            struct nlmsghdr head;
            struct inet_diag_req_v2 body;
        } request = {
            .head = {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                     .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
            // A socket that listens, or that is only bound (state 13, TCP_BOUND_INACTIVE), has no connection.
            .body = {.sdiag_family = turn == 0 ? AF_INET : AF_INET6, .sdiag_protocol = IPPROTO_TCP,
                     .idiag_states = ~(1u << TCP_LISTEN | 1u << TCP_CLOSE | 1u << 13),
                     .id.idiag_sport = htons((uint16_t)port)},
        };
        if (send(diagnosis, &request, sizeof request, 0) != sizeof request) count = -1;
        for (int is_done = 0; !is_done && count >= 0;) {
            _Alignas(struct nlmsghdr) char buffer[32768];
            ssize_t length = recv(diagnosis, buffer, sizeof buffer, MSG_DONTWAIT);
            if (length <= 0) count = -1;
            for (struct nlmsghdr *head = (void *)buffer; count >= 0 && NLMSG_OK(head, length);
                 head = NLMSG_NEXT(head, length)) {
                if (head->nlmsg_type == NLMSG_ERROR) count = -1;
                if (head->nlmsg_type == NLMSG_DONE) is_done = 1;
                if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY) continue;
                const struct inet_diag_msg *socket = NLMSG_DATA(head);
                // A socket that its process has closed has no inode and no owner.
                if (socket->idiag_inode == 0 || !is_at(socket, &address)) continue;
                int known = 0;
                while (known < count && users[known] != socket->idiag_uid) known++;
                if (known < count || count == capacity) continue;
                users[count++] = socket->idiag_uid;
            }
        }
    }
    close(diagnosis);
    return count;
}

int shims_tells_users(int diagnosis, int listener) {
    union address ours, none;
    socklen_t length = sizeof ours;
    if (getsockname(listener, &ours.any, &length) != 0) return 0;
    // A listening socket has no other end.
    memset(&none, 0, sizeof none);
    uint32_t user = UINT32_MAX;
    return user_of(diagnosis, &ours, &none, &user) == 0 && user == geteuid();
}

int shims_event(void) {
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

void shims_name_thread(const char *name) {
    char cut[16];
    strncpy(cut, name, sizeof cut - 1);
    cut[sizeof cut - 1] = '\0';
    pthread_setname_np(pthread_self(), cut);
}
