#define _GNU_SOURCE
#include "libcurl_shims.h"
#include "client_certificate_shims.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

// curl.h turns these into macros that check types, and a macro cannot name a function's type.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#define CHECK_OPTION(name, number) _Static_assert((int)CURLOPT_##name == number, #name);
#define CHECK_CODE(name, number) _Static_assert((int)CURLE_##name == number, #name);
SHIMS_CURL_OPTIONS(CHECK_OPTION)
SHIMS_CURL_CODES(CHECK_CODE)
_Static_assert(
    (int)SHIMS_CURL_HTTP_VERSION_1_1 == CURL_HTTP_VERSION_1_1 && (int)SHIMS_CURL_HTTP_VERSION_2TLS == CURL_HTTP_VERSION_2TLS, "HTTP_VERSION");
_Static_assert(
    SHIMS_CURL_PAUSE == CURL_READFUNC_PAUSE && SHIMS_CURL_PAUSE == CURL_WRITEFUNC_PAUSE && SHIMS_CURL_READ_ABORT == CURL_READFUNC_ABORT, "PAUSE");
_Static_assert((int)SHIMS_CURL_SSLVERSION_TLSv1_2 == CURL_SSLVERSION_TLSv1_2, "SSLVERSION");
_Static_assert(
    SHIMS_CURL_AUTH_DIGEST == CURLAUTH_DIGEST && SHIMS_CURL_AUTH_NEGOTIATE == CURLAUTH_NEGOTIATE && SHIMS_CURL_AUTH_NTLM == CURLAUTH_NTLM, "AUTH");
_Static_assert((int)SHIMS_CURL_PROTOCOLS_HTTP_HTTPS == (CURLPROTO_HTTP | CURLPROTO_HTTPS), "PROTOCOLS");
_Static_assert((int)SHIMS_CURL_ERROR_SIZE == CURL_ERROR_SIZE, "ERROR_SIZE");

#define FUNCTIONS(X)                                                                                       \
    X(global_init) X(version_info) X(slist_append) X(slist_free_all)                                       \
    X(easy_pause) X(easy_init) X(easy_cleanup) X(easy_strerror) X(easy_setopt) X(easy_getinfo)                           \
    X(multi_init) X(multi_setopt) X(multi_add_handle) X(multi_remove_handle) X(multi_perform)              \
    X(multi_poll) X(multi_wakeup) X(multi_info_read) X(multi_cleanup)

struct shims_curl {
#define MEMBER(function) __typeof__(curl_##function) *function;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

// A waiting writer gets this lock before new readers.
static pthread_rwlock_t gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

void shims_curl_enter(void) { pthread_rwlock_rdlock(&gate); }
void shims_curl_leave(void) { pthread_rwlock_unlock(&gate); }

static void close_gate(void) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 1;
    pthread_rwlock_timedwrlock(&gate, &deadline);  // never unlocked: the process ends
}

// Initialising libcurl is not thread safe before 7.84.
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static int gate_is_set;

const struct shims_curl *shims_curl_open(const char *name, char *problem, size_t capacity) {
    // Lazily: a session needs few of the symbols of libcurl and its thirty libraries, and resolving all takes time.
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(problem, capacity, "%s", dlerror());
        return NULL;
    }
    struct shims_curl *curl = calloc(1, sizeof *curl);
    if (curl == NULL) return NULL;
    const char *missing = NULL;
#define FIND(function)                                                                        \
    curl->function = (__typeof__(curl->function))dlsym(library, "curl_" #function);           \
    if (curl->function == NULL) missing = "curl_" #function;
    FUNCTIONS(FIND)
#undef FIND
    if (missing != NULL) {
        snprintf(problem, capacity, "%s has no %s", name, missing);
        free(curl);
        return NULL;
    }
    pthread_mutex_lock(&opening);
    CURLcode code = curl->global_init(CURL_GLOBAL_DEFAULT);
    // Registered after libcurl has started OpenSSL. At exit, in reverse order, this runs before OpenSSL ends.
    if (code == CURLE_OK && !gate_is_set) gate_is_set = atexit(close_gate) == 0;
    pthread_mutex_unlock(&opening);
    if (code == CURLE_OK) return curl;
    snprintf(problem, capacity, "curl_global_init failed with code %d", (int)code);
    free(curl);
    return NULL;
}

void shims_curl_free(const struct shims_curl *curl) { free((void *)curl); }

struct shims_curl_version shims_curl_version(const struct shims_curl *curl) {
    const curl_version_info_data *info = curl->version_info(CURLVERSION_NOW);
    struct shims_curl_version version = {info->version_num, info->version, NULL, NULL};
    if (info->age >= CURLVERSION_SEVENTH) {
        version.ca_file = info->cainfo;
        version.ca_directory = info->capath;
    }
    return version;
}

const char *shims_curl_meaning(const struct shims_curl *curl, enum shims_curl_code code) {
    return curl->easy_strerror((CURLcode)code);
}

CURL *shims_curl_easy_new(const struct shims_curl *curl) { return curl->easy_init(); }
void shims_curl_easy_free(const struct shims_curl *curl, CURL *easy) { curl->easy_cleanup(easy); }

enum shims_curl_code shims_curl_set_long(
    const struct shims_curl *curl, CURL *easy, enum shims_curl_option option, long value) {
    return (enum shims_curl_code)curl->easy_setopt(easy, (CURLoption)option, value);
}

enum shims_curl_code shims_curl_set_offset(
    const struct shims_curl *curl, CURL *easy, enum shims_curl_option option, int64_t value) {
    return (enum shims_curl_code)curl->easy_setopt(easy, (CURLoption)option, (curl_off_t)value);
}

