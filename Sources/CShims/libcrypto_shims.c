#include "libcrypto_shims.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

// At exit, libcrypto would free memory that other threads still use to verify signatures, and the program would end by
// SIGSEGV. The first initialization counts, so this runs when the library is loaded. See OPENSSL_init_crypto(3).
__attribute__((constructor)) static void outlive_exit(void) { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); }

static const EVP_MD *sha256, *sha384, *sha512;
static pthread_once_t fetched = PTHREAD_ONCE_INIT;

static void fetch(void) {
    sha256 = EVP_MD_fetch(NULL, "SHA2-256", NULL);
    sha384 = EVP_MD_fetch(NULL, "SHA2-384", NULL);
    sha512 = EVP_MD_fetch(NULL, "SHA2-512", NULL);
}

const EVP_MD *shims_sha2(int bits) {
    pthread_once(&fetched, fetch);
    return bits == 256 ? sha256 : bits == 384 ? sha384 : bits == 512 ? sha512 : NULL;
}

static EVP_PKEY *key_from(const char *type, int selection, OSSL_PARAM_BLD *builder) {
    EVP_PKEY *key = NULL;
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (params == NULL || context == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &key, selection, params) != 1) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
    return key;
}

static EVP_PKEY *public_key(const char *type, OSSL_PARAM_BLD *builder) {
    return key_from(type, EVP_PKEY_PUBLIC_KEY, builder);
}

int shims_is_pair(EVP_PKEY *key) {
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    int ok = context != NULL && EVP_PKEY_pairwise_check(context) == 1;
    EVP_PKEY_CTX_free(context);
    return ok;
}

int shims_rsa_has_third_prime(const EVP_PKEY *key) {
    BIGNUM *prime = NULL;
    int found = EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_FACTOR3, &prime) == 1;
    BN_clear_free(prime);
    return found;
}

EVP_PKEY *shims_rsa_private(const uint8_t *const numbers[8], const size_t lengths[8]) {
    static const char *const names[8] = {
        OSSL_PKEY_PARAM_RSA_N,       OSSL_PKEY_PARAM_RSA_E,         OSSL_PKEY_PARAM_RSA_D,
        OSSL_PKEY_PARAM_RSA_FACTOR1, OSSL_PKEY_PARAM_RSA_FACTOR2,   OSSL_PKEY_PARAM_RSA_EXPONENT1,
        OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
    };
    BIGNUM *values[8] = {NULL};
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    int ok = builder != NULL;
    for (int i = 0; i < 8 && ok; i++) {
        // Private numbers are in secure memory, which libcrypto wipes.
        values[i] = lengths[i] > 2048 ? NULL : i < 2 ? BN_new() : BN_secure_new();
        ok = values[i] != NULL && BN_bin2bn(numbers[i], (int)lengths[i], values[i]) != NULL &&
             OSSL_PARAM_BLD_push_BN(builder, names[i], values[i]) == 1;
    }
    EVP_PKEY *key = ok ? key_from("RSA", EVP_PKEY_KEYPAIR, builder) : NULL;
    OSSL_PARAM_BLD_free(builder);
    for (int i = 0; i < 8; i++) BN_clear_free(values[i]);
    return key;
}

EVP_PKEY *shims_ec_private(
    const char *group, const uint8_t *point, size_t point_length, const uint8_t *d, size_t d_length) {
    BIGNUM *secret = BN_secure_new();
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;
    if (builder != NULL && secret != NULL && d_length <= 66 && BN_bin2bn(d, (int)d_length, secret) != NULL &&
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, group, 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, point_length) == 1 &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, secret) == 1)
        key = key_from("EC", EVP_PKEY_KEYPAIR, builder);
    OSSL_PARAM_BLD_free(builder);
    BN_clear_free(secret);
    return key;
}

EVP_PKEY *shims_rsa_public(const uint8_t *n, size_t n_length, const uint8_t *e, size_t e_length) {
    EVP_PKEY *key = NULL;
    if (n_length > INT_MAX || e_length > INT_MAX) return NULL;
    BIGNUM *modulus = BN_bin2bn(n, (int)n_length, NULL), *exponent = BN_bin2bn(e, (int)e_length, NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    if (modulus != NULL && exponent != NULL && builder != NULL &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent) == 1)
        key = public_key("RSA", builder);
    OSSL_PARAM_BLD_free(builder);
    BN_free(modulus);
    BN_free(exponent);
    return key;
}

EVP_PKEY *shims_ec_public(const char *group, const uint8_t *point, size_t point_length) {
    EVP_PKEY *key = NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    if (builder != NULL && OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, group, 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, point_length) == 1)
        key = public_key("EC", builder);
    OSSL_PARAM_BLD_free(builder);
    return key;
}

EVP_PKEY *shims_ml_dsa_private(const char *name, const uint8_t *seed, size_t seed_length) {
    EVP_PKEY *key = NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    // OSSL_PKEY_PARAM_ML_DSA_SEED, which older headers lack.
    if (builder != NULL && OSSL_PARAM_BLD_push_octet_string(builder, "seed", seed, seed_length) == 1)
        key = key_from(name, EVP_PKEY_KEYPAIR, builder);
    OSSL_PARAM_BLD_free(builder);
    return key;
}

