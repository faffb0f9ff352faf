#ifndef LOCAL_PROVIDER_CLIBSSL_H
#define LOCAL_PROVIDER_CLIBSSL_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

// RFC 8705 §2.2, §3: a token is bound to the certificate itself, not to its issuer.
static inline int clibssl_accept_any(int is_trusted, X509_STORE_CTX *store) {
    (void)is_trusted;
    (void)store;
    return 1;
}

// Swift cannot import these macros. Returns NULL if a file is malformed.
static inline SSL_CTX *clibssl_server_context(const char *certificate, const char *key) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL) return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    // The client presents its certificate on each connection.
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, clibssl_accept_any);
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
        SSL_CTX_free(context);
        ERR_clear_error();
        return NULL;
    }
    return context;
}

#endif
