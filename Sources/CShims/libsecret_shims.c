#define _GNU_SOURCE
#include "libsecret_shims.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// The parts of GLib, GIO and libsecret that are used here. They are declared by hand, so that a build needs no -dev
// package. All are part of the ABI of these libraries.
typedef struct {
    uint32_t domain;
    int code;
    char *message;
} GError;
typedef struct GList {
    void *data;
    struct GList *next, *previous;
} GList;
typedef struct {
    const char *name;
    int flags;
    struct {
        const char *name;
        int type;
    } attributes[32];
    int reserved;
    void *reserved_pointers[7];
} SecretSchema;

enum { SESSION_BUS = 2, SEARCH_ALL = 2 };
enum { IO_ERROR_CANCELLED = 19 };
enum { DBUS_SERVICE_UNKNOWN = 2, DBUS_ACCESS_DENIED = 9, DBUS_AUTH_FAILED = 10, DBUS_UNKNOWN_METHOD = 19 };
enum { DBUS_SPAWN_FIRST = 23, DBUS_SPAWN_LAST = 34, DBUS_UNKNOWN_OBJECT = 41 };
enum { SECRET_IS_LOCKED = 2, SECRET_NO_SUCH_OBJECT = 3 };

#define FUNCTIONS(X)                                                                                            \
    X(void *, g_bus_get_sync, (int, void *, GError **))                                                         \
    X(void, g_dbus_connection_set_exit_on_close, (void *, int))                                                 \
    X(void *, g_dbus_connection_get_stream, (void *))                                                           \
    X(size_t, g_socket_connection_get_type, (void))                                                             \
    X(void *, g_socket_connection_get_socket, (void *))                                                         \
    X(int, g_socket_get_fd, (void *))                                                                           \
    X(void *, g_application_get_default, (void))                                                                \
    X(uint32_t, g_dbus_error_quark, (void))                                                                     \
    X(uint32_t, g_io_error_quark, (void))                                                                       \
    X(void, g_error_free, (GError *))                                                                           \
    X(void, g_free, (void *))                                                                                   \
    X(void *, g_hash_table_new, (unsigned (*)(const void *), int (*)(const void *, const void *)))              \
    X(int, g_hash_table_insert, (void *, const void *, const void *))                                           \
    X(void *, g_hash_table_lookup, (void *, const void *))                                                      \
    X(void, g_hash_table_unref, (void *))                                                                       \
    X(unsigned, g_str_hash, (const void *))                                                                     \
    X(int, g_str_equal, (const void *, const void *))                                                           \
    X(void, g_list_free, (GList *))                                                                             \
    X(void, g_object_unref, (void *))                                                                           \
    X(int, g_type_check_instance_is_a, (void *, size_t))                                                        \
    X(uint32_t, secret_error_get_quark, (void))                                                                 \
    X(void *, secret_service_get_sync, (int, void *, GError **))                                                \
    X(void, secret_service_disconnect, (void))                                                                  \
    X(int, secret_service_unlock_sync, (void *, GList *, void *, GList **, GError **))                          \
    X(void *, secret_collection_for_alias_sync, (void *, const char *, int, void *, GError **))                 \
    X(void *, secret_collection_create_sync, (void *, const char *, const char *, int, void *, GError **))      \
    X(int, secret_collection_get_locked, (void *))                                                              \
    X(size_t, secret_item_get_type, (void))                                                                     \
    X(int, secret_item_get_locked, (void *))                                                                    \
    X(int, secret_item_set_secret_sync, (void *, void *, void *, GError **))                                    \
    X(int, secret_item_set_attributes_sync, (void *, const SecretSchema *, void *, void *, GError **))          \
    X(int, secret_item_set_label_sync, (void *, const char *, void *, GError **))                               \
    X(GList *, secret_password_searchv_sync, (const SecretSchema *, void *, int, void *, GError **))            \
    X(int, secret_password_storev_sync,                                                                         \
      (const SecretSchema *, void *, const char *, const char *, const char *, void *, GError **))              \
    X(int, secret_password_clearv_sync, (const SecretSchema *, void *, void *, GError **))                      \
    X(void *, secret_retrievable_retrieve_secret_sync, (void *, void *, GError **))                             \
    X(void *, secret_retrievable_get_attributes, (void *))                                                      \
    X(char *, secret_retrievable_get_label, (void *))                                                           \
    X(uint64_t, secret_retrievable_get_modified, (void *))                                                      \
    X(void *, secret_value_new, (const char *, intptr_t, const char *))                                         \
    X(const char *, secret_value_get, (void *, size_t *))                                                       \
    X(void, secret_value_unref, (void *))

