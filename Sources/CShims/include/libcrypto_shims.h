// What Swift cannot import from libcrypto: keys from OSSL_PARAM (it keeps pointers to strings, and Swift's bridged strings
// do not live long enough), variadic key generation, and macros.
#ifndef LIBCRYPTO_SHIMS_H
#define LIBCRYPTO_SHIMS_H

#include <openssl/evp.h>
#include <stddef.h>
#include <stdint.h>

// Returns a digest by its size in bits (256, 384 or 512). It is fetched once in a process.
const EVP_MD *shims_sha2(int bits);

// Create public keys. Return NULL if libcrypto rejects the key, for example a point that is not on its curve.
EVP_PKEY *shims_rsa_public(const uint8_t *n, size_t n_length, const uint8_t *e, size_t e_length);
EVP_PKEY *shims_ec_public(const char *group, const uint8_t *point, size_t point_length);

// Generate private keys.
EVP_PKEY *shims_rsa_generate(size_t bits);
EVP_PKEY *shims_ec_generate(const char *group);
EVP_PKEY *shims_ed25519_generate(void);
EVP_PKEY *shims_ml_dsa_generate(const char *name);
// Creates a private key of ML-DSA from its seed.
EVP_PKEY *shims_ml_dsa_private(const char *name, const uint8_t *seed, size_t seed_length);
EVP_PKEY *shims_x25519_generate(void);

// Write the public part of a key. Return its length, or 0 if it does not fit or the key has none.
size_t shims_rsa_modulus(const EVP_PKEY *key, uint8_t *out, size_t capacity);
size_t shims_rsa_exponent(const EVP_PKEY *key, uint8_t *out, size_t capacity);
// Writes x||y, `half` bytes each, of a key on the NIST curve `group`.
size_t shims_ec_coordinates(const EVP_PKEY *key, const char *group, uint8_t *out, size_t half);

// Create private keys from their numbers. Return NULL if libcrypto rejects them. RSA: n, e, d, p, q, dp, dq, qi.
EVP_PKEY *shims_rsa_private(const uint8_t *const numbers[8], const size_t lengths[8]);
EVP_PKEY *shims_ec_private(
    const char *group, const uint8_t *point, size_t point_length, const uint8_t *d, size_t d_length);

// Returns whether the private part belongs to the public one. libcrypto does not check this when it reads a key.
int shims_is_pair(EVP_PKEY *key);
// Returns whether an RSA key has more than two primes (RFC 8017 section 3.2).
int shims_rsa_has_third_prime(const EVP_PKEY *key);

// Reads a PEM private key (PKCS#8, PKCS#1 or SEC 1). An encrypted one needs its passphrase: there is no prompt.
EVP_PKEY *shims_private_key_from_pem(const char *pem, size_t length, const char *passphrase);
// Writes a key as PKCS#8 PEM and returns the length, or 0. Call it with NULL to get the length.
size_t shims_private_key_to_pem(const EVP_PKEY *key, char *out, size_t capacity);

// Convert ECDSA signatures between r||s (RFC 7518 section 3.4) and DER. Return the length, or 0.
size_t shims_ecdsa_to_der(const uint8_t *raw, size_t raw_length, uint8_t *out, size_t capacity);
size_t shims_ecdsa_from_der(const uint8_t *der, size_t der_length, uint8_t *out, size_t raw_length);

#endif
