#include "libssl_shims.h"
#include "libcrypto_shims.h"

#include <dlfcn.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS(X)                                                                                            \
    X(TLS_server_method) X(SSL_CTX_new) X(SSL_CTX_free) X(SSL_CTX_ctrl) X(SSL_CTX_set_options)                  \
    X(SSL_CTX_set_num_tickets) X(SSL_CTX_use_cert_and_key) X(SSL_new) X(SSL_free) X(SSL_set_bio)                \
    X(SSL_set_accept_state) X(SSL_read) X(SSL_write) X(SSL_shutdown) X(SSL_get_error)

struct shims_tls {
#define MEMBER(function) __typeof__(function) *function;
    FUNCTIONS(MEMBER)
#undef MEMBER
    SSL_CTX *context;
    X509 *certificate;
};

struct shims_tls_session {
    const struct shims_tls *tls;
    SSL *ssl;
    // The session frees both.
    BIO *incoming, *outgoing;
};

// Of the version of the libcrypto that this program is linked with.
#define LIBRARY "libssl.so." OPENSSL_MSTR(OPENSSL_SHLIB_VERSION)

static int open_library(struct shims_tls *tls, char *text, size_t capacity) {
    void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(text, capacity, "%s", dlerror());
        return 0;
    }
    const char *missing = NULL;
#define FIND(function)                                                              \
    tls->function = (__typeof__(tls->function))dlsym(library, #function);           \
    if (tls->function == NULL) missing = #function;
    FUNCTIONS(FIND)
#undef FIND
    if (missing != NULL) snprintf(text, capacity, "%s has no %s", LIBRARY, missing);
    return missing == NULL;
}

// Gives libssl the certificates and the key. The first certificate is the server's own.
static int use(struct shims_tls *tls, BIO *chain, EVP_PKEY *key, enum shims_tls_problem *problem) {
    STACK_OF(X509) *others = sk_X509_new_null();
    *problem = SHIMS_TLS_NO_CERTIFICATE;
    tls->certificate = PEM_read_bio_X509(chain, NULL, NULL, NULL);
    int ok = tls->certificate != NULL && others != NULL;
    for (X509 *next; ok && (next = PEM_read_bio_X509(chain, NULL, NULL, NULL)) != NULL;)
        if ((ok = sk_X509_push(others, next) > 0) == 0) X509_free(next);
    if (ok && key == NULL) *problem = SHIMS_TLS_NO_KEY;
    ok = ok && key != NULL;
    if (ok && X509_check_private_key(tls->certificate, key) != 1) {
        *problem = SHIMS_TLS_OTHER_KEY;
        ok = 0;
    }
    // The end of the chain is an error in the queue.
    ERR_clear_error();
    *problem = ok ? SHIMS_TLS_REFUSED : *problem;
    ok = ok && (tls->context = tls->SSL_CTX_new(tls->TLS_server_method())) != NULL
        && tls->SSL_CTX_ctrl(tls->context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL) == 1
        && tls->SSL_CTX_use_cert_and_key(tls->context, tls->certificate, key, others, 1) == 1;
    sk_X509_pop_free(others, X509_free);
    return ok;
}