struct shims_secrets {
#define MEMBER(result, function, parameters) result(*function) parameters;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

struct shims_secret_call {
    const struct shims_secrets *secrets;
    char *problem;
    size_t capacity;
};

// The name of the schema is matched too, because other programs may have entries with the same attributes.
static const SecretSchema schema = {
    .name = "org.swift-appauth.Session", .attributes = {{"application", 0}, {"account", 0}}};

const struct shims_secrets *shims_secrets_open(const char *name, char *problem, size_t capacity) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(problem, capacity, "%s", dlerror());
        return NULL;
    }
    struct shims_secrets *secrets = calloc(1, sizeof *secrets);
    if (secrets == NULL) return NULL;
    const char *missing = NULL;
#define FIND(result, function, parameters)                                            \
    secrets->function = (result(*) parameters)dlsym(library, #function);              \
    if (secrets->function == NULL) missing = #function;
    FUNCTIONS(FIND)
#undef FIND
    if (missing == NULL) return secrets;
    snprintf(problem, capacity, "%s has no %s", name, missing);
    free(secrets);
    return NULL;
}

void shims_secrets_free(const struct shims_secrets *secrets) { free((void *)secrets); }

struct shims_secret_call *shims_secret_call_new(
    const struct shims_secrets *secrets, char *problem, size_t capacity) {
    struct shims_secret_call *call = calloc(1, sizeof *call);
    if (call == NULL) return NULL;
    *call = (struct shims_secret_call){secrets, problem, capacity};
    return call;
}

void shims_secret_call_free(struct shims_secret_call *call) { free(call); }

// Returns the meaning of an error, and frees it. No call is ever cancelled: see the header.
static enum shims_secret_code meaning(struct shims_secret_call *call, GError *error) {
    const struct shims_secrets *s = call->secrets;
    if (error == NULL) return SHIMS_SECRET_OK;
    enum shims_secret_code code = SHIMS_SECRET_FAILED;
    if (error->domain == s->g_io_error_quark()) {
        if (error->code == IO_ERROR_CANCELLED) code = SHIMS_SECRET_DISMISSED;
    } else if (error->domain == s->g_dbus_error_quark()) {
        if (error->code == DBUS_SERVICE_UNKNOWN) code = SHIMS_SECRET_NO_SERVICE;
        if (error->code >= DBUS_SPAWN_FIRST && error->code <= DBUS_SPAWN_LAST) code = SHIMS_SECRET_NO_SERVICE;
        if (error->code == DBUS_ACCESS_DENIED || error->code == DBUS_AUTH_FAILED) code = SHIMS_SECRET_DENIED;
        // The service names a collection that does not exist: GNOME Keyring before the first unlock.
        if (error->code == DBUS_UNKNOWN_METHOD || error->code == DBUS_UNKNOWN_OBJECT) code = SHIMS_SECRET_LOCKED;
    } else if (error->domain == s->secret_error_get_quark()) {
        if (error->code == SECRET_IS_LOCKED || error->code == SECRET_NO_SUCH_OBJECT) code = SHIMS_SECRET_LOCKED;
    }
    snprintf(call->problem, call->capacity, "%s", error->message);
    s->g_error_free(error);
    return code;
}

// Whether the bus is this user's or root's. A variable may name a place in /tmp, where another user has made a bus since.
static bool is_trusted(const struct shims_secrets *s, void *bus) {
    void *stream = s->g_dbus_connection_get_stream(bus);
    if (!s->g_type_check_instance_is_a(stream, s->g_socket_connection_get_type())) return true;
    struct ucred peer = {0};
    socklen_t length = sizeof peer;
    int descriptor = s->g_socket_get_fd(s->g_socket_connection_get_socket(stream));
    // Over TCP, the kernel knows no peer.
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.pid == 0) return true;
    return peer.uid == geteuid() || peer.uid == 0;
}