EVP_PKEY *shims_rsa_generate(size_t bits) { return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", bits); }
EVP_PKEY *shims_ec_generate(const char *group) { return EVP_PKEY_Q_keygen(NULL, NULL, "EC", group); }
EVP_PKEY *shims_ed25519_generate(void) { return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"); }
EVP_PKEY *shims_ml_dsa_generate(const char *name) { return EVP_PKEY_Q_keygen(NULL, NULL, name); }
EVP_PKEY *shims_x25519_generate(void) { return EVP_PKEY_Q_keygen(NULL, NULL, "X25519"); }

static size_t big_number(const EVP_PKEY *key, const char *name, uint8_t *out, size_t capacity) {
    BIGNUM *number = NULL;
    size_t length = 0;
    if (EVP_PKEY_get_bn_param(key, name, &number) == 1 && (size_t)BN_num_bytes(number) <= capacity)
        length = (size_t)BN_bn2bin(number, out);
    BN_free(number);
    return length;
}

size_t shims_rsa_modulus(const EVP_PKEY *key, uint8_t *out, size_t capacity) {
    return big_number(key, OSSL_PKEY_PARAM_RSA_N, out, capacity);
}

size_t shims_rsa_exponent(const EVP_PKEY *key, uint8_t *out, size_t capacity) {
    return big_number(key, OSSL_PKEY_PARAM_RSA_E, out, capacity);
}

size_t shims_ec_coordinates(const EVP_PKEY *key, const char *group, uint8_t *out, size_t half) {
    char name[64] = "";
    BIGNUM *x = NULL, *y = NULL;
    int ok = EVP_PKEY_get_group_name(key, name, sizeof name, NULL) == 1 && OBJ_sn2nid(name) == EC_curve_nist2nid(group) &&
             EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_PUB_X, &x) == 1 &&
             EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_PUB_Y, &y) == 1 &&
             BN_bn2binpad(x, out, (int)half) == (int)half && BN_bn2binpad(y, out + half, (int)half) == (int)half;
    BN_free(x);
    BN_free(y);
    if (ok || OBJ_sn2nid(name) != EC_curve_nist2nid(group)) return ok ? 2 * half : 0;
    // For a key that is found on a token, pkcs11-provider exports the uncompressed point, and has no coordinates.
    OSSL_PARAM *exported = NULL;
    const void *point = NULL;
    size_t length = 0;
    ok = EVP_PKEY_todata(key, EVP_PKEY_PUBLIC_KEY, &exported) == 1
        && OSSL_PARAM_get_octet_string_ptr(OSSL_PARAM_locate_const(exported, OSSL_PKEY_PARAM_PUB_KEY), &point, &length) == 1
        && length == 2 * half + 1 && *(const uint8_t *)point == 4;
    if (ok) memcpy(out, (const uint8_t *)point + 1, 2 * half);
    OSSL_PARAM_free(exported);
    ERR_clear_error();
    return ok ? 2 * half : 0;
}

// Without a callback, libcrypto would prompt on the terminal.
static int passphrase_of(char *buffer, int size, int writing, void *passphrase) {
    (void)writing;
    size_t length = passphrase == NULL ? 0 : strlen(passphrase);
    if (passphrase == NULL || length > (size_t)size) return -1;
    memcpy(buffer, passphrase, length);
    return (int)length;
}

EVP_PKEY *shims_private_key_from_pem(const char *pem, size_t length, const char *passphrase) {
    BIO *bio = length > INT_MAX ? NULL : BIO_new_mem_buf(pem, (int)length);
    EVP_PKEY *key = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, passphrase_of, (void *)passphrase);
    BIO_free(bio);
    return key;
}

size_t shims_private_key_to_pem(const EVP_PKEY *key, char *out, size_t capacity) {
    char *data = NULL;
    size_t length = 0;
    BIO *bio = BIO_new(BIO_s_secmem());
    if (bio != NULL && PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1)
        length = (size_t)BIO_get_mem_data(bio, &data);
    if (length > 0 && out != NULL && length <= capacity) memcpy(out, data, length);
    BIO_free(bio);
    return length;
}

// Writes a number in DER: without leading zeros, except one before a bit that would make it negative.
static size_t der_integer(const uint8_t *number, size_t length, uint8_t *out) {
    while (length > 1 && number[0] == 0) number++, length--;
    size_t pad = number[0] >> 7;
    out[0] = 0x02;
    out[1] = (uint8_t)(length + pad);
    out[2] = 0;
    memcpy(out + 2 + pad, number, length);
    return 2 + pad + length;
}

size_t shims_ecdsa_to_der(const uint8_t *raw, size_t raw_length, uint8_t *out, size_t capacity) {
    uint8_t body[2 * (3 + 66)];
    size_t half = raw_length / 2;
    if (half == 0 || half > 66) return 0;
    size_t length = der_integer(raw, half, body);
    length += der_integer(raw + half, half, body + length);
    // From 128 on, the length takes another byte (X.690 8.1.3.5).
    size_t head = length < 128 ? 2 : 3;
    if (head + length > capacity) return 0;
    out[0] = 0x30;
    out[1] = head == 2 ? (uint8_t)length : 0x81;
    if (head == 3) out[2] = (uint8_t)length;
    memcpy(out + head, body, length);
    return head + length;
}

size_t shims_ecdsa_from_der(const uint8_t *der, size_t der_length, uint8_t *out, size_t raw_length) {
    int half = (int)raw_length / 2, ok = 0;
    ECDSA_SIG *signature = d2i_ECDSA_SIG(NULL, &der, (long)der_length);
    if (signature != NULL)
        ok = BN_bn2binpad(ECDSA_SIG_get0_r(signature), out, half) == half &&
             BN_bn2binpad(ECDSA_SIG_get0_s(signature), out + half, half) == half;
    ECDSA_SIG_free(signature);
    return ok ? raw_length : 0;
}
