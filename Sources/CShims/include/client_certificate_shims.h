// A client certificate for TLS whose private key a provider of OpenSSL uses where it is.
#ifndef CLIENT_CERTIFICATE_SHIMS_H
#define CLIENT_CERTIFICATE_SHIMS_H

#include <openssl/evp.h>

struct shims_client_certificate;

// Joins the file of a certificate and its chain, in PEM, with a key of a library context. Both must outlive the result. Returns
// NULL if libssl could not sign with the key.
struct shims_client_certificate *shims_client_certificate_new(const char *file, EVP_PKEY *key, OSSL_LIB_CTX *context);
void shims_client_certificate_free(struct shims_client_certificate *certificate);

// Gives the certificate and the key to an SSL_CTX of the libssl that the process has loaded. Returns 1 if that succeeds.
int shims_client_certificate_use(const struct shims_client_certificate *certificate, void *ssl_context);

#endif