// This comes first, to distinguish a missing bus from all other failures.
static enum shims_secret_code connect_bus(struct shims_secret_call *call) {
    const struct shims_secrets *s = call->secrets;
    GError *error = NULL;
    void *bus = s->g_bus_get_sync(SESSION_BUS, NULL, &error);
    if (bus == NULL) {
        meaning(call, error);
        return SHIMS_SECRET_NO_BUS;
    }
    // By default, GLib ends a process whose session bus disappears. A program without GLib does not expect that.
    if (s->g_application_get_default() == NULL) s->g_dbus_connection_set_exit_on_close(bus, 0);
    bool trusted = is_trusted(s, bus);
    s->g_object_unref(bus);
    if (trusted) return SHIMS_SECRET_OK;
    snprintf(call->problem, call->capacity, "the bus of DBUS_SESSION_BUS_ADDRESS belongs to another user");
    return SHIMS_SECRET_DENIED;
}

static void *attributes(const struct shims_secrets *s, const struct shims_secret_place *place) {
    void *table = s->g_hash_table_new(s->g_str_hash, s->g_str_equal);
    s->g_hash_table_insert(table, "application", place->application);
    if (place->account != NULL) s->g_hash_table_insert(table, "account", place->account);
    return table;
}

static void free_items(const struct shims_secrets *s, GList *items) {
    for (GList *item = items; item != NULL; item = item->next) s->g_object_unref(item->data);
    s->g_list_free(items);
}

static enum shims_secret_code search(
    struct shims_secret_call *call, const struct shims_secret_place *place, GList **items) {
    const struct shims_secrets *s = call->secrets;
    enum shims_secret_code code = connect_bus(call);
    // libsecret caches the state of a service. Without a main loop, the cache is wrong after the service was restarted.
    // So the call is repeated once.
    for (int attempt = 0; code == SHIMS_SECRET_OK; attempt++) {
        GError *error = NULL;
        void *table = attributes(s, place);
        *items = s->secret_password_searchv_sync(&schema, table, SEARCH_ALL, NULL, &error);
        s->g_hash_table_unref(table);
        if (error == NULL) break;
        code = meaning(call, error);
        if (attempt > 0 || code == SHIMS_SECRET_DENIED) break;
        s->secret_service_disconnect();
        code = SHIMS_SECRET_OK;
    }
    return code;
}

// Only keyrings on the bus can be locked. libsecret's own file, in a Flatpak, cannot.
static bool is_locked(const struct shims_secrets *s, void *item) {
    return s->g_type_check_instance_is_a(item, s->secret_item_get_type()) && s->secret_item_get_locked(item);
}

static enum shims_secret_code locked(struct shims_secret_call *call) {
    snprintf(call->problem, call->capacity, "it is locked");
    return SHIMS_SECRET_LOCKED;
}

// Prompts the user.
static enum shims_secret_code unlock(struct shims_secret_call *call, void *object) {
    const struct shims_secrets *s = call->secrets;
    GError *error = NULL;
    GList *unlocked = NULL, objects = {object, NULL, NULL};
    int count = s->secret_service_unlock_sync(NULL, &objects, NULL, &unlocked, &error);
    free_items(s, unlocked);
    if (error != NULL) return meaning(call, error);
    if (count > 0) return SHIMS_SECRET_OK;
    snprintf(call->problem, call->capacity, "it is locked, and the request to unlock it was dismissed or could not be shown");
    return SHIMS_SECRET_DISMISSED;
}

// Returns the keyring for new entries, and unlocks it if `asking`. NO_KEYRING if there is none.
static enum shims_secret_code find_default(struct shims_secret_call *call, bool asking) {
    const struct shims_secrets *s = call->secrets;
    GError *error = NULL;
    void *service = s->secret_service_get_sync(0, NULL, &error);
    if (service == NULL) return meaning(call, error);
    void *collection = s->secret_collection_for_alias_sync(service, "default", 0, NULL, &error);
    s->g_object_unref(service);
    if (error != NULL) return meaning(call, error);
    if (collection == NULL) return SHIMS_SECRET_NO_KEYRING;
    enum shims_secret_code code = SHIMS_SECRET_OK;
    if (s->secret_collection_get_locked(collection)) code = asking ? unlock(call, collection) : locked(call);
    s->g_object_unref(collection);
    return code;
}

