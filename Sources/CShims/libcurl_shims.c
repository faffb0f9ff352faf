#define _GNU_SOURCE
#include "libcurl_shims.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// Of the kind that lets a waiting writer in before new readers.
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

static void *find(void *library, const char *symbol, char *problem, size_t capacity) {
    void *address = dlsym(library, symbol);
    if (address == NULL) snprintf(problem, capacity, "it has no %s", symbol);
    return address;
}

const struct shims_curl *shims_curl_open(const char *name, char *problem, size_t capacity) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(problem, capacity, "%s", dlerror());
        return NULL;
    }
    struct shims_curl *curl = calloc(1, sizeof *curl);
    if (curl == NULL) return NULL;
#define FIND(function)                                                                               \
    if ((curl->function = (__typeof__(curl->function))find(library, "curl_" #function, problem, capacity)) == NULL) { \
        free(curl);                                                                                  \
        return NULL;                                                                                 \
    }
    FIND(global_init) FIND(version_info) FIND(slist_append) FIND(slist_free_all)
    FIND(easy_init) FIND(easy_reset) FIND(easy_cleanup) FIND(easy_strerror) FIND(easy_setopt) FIND(easy_getinfo)
    FIND(multi_init) FIND(multi_setopt) FIND(multi_add_handle) FIND(multi_remove_handle) FIND(multi_perform)
    FIND(multi_poll) FIND(multi_wakeup) FIND(multi_info_read) FIND(multi_cleanup)
#undef FIND
    pthread_mutex_lock(&opening);
    CURLcode code = curl->global_init(CURL_GLOBAL_DEFAULT);
    // After libcurl has started OpenSSL, so that at exit, in reverse order, this comes before its end.
    if (code == CURLE_OK && !gate_is_set) gate_is_set = atexit(close_gate) == 0;
    pthread_mutex_unlock(&opening);
    if (code == CURLE_OK) return curl;
    snprintf(problem, capacity, "curl_global_init failed with code %d", (int)code);
    free(curl);
    return NULL;
}

void shims_curl_free(const struct shims_curl *curl) { free((void *)curl); }

CURLcode shims_curl_set_long(const struct shims_curl *curl, CURL *easy, CURLoption option, long value) {
    return curl->easy_setopt(easy, option, value);
}

CURLcode shims_curl_set_offset(const struct shims_curl *curl, CURL *easy, CURLoption option, curl_off_t value) {
    return curl->easy_setopt(easy, option, value);
}

CURLcode shims_curl_set_string(const struct shims_curl *curl, CURL *easy, CURLoption option, const char *value) {
    return curl->easy_setopt(easy, option, value);
}

CURLcode shims_curl_set_pointer(const struct shims_curl *curl, CURL *easy, CURLoption option, void *value) {
    return curl->easy_setopt(easy, option, value);
}

CURLcode shims_curl_set_data_callback(
    const struct shims_curl *curl, CURL *easy, CURLoption option, shims_curl_data_callback value) {
    return curl->easy_setopt(easy, option, value);
}

CURLcode shims_curl_set_prereq_callback(const struct shims_curl *curl, CURL *easy, shims_curl_prereq_callback value) {
    return curl->easy_setopt(easy, CURLOPT_PREREQFUNCTION, value);
}

CURLcode shims_curl_get_long(const struct shims_curl *curl, CURL *easy, CURLINFO info, long *value) {
    return curl->easy_getinfo(easy, info, value);
}

CURLMcode shims_curl_multi_set_long(const struct shims_curl *curl, CURLM *multi, CURLMoption option, long value) {
    return curl->multi_setopt(multi, option, value);
}
