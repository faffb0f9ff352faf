#include "key_provider_shims.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/store.h>
#include <openssl/ui.h>
#include <limits.h>
#include <string.h>

OSSL_LIB_CTX *shims_provider_open(
    const char *name, const char *properties, OSSL_PROVIDER *loaded[2], int *is_missing) {
    OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
    ERR_clear_error();
    loaded[0] = context == NULL ? NULL : OSSL_PROVIDER_load(context, "default");
    loaded[1] = loaded[0] == NULL ? NULL : OSSL_PROVIDER_load(context, name);
    int ok = loaded[1] != NULL && EVP_set_default_properties(context, properties) == 1;
    // If a login has ended, pkcs11-provider asks for the PIN itself, on the terminal or standard input, unless the app has
    // chosen another way of asking.
    if (ok && UI_get_default_method() == UI_OpenSSL()) UI_set_default_method(UI_null());
    *is_missing = 0;
    for (unsigned long error; !ok && (error = ERR_get_error()) != 0;) *is_missing |= ERR_GET_LIB(error) == ERR_LIB_DSO;
    if (ok) return context;
    shims_provider_close(context, loaded);
    return NULL;
}

void shims_provider_close(OSSL_LIB_CTX *context, OSSL_PROVIDER *const loaded[2]) {
    for (int i = 1; i >= 0; i--)
        if (loaded[i] != NULL) OSSL_PROVIDER_unload(loaded[i]);
    OSSL_LIB_CTX_free(context);
}

// Without a callback, OpenSSL would prompt on the terminal. A wrong PIN may lock the device, so it is given only once.
struct pin {
    const char *text;
    int is_asked;
};

static int pin_of(char *buffer, int size, int writing, void *pin) {
    (void)writing;
    struct pin *given = pin;
    size_t length = given->text == NULL ? 0 : strlen(given->text);
    if (given->is_asked++ || given->text == NULL || length > (size_t)size) return -1;
    memcpy(buffer, given->text, length);
    return (int)length;
}

static EVP_PKEY *first_key(OSSL_STORE_CTX *store) {
    EVP_PKEY *key = NULL;
    while (store != NULL && key == NULL && !OSSL_STORE_eof(store)) {
        OSSL_STORE_INFO *info = OSSL_STORE_load(store);
        if (info == NULL && OSSL_STORE_error(store)) break;
        if (info != NULL && OSSL_STORE_INFO_get_type(info) == OSSL_STORE_INFO_PKEY) key = OSSL_STORE_INFO_get1_PKEY(info);
        OSSL_STORE_INFO_free(info);
    }
    OSSL_STORE_close(store);
    return key;
}

EVP_PKEY *shims_provider_key_at(OSSL_LIB_CTX *context, const char *uri, const char *pin, int *is_asked) {
    struct pin given = {pin, 0};
    UI_METHOD *ui = UI_UTIL_wrap_read_pem_callback(pin_of, 0);
    EVP_PKEY *key = first_key(OSSL_STORE_open_ex(uri, context, NULL, ui, &given, NULL, NULL, NULL));
    UI_destroy_method(ui);
    *is_asked = given.is_asked > 0;
    return key;
}

EVP_PKEY *shims_provider_key_from_pem(OSSL_LIB_CTX *context, const char *pem, size_t length, const char *pin) {
    struct pin given = {pin, 0};
    BIO *bio = length > INT_MAX ? NULL : BIO_new_mem_buf(pem, (int)length);
    EVP_PKEY *key = bio == NULL ? NULL : PEM_read_bio_PrivateKey_ex(bio, NULL, pin_of, &given, context, NULL);
    BIO_free(bio);
    return key;
}

EVP_PKEY *shims_provider_ec_generate(OSSL_LIB_CTX *context, const char *group, const char *uri) {
    if (uri == NULL) return EVP_PKEY_Q_keygen(context, NULL, "EC", group);
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *keys = EVP_PKEY_CTX_new_from_name(context, "EC", NULL);
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)group, 0),
        OSSL_PARAM_construct_utf8_string("pkcs11_uri", (char *)uri, 0),
        OSSL_PARAM_construct_utf8_string("pkcs11_key_usage", "digitalSignature", 0),
        OSSL_PARAM_construct_end(),
    };
    int ok = keys != NULL && EVP_PKEY_keygen_init(keys) == 1 && EVP_PKEY_CTX_set_params(keys, parameters) == 1;
    if (ok) EVP_PKEY_generate(keys, &key);
    EVP_PKEY_CTX_free(keys);
    return key;
}