// Returns the newest entry, preferably an unlocked one. NONE if no entry is visible.
static enum shims_secret_code find(
    struct shims_secret_call *call, const struct shims_secret_place *place, void **found) {
    const struct shims_secrets *s = call->secrets;
    *found = NULL;
    GList *items = NULL;
    enum shims_secret_code code = search(call, place, &items);
    if (code != SHIMS_SECRET_OK) return code;
    void *newest = NULL;
    for (GList *item = items; item != NULL; item = item->next)
        if (newest == NULL || (is_locked(s, newest) && !is_locked(s, item->data))
            || (is_locked(s, newest) == is_locked(s, item->data)
                && s->secret_retrievable_get_modified(item->data) > s->secret_retrievable_get_modified(newest)))
            newest = item->data;
    for (GList *item = items; item != NULL; item = item->next)
        if (item->data != newest) s->g_object_unref(item->data);
    s->g_list_free(items);
    *found = newest;
    return newest != NULL ? SHIMS_SECRET_OK : SHIMS_SECRET_NONE;
}

// Returns the newest entry. NONE if there is none, NO_KEYRING if there is no keyring either. If a locked keyring hides its
// entries, the result is neither of the two.
static enum shims_secret_code find_unlocked(
    struct shims_secret_call *call, const struct shims_secret_place *place, void **found) {
    enum shims_secret_code code = find(call, place, found);
    if (code == SHIMS_SECRET_NONE) {
        enum shims_secret_code keyring = find_default(call, false);
        return keyring == SHIMS_SECRET_OK ? code : keyring;
    }
    if (code != SHIMS_SECRET_OK || !is_locked(call->secrets, *found)) return code;
    call->secrets->g_object_unref(*found);
    return locked(call);
}

enum shims_secret_code shims_secret_unlock(
    struct shims_secret_call *call, const struct shims_secret_place *place) {
    const struct shims_secrets *s = call->secrets;
    void *item;
    enum shims_secret_code code = find(call, place, &item);
    if (code == SHIMS_SECRET_OK) {
        if (is_locked(s, item)) code = unlock(call, item);
        s->g_object_unref(item);
        return code;
    }
    if (code == SHIMS_SECRET_NONE) code = find_default(call, true);
    if (code != SHIMS_SECRET_NO_KEYRING) return code;
    GError *error = NULL;
    void *collection = s->secret_collection_create_sync(NULL, "Login", "default", 0, NULL, &error);
    if (collection != NULL) {
        s->g_object_unref(collection);
        return SHIMS_SECRET_OK;
    }
    // A dismissed prompt names no collection, and libsecret looks for that one.
    code = error == NULL ? SHIMS_SECRET_DISMISSED : meaning(call, error);
    if (code != SHIMS_SECRET_DISMISSED && code != SHIMS_SECRET_LOCKED) return code;
    snprintf(call->problem, call->capacity, "there is no keyring yet, and the request to make one was dismissed or could not be shown");
    return code;
}

enum shims_secret_code shims_secret_read(
    struct shims_secret_call *call, const struct shims_secret_place *place, char **secret, size_t *length) {
    const struct shims_secrets *s = call->secrets;
    void *value = NULL;
    for (int attempt = 0;; attempt++) {
        void *item;
        enum shims_secret_code code = find_unlocked(call, place, &item);
        if (code != SHIMS_SECRET_OK) return code;
        GError *error = NULL;
        value = s->secret_retrievable_retrieve_secret_sync(item, NULL, &error);
        s->g_object_unref(item);
        if (error == NULL) break;
        code = meaning(call, error);
        // The entry was removed since it was found, or it is locked. Another search tells which.
        if (code != SHIMS_SECRET_LOCKED || attempt > 0) return code;
    }
    if (value == NULL) {
        snprintf(call->problem, call->capacity, "it has no secret");
        return SHIMS_SECRET_FAILED;
    }
    const char *bytes = s->secret_value_get(value, length);
    *secret = malloc(*length + 1);
    if (*secret != NULL) memcpy(*secret, bytes, *length);
    s->secret_value_unref(value);
    return *secret != NULL ? SHIMS_SECRET_OK : SHIMS_SECRET_FAILED;
}

void shims_secret_free(char *secret, size_t length) {
    if (secret == NULL) return;
    explicit_bzero(secret, length);
    free(secret);
}

enum shims_secret_code shims_secret_prepare(struct shims_secret_call *call) {
    enum shims_secret_code code = find_default(call, false);
    if (code != SHIMS_SECRET_NO_KEYRING) return code;
    snprintf(call->problem, call->capacity, "there is no keyring yet");
    return SHIMS_SECRET_LOCKED;
}