struct shims_tls *shims_tls_new(
    const uint8_t *chain, size_t chain_length, const uint8_t *key, size_t key_length, enum shims_tls_problem *problem,
    char *text, size_t capacity) {
    struct shims_tls *tls = calloc(1, sizeof *tls);
    *problem = SHIMS_TLS_NO_LIBRARY;
    if (tls == NULL) return NULL;
    int ok = chain_length <= INT_MAX && open_library(tls, text, capacity);
    if (ok) {
        BIO *source = BIO_new_mem_buf(chain, (int)chain_length);
        EVP_PKEY *private = shims_private_key_from_pem((const char *)key, key_length, NULL);
        ok = source != NULL && use(tls, source, private, problem);
        EVP_PKEY_free(private);
        BIO_free(source);
        const char *reason = ERR_reason_error_string(ERR_peek_error());
        if (!ok && reason != NULL) snprintf(text, capacity, "%s", reason);
        ERR_clear_error();
    }
    if (!ok) {
        shims_tls_free(tls);
        return NULL;
    }
    // A connection brings one request, so nothing is resumed, and a client cannot demand another handshake.
    tls->SSL_CTX_set_options(tls->context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    tls->SSL_CTX_set_num_tickets(tls->context, 0);
    tls->SSL_CTX_ctrl(tls->context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
    return tls;
}

void shims_tls_free(struct shims_tls *tls) {
    if (tls->context != NULL) tls->SSL_CTX_free(tls->context);
    X509_free(tls->certificate);
    free(tls);
}

int shims_tls_is_for(const struct shims_tls *tls, const char *host) {
    int result = X509_check_ip_asc(tls->certificate, host, 0);
    // No address. Browsers ignore the name in the subject (RFC 9525 section 2).
    if (result == -2) result = X509_check_host(tls->certificate, host, 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, NULL);
    ERR_clear_error();
    return result == 1;
}

int shims_tls_age(const struct shims_tls *tls) {
    if (X509_cmp_current_time(X509_get0_notBefore(tls->certificate)) > 0) return -1;
    return X509_cmp_current_time(X509_get0_notAfter(tls->certificate)) < 0;
}

struct shims_tls_session *shims_tls_session_new(const struct shims_tls *tls) {
    struct shims_tls_session *session = calloc(1, sizeof *session);
    SSL *ssl = tls->SSL_new(tls->context);
    BIO *incoming = BIO_new(BIO_s_mem()), *outgoing = BIO_new(BIO_s_mem());
    if (session == NULL || ssl == NULL || incoming == NULL || outgoing == NULL) {
        BIO_free(incoming);
        BIO_free(outgoing);
        tls->SSL_free(ssl);
        free(session);
        return NULL;
    }
    tls->SSL_set_bio(ssl, incoming, outgoing);
    tls->SSL_set_accept_state(ssl);
    *session = (struct shims_tls_session){tls, ssl, incoming, outgoing};
    return session;
}

void shims_tls_session_free(struct shims_tls_session *session) {
    if (session != NULL) session->tls->SSL_free(session->ssl);
    free(session);
}

int shims_tls_put(struct shims_tls_session *session, const uint8_t *bytes, size_t length) {
    return session != NULL && BIO_write(session->incoming, bytes, (int)length) == (int)length;
}

size_t shims_tls_take(struct shims_tls_session *session, uint8_t *out, size_t capacity) {
    int count = session == NULL ? 0 : BIO_read(session->outgoing, out, capacity > INT_MAX ? INT_MAX : (int)capacity);
    return count > 0 ? (size_t)count : 0;
}

int shims_tls_read(struct shims_tls_session *session, uint8_t *out, int capacity) {
    if (session == NULL) return SHIMS_TLS_BROKEN;
    ERR_clear_error();
    int count = session->tls->SSL_read(session->ssl, out, capacity);
    if (count > 0) return count;
    int error = session->tls->SSL_get_error(session->ssl, count);
    // The reason for an alert of the peer is its number and an offset. 42 to 48 concern the certificate, except for 47 (RFC
    // 8446 section 6).
    unsigned long reason = ERR_peek_error();
    int alert = ERR_GET_LIB(reason) == ERR_LIB_SSL ? ERR_GET_REASON(reason) - SSL_AD_REASON_OFFSET : 0;
    ERR_clear_error();
    if (error == SSL_ERROR_WANT_READ) return SHIMS_TLS_NEEDS_MORE;
    if (error == SSL_ERROR_ZERO_RETURN) return SHIMS_TLS_ENDED;
    return alert >= 42 && alert <= 48 && alert != 47 ? SHIMS_TLS_CERTIFICATE_REFUSED : SHIMS_TLS_BROKEN;
}

int shims_tls_write(struct shims_tls_session *session, const uint8_t *bytes, size_t length) {
    if (session == NULL || length > INT_MAX) return 0;
    int ok = session->tls->SSL_write(session->ssl, bytes, (int)length) == (int)length;
    if (ok) session->tls->SSL_shutdown(session->ssl);
    ERR_clear_error();
    return ok;
}
