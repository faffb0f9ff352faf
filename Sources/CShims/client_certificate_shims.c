// EC_KEY_METHOD is deprecated.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "client_certificate_shims.h"

#include <dlfcn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

struct shims_client_certificate {
    char *file;
    // For libssl: the device's key itself, or one that signs with it by the method.
    EVP_PKEY *key;
    EC_KEY_METHOD *method;
    EVP_PKEY *device_key;
    OSSL_LIB_CTX *context;
};

// Whether libssl can sign with a key: it looks for the algorithm in the default library context.
static int signs(EVP_PKEY *key) {
    unsigned char signature[1024];
    size_t length = sizeof signature;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int ok = context != NULL && EVP_DigestSignInit_ex(context, NULL, "SHA2-256", NULL, NULL, key, NULL) == 1
        && EVP_DigestSign(context, signature, &length, (const unsigned char *)"", 0) == 1;
    EVP_MD_CTX_free(context);
    return ok;
}

static int sign(
    int type, const unsigned char *digest, int digest_length, unsigned char *signature, unsigned *length, const BIGNUM *k,
    const BIGNUM *r, EC_KEY *ec) {
    (void)type, (void)k, (void)r;
    struct shims_client_certificate *certificate = EC_KEY_get_ex_data(ec, 0);
    const char *name = digest_length == 32 ? "SHA2-256" : digest_length == 48 ? "SHA2-384" : "SHA2-512";
    EVP_MD *hash = EVP_MD_fetch(certificate->context, name, NULL);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(certificate->context, certificate->device_key, NULL);
    size_t capacity = (size_t)ECDSA_size(ec);
    int ok = hash != NULL && context != NULL && EVP_PKEY_sign_init(context) == 1
        && EVP_PKEY_CTX_set_signature_md(context, hash) == 1
        && EVP_PKEY_sign(context, signature, &capacity, digest, (size_t)digest_length) == 1;
    EVP_PKEY_CTX_free(context);
    EVP_MD_free(hash);
    *length = ok ? (unsigned)capacity : 0;
    return ok;
}

// tpm2-openssl before 1.2 exports the public part when it is asked for the private one, and libssl then signs with that, in
// vain. A key with a method of its own is never exported. Returns NULL for other keys than on curves.
static EVP_PKEY *signing_elsewhere(struct shims_client_certificate *certificate) {
    const EC_KEY *public = EVP_PKEY_is_a(certificate->device_key, "EC") ? EVP_PKEY_get0_EC_KEY(certificate->device_key) : NULL;
    EC_KEY *ec = public == NULL ? NULL : EC_KEY_dup(public);
    EVP_PKEY *key = EVP_PKEY_new();
    certificate->method = EC_KEY_METHOD_new(EC_KEY_OpenSSL());
    int ok = ec != NULL && key != NULL && certificate->method != NULL;
    if (ok) EC_KEY_METHOD_set_sign(certificate->method, sign, NULL, NULL);
    ok = ok && EC_KEY_set_method(ec, certificate->method) == 1 && EC_KEY_set_ex_data(ec, 0, certificate) == 1
        && EVP_PKEY_set1_EC_KEY(key, ec) == 1 && signs(key);
    EC_KEY_free(ec);
    if (ok) return key;
    EVP_PKEY_free(key);
    return NULL;
}

struct shims_client_certificate *shims_client_certificate_new(const char *file, EVP_PKEY *key, OSSL_LIB_CTX *context) {
    struct shims_client_certificate *certificate = calloc(1, sizeof *certificate);
    if (certificate == NULL) return NULL;
    *certificate = (struct shims_client_certificate){.file = strdup(file), .device_key = key, .context = context};
    if (!signs(key)) certificate->key = signing_elsewhere(certificate);
    else if (EVP_PKEY_up_ref(key)) certificate->key = key;
    ERR_clear_error();
    if (certificate->key != NULL && certificate->file != NULL) return certificate;
    shims_client_certificate_free(certificate);
    return NULL;
}

void shims_client_certificate_free(struct shims_client_certificate *certificate) {
    EVP_PKEY_free(certificate->key);
    EC_KEY_METHOD_free(certificate->method);
    free(certificate->file);
    free(certificate);
}

int shims_client_certificate_use(const struct shims_client_certificate *certificate, void *ssl_context) {
    // The one that libcurl uses: it is loaded already, and of the version of this program's libcrypto.
    void *library = dlopen("libssl.so." OPENSSL_MSTR(OPENSSL_SHLIB_VERSION), RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) return 0;
    __typeof__(SSL_CTX_use_certificate_chain_file) *use_chain = dlsym(library, "SSL_CTX_use_certificate_chain_file");
    __typeof__(SSL_CTX_use_PrivateKey) *use_key = dlsym(library, "SSL_CTX_use_PrivateKey");
    int ok = use_chain != NULL && use_key != NULL && use_chain(ssl_context, certificate->file) == 1
        && use_key(ssl_context, certificate->key) == 1;
    dlclose(library);
    ERR_clear_error();
    return ok;
}