enum shims_secret_code shims_secret_write(
    struct shims_secret_call *call, const struct shims_secret_place *place, const char *secret, size_t length) {
    const struct shims_secrets *s = call->secrets;
    void *item;
    enum shims_secret_code code = find_unlocked(call, place, &item);
    if (code == SHIMS_SECRET_OK) {
        // Changes the secret in the keyring that has the entry: a second entry in another keyring would be a second session.
        if (s->g_type_check_instance_is_a(item, s->secret_item_get_type())) {
            GError *error = NULL;
            void *value = s->secret_value_new(secret, (intptr_t)length, "application/json");
            s->secret_item_set_secret_sync(item, value, NULL, &error);
            s->secret_value_unref(value);
            s->g_object_unref(item);
            return meaning(call, error);
        }
        s->g_object_unref(item);
    } else if (code != SHIMS_SECRET_NONE && code != SHIMS_SECRET_NO_KEYRING) {
        return code;
    }
    GError *error = NULL;
    void *table = attributes(s, place);
    s->secret_password_storev_sync(&schema, table, NULL, place->label, secret, NULL, &error);
    s->g_hash_table_unref(table);
    return meaning(call, error);
}

enum shims_secret_code shims_secret_set_aside(
    struct shims_secret_call *call, const struct shims_secret_place *place, const struct shims_secret_place *aside) {
    const struct shims_secrets *s = call->secrets;
    void *item;
    enum shims_secret_code code = find_unlocked(call, place, &item);
    if (code != SHIMS_SECRET_OK) return code;
    if (!s->g_type_check_instance_is_a(item, s->secret_item_get_type())) {
        // libsecret's own file, in a Flatpak.
        s->g_object_unref(item);
        snprintf(call->problem, call->capacity, "an entry of this keyring cannot be renamed");
        return SHIMS_SECRET_FAILED;
    }
    GError *error = NULL;
    s->secret_item_set_label_sync(item, aside->label, NULL, &error);
    if (error == NULL) {
        void *table = attributes(s, aside);
        s->secret_item_set_attributes_sync(item, &schema, table, NULL, &error);
        s->g_hash_table_unref(table);
    }
    s->g_object_unref(item);
    return meaning(call, error);
}

enum shims_secret_code shims_secret_remove(
    struct shims_secret_call *call, const struct shims_secret_place *place) {
    const struct shims_secrets *s = call->secrets;
    GError *error = NULL;
    void *table = attributes(s, place);
    s->secret_password_clearv_sync(&schema, table, NULL, &error);
    s->g_hash_table_unref(table);
    if (error != NULL) return meaning(call, error);
    GList *items = NULL;
    enum shims_secret_code code = search(call, place, &items);
    if (code == SHIMS_SECRET_OK && items != NULL) {
        bool is_shut = false;
        for (GList *item = items; item != NULL; item = item->next) is_shut |= is_locked(s, item->data);
        // If an unlocked entry still exists, the user has declined to delete it. libsecret does not report that.
        code = is_shut ? SHIMS_SECRET_LOCKED : SHIMS_SECRET_DISMISSED;
        snprintf(
            call->problem, call->capacity, "%s",
            is_shut ? "another keyring that has it too is locked" : "the request to remove it was dismissed");
    }
    free_items(s, items);
    return code;
}

enum shims_secret_code shims_secret_list(
    struct shims_secret_call *call, const struct shims_secret_place *place, void *context,
    void (*found)(void *, const char *, const char *)) {
    const struct shims_secrets *s = call->secrets;
    GList *items = NULL;
    enum shims_secret_code code = search(call, place, &items);
    if (code == SHIMS_SECRET_OK && items == NULL) {
        // A locked keyring hides its entries.
        code = find_default(call, false);
        return code == SHIMS_SECRET_NO_KEYRING ? SHIMS_SECRET_OK : code;
    }
    for (GList *item = items; code == SHIMS_SECRET_OK && item != NULL; item = item->next) {
        void *table = s->secret_retrievable_get_attributes(item->data);
        char *label = s->secret_retrievable_get_label(item->data);
        const char *account = s->g_hash_table_lookup(table, "account");
        if (account != NULL) found(context, account, label != NULL ? label : "");
        s->g_free(label);
        s->g_hash_table_unref(table);
    }
    free_items(s, items);
    return code;
}
