#include "libcrypto_shims.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

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

static EVP_PKEY *public_key(const char *type, OSSL_PARAM_BLD *builder) {
    EVP_PKEY *key = NULL;
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (params == NULL || context == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) != 1) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
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

EVP_PKEY *shims_rsa_generate(size_t bits) { return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", bits); }
EVP_PKEY *shims_ec_generate(const char *group) { return EVP_PKEY_Q_keygen(NULL, NULL, "EC", group); }
EVP_PKEY *shims_ed25519_generate(void) { return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"); }

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
    return ok ? 2 * half : 0;
}

static int no_password(char *buffer, int size, int writing, void *context) {
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

EVP_PKEY *shims_private_key_from_pem(const char *pem, size_t length) {
    BIO *bio = length > INT_MAX ? NULL : BIO_new_mem_buf(pem, (int)length);
    EVP_PKEY *key = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
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

size_t shims_ecdsa_to_der(const uint8_t *raw, size_t raw_length, uint8_t *out, size_t capacity) {
    int half = (int)raw_length / 2, length = 0;
    ECDSA_SIG *signature = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(raw, half, NULL), *s = BN_bin2bn(raw + half, half, NULL);
    if (signature != NULL && r != NULL && s != NULL && ECDSA_SIG_set0(signature, r, s) == 1) {
        r = s = NULL;  // owned by the signature now
        length = i2d_ECDSA_SIG(signature, NULL);
        if (length <= 0 || (size_t)length > capacity) length = 0;
        else i2d_ECDSA_SIG(signature, &out);
    }
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(signature);
    return (size_t)length;
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
