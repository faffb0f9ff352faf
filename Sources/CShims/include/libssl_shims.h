// The server side of TLS, by the system's libssl. It is opened with dlopen, since few programs need it. TLS works on memory:
// the caller moves the bytes between it and the socket.
#ifndef LIBSSL_SHIMS_H
#define LIBSSL_SHIMS_H

#include <stddef.h>
#include <stdint.h>

// A certificate with its key, and libssl.
struct shims_tls;
// A connection, which must end before its certificate does. Functions that get NULL fail.
struct shims_tls_session;

enum shims_tls_problem {
    SHIMS_TLS_NO_LIBRARY,
    SHIMS_TLS_NO_CERTIFICATE,
    SHIMS_TLS_NO_KEY,
    SHIMS_TLS_OTHER_KEY,
    // libssl refuses the certificate or the key, for example because it is too short.
    SHIMS_TLS_REFUSED,
};

// Reads a certificate with its chain, and its key, both in PEM and not encrypted. Returns NULL if there is a problem, which
// `text` describes if libssl or the loader does.
struct shims_tls *shims_tls_new(
    const uint8_t *chain, size_t chain_length, const uint8_t *key, size_t key_length, enum shims_tls_problem *problem,
    char *text, size_t capacity);
void shims_tls_free(struct shims_tls *tls);

// Returns whether the certificate is for a host: a name, or an address without brackets.
int shims_tls_is_for(const struct shims_tls *tls, const char *host);
// Returns -1 if the certificate is not valid yet, 1 if it has expired, and 0 otherwise.
int shims_tls_age(const struct shims_tls *tls);

struct shims_tls_session *shims_tls_session_new(const struct shims_tls *tls);
void shims_tls_session_free(struct shims_tls_session *session);

// Takes bytes that the socket has received. Returns 0 if there is no memory.
int shims_tls_put(struct shims_tls_session *session, const uint8_t *bytes, size_t length);
// Returns bytes for the socket, or 0 if there are none.
size_t shims_tls_take(struct shims_tls_session *session, uint8_t *out, size_t capacity);

enum { SHIMS_TLS_ENDED = 0, SHIMS_TLS_NEEDS_MORE = -1, SHIMS_TLS_BROKEN = -2, SHIMS_TLS_CERTIFICATE_REFUSED = -3 };
// Continues the handshake, and then reads plain text. Returns the number of bytes, or one of the values above.
int shims_tls_read(struct shims_tls_session *session, uint8_t *out, int capacity);
// Writes plain text, and ends this side. Returns 0 on failure.
int shims_tls_write(struct shims_tls_session *session, const uint8_t *bytes, size_t length);

#endif
