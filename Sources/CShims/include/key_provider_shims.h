// Private keys that a provider of OpenSSL uses where they are, for example in a TPM.
#ifndef KEY_PROVIDER_SHIMS_H
#define KEY_PROVIDER_SHIMS_H

#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stddef.h>

// Creates a library context with OpenSSL's own provider and this one, whose algorithms the properties prefer. Returns NULL if
// the provider does not start, and whether its library is missing. The context and its keys are for one thread at a time: not
// every provider has locks.
OSSL_LIB_CTX *shims_provider_open(
    const char *name, const char *properties, OSSL_PROVIDER *loaded[2], int *is_missing);
// Frees the context, whose keys are freed already. Without unloading, a provider would keep its connection to the device.
void shims_provider_close(OSSL_LIB_CTX *context, OSSL_PROVIDER *const loaded[2]);

// Opens the private key that a URI names. Returns NULL if there is none, and whether the device has asked for a PIN.
EVP_PKEY *shims_provider_key_at(OSSL_LIB_CTX *context, const char *uri, const char *pin, int *is_asked);
// Reads a private key in a provider's PEM.
EVP_PKEY *shims_provider_key_from_pem(OSSL_LIB_CTX *context, const char *pem, size_t length, const char *pin);
// Generates a key on a curve. With a URI, a token keeps the key under it; the process must be logged in to the token.
EVP_PKEY *shims_provider_ec_generate(OSSL_LIB_CTX *context, const char *group, const char *uri);

#endif