enum shims_curl_code shims_curl_set_string(
    const struct shims_curl *curl, CURL *easy, enum shims_curl_option option, const char *value) {
    return (enum shims_curl_code)curl->easy_setopt(easy, (CURLoption)option, value);
}

enum shims_curl_code shims_curl_set_pointer(
    const struct shims_curl *curl, CURL *easy, enum shims_curl_option option, const void *value) {
    return (enum shims_curl_code)curl->easy_setopt(easy, (CURLoption)option, value);
}

enum shims_curl_code shims_curl_set_blob(
    const struct shims_curl *curl, CURL *easy, enum shims_curl_option option, const void *bytes, size_t length) {
    struct curl_blob blob = {(void *)bytes, length, CURL_BLOB_COPY};
    return (enum shims_curl_code)curl->easy_setopt(easy, (CURLoption)option, &blob);
}

static CURLcode use_certificate(CURL *easy, void *ssl_context, void *certificate) {
    (void)easy;
    return shims_client_certificate_use(certificate, ssl_context) ? CURLE_OK : CURLE_SSL_CERTPROBLEM;
}

enum shims_curl_code shims_curl_set_client_certificate(
    const struct shims_curl *curl, CURL *easy, const struct shims_client_certificate *certificate) {
    curl->easy_setopt(easy, CURLOPT_SSL_CTX_DATA, certificate);
    return (enum shims_curl_code)curl->easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, use_certificate);
}

enum shims_curl_code shims_curl_set_data_callback(
    const struct shims_curl *curl, CURL *easy, enum shims_curl_option option,
    shims_curl_data_callback value) {
    return (enum shims_curl_code)curl->easy_setopt(easy, (CURLoption)option, value);
}

enum shims_curl_code shims_curl_set_prereq_callback(
    const struct shims_curl *curl, CURL *easy, shims_curl_prereq_callback value) {
    return (enum shims_curl_code)curl->easy_setopt(easy, CURLOPT_PREREQFUNCTION, value);
}

static int limit_silence(void *context, curl_socket_t descriptor, curlsocktype purpose) {
    unsigned milliseconds = (unsigned)(uintptr_t)context;
    if (purpose == CURLSOCKTYPE_IPCXN)
        setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
    return CURL_SOCKOPT_OK;
}

void shims_curl_limit_silence(const struct shims_curl *curl, CURL *easy, unsigned milliseconds) {
    curl->easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, limit_silence);
    curl->easy_setopt(easy, CURLOPT_SOCKOPTDATA, (void *)(uintptr_t)milliseconds);
}

void shims_curl_set_socket_callback(
    const struct shims_curl *curl, CURL *easy, shims_curl_socket_callback value, const void *context) {
    curl->easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, value);
    curl->easy_setopt(easy, CURLOPT_SOCKOPTDATA, context);
}

void shims_curl_continue(const struct shims_curl *curl, CURL *easy) { curl->easy_pause(easy, CURLPAUSE_CONT); }

int shims_curl_system_error(const struct shims_curl *curl, CURL *easy) {
    long error = 0;
    return curl->easy_getinfo(easy, CURLINFO_OS_ERRNO, &error) == CURLE_OK ? (int)error : 0;
}

int shims_curl_connect_status(const struct shims_curl *curl, CURL *easy) {
    long status = 0;
    return curl->easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &status) == CURLE_OK ? (int)status : 0;
}

int shims_curl_is_kept(const struct shims_curl *curl, CURL *easy) {
    long made = 1;
    return curl->easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &made) == CURLE_OK && made == 0;
}

void *shims_curl_list_append(const struct shims_curl *curl, void *list, const char *line) {
    return curl->slist_append(list, line);
}

void shims_curl_list_free(const struct shims_curl *curl, void *list) { curl->slist_free_all(list); }

CURLM *shims_curl_multi_new(const struct shims_curl *curl, long kept_connections) {
    CURLM *multi = curl->multi_init();
    if (multi != NULL) curl->multi_setopt(multi, CURLMOPT_MAXCONNECTS, kept_connections);
    return multi;
}

void shims_curl_multi_free(const struct shims_curl *curl, CURLM *multi) { curl->multi_cleanup(multi); }

int shims_curl_multi_add(const struct shims_curl *curl, CURLM *multi, CURL *easy) {
    return curl->multi_add_handle(multi, easy) == CURLM_OK;
}

void shims_curl_multi_remove(const struct shims_curl *curl, CURLM *multi, CURL *easy) {
    curl->multi_remove_handle(multi, easy);
}

void shims_curl_multi_perform(const struct shims_curl *curl, CURLM *multi) {
    int running = 0;
    curl->multi_perform(multi, &running);
}

void shims_curl_multi_wait(const struct shims_curl *curl, CURLM *multi, int other, int milliseconds) {
    struct curl_waitfd entry = {.fd = other, .events = CURL_WAIT_POLLIN};
    curl->multi_poll(multi, &entry, other >= 0, milliseconds, NULL);
}

void shims_curl_multi_wake(const struct shims_curl *curl, CURLM *multi) { curl->multi_wakeup(multi); }

CURL *shims_curl_multi_next_ended(const struct shims_curl *curl, CURLM *multi, enum shims_curl_code *code) {
    int left = 0;
    for (CURLMsg *message; (message = curl->multi_info_read(multi, &left)) != NULL;)
        if (message->msg == CURLMSG_DONE) {
            *code = (enum shims_curl_code)message->data.result;
            return message->easy_handle;
        }
    return NULL;
}
