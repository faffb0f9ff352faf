// What Swift cannot import from libcrypto: keys built by OSSL_PARAM (it keeps pointers to strings until
// the end, and Swift's bridged strings do not live that long), variadic key generation, and macros.
#ifndef LIBCRYPTO_SHIMS_H
#define LIBCRYPTO_SHIMS_H

#include <openssl/evp.h>
#include <stddef.h>
#include <stdint.h>

// A digest by its size in bits (256, 384 or 512), fetched once in a process.
const EVP_MD *shims_sha2(int bits);

// Public keys. NULL if libcrypto refuses them, for example a point that is not on its curve.
EVP_PKEY *shims_rsa_public(const uint8_t *n, size_t n_length, const uint8_t *e, size_t e_length);
EVP_PKEY *shims_ec_public(const char *group, const uint8_t *point, size_t point_length);

// New private keys.
EVP_PKEY *shims_rsa_generate(size_t bits);
EVP_PKEY *shims_ec_generate(const char *group);
EVP_PKEY *shims_ed25519_generate(void);
EVP_PKEY *shims_x25519_generate(void);

// The public parts of a key. They return the length, or 0 if it does not fit or the key has none.
size_t shims_rsa_modulus(const EVP_PKEY *key, uint8_t *out, size_t capacity);
size_t shims_rsa_exponent(const EVP_PKEY *key, uint8_t *out, size_t capacity);
// x||y, each of `half` bytes, of a key on the curve that NIST calls `group`.
size_t shims_ec_coordinates(const EVP_PKEY *key, const char *group, uint8_t *out, size_t half);

// Private keys by their numbers. NULL if libcrypto refuses them. RSA: n, e, d, p, q, dp, dq, qi.
EVP_PKEY *shims_rsa_private(const uint8_t *const numbers[8], const size_t lengths[8]);
EVP_PKEY *shims_ec_private(
    const char *group, const uint8_t *point, size_t point_length, const uint8_t *d, size_t d_length);

// Whether the private part belongs to the public one, which libcrypto does not look at when it reads a key.
int shims_is_pair(EVP_PKEY *key);
// Whether an RSA key has more than two primes (RFC 8017 section 3.2).
int shims_rsa_has_third_prime(const EVP_PKEY *key);

// A PEM private key (PKCS#8, PKCS#1 or SEC 1). An encrypted one needs its passphrase: nobody is asked.
EVP_PKEY *shims_private_key_from_pem(const char *pem, size_t length, const char *passphrase);
// PKCS#8 PEM, or 0. Call with NULL for the length.
size_t shims_private_key_to_pem(const EVP_PKEY *key, char *out, size_t capacity);

// ECDSA signatures between r||s (RFC 7518 section 3.4) and DER. They return the length, or 0.
size_t shims_ecdsa_to_der(const uint8_t *raw, size_t raw_length, uint8_t *out, size_t capacity);
size_t shims_ecdsa_from_der(const uint8_t *der, size_t der_length, uint8_t *out, size_t raw_length);

#endif
