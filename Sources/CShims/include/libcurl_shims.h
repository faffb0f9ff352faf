// libcurl, opened when it is first needed: its functions as pointers of their own types, its variadic
// functions with fixed parameters (Swift imports no variadic ones), and a gate for the end of a process.
#ifndef LIBCURL_SHIMS_H
#define LIBCURL_SHIMS_H

#include <curl/curl.h>
#include <stddef.h>

// curl.h turns these into macros that check types, and a macro cannot name a function's type.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

struct shims_curl {
    __typeof__(curl_global_init) *_Nonnull global_init;
    __typeof__(curl_version_info) *_Nonnull version_info;
    __typeof__(curl_slist_append) *_Nonnull slist_append;
    __typeof__(curl_slist_free_all) *_Nonnull slist_free_all;
    __typeof__(curl_easy_init) *_Nonnull easy_init;
    __typeof__(curl_easy_reset) *_Nonnull easy_reset;
    __typeof__(curl_easy_cleanup) *_Nonnull easy_cleanup;
    __typeof__(curl_easy_strerror) *_Nonnull easy_strerror;
    __typeof__(curl_easy_setopt) *_Nonnull easy_setopt;
    __typeof__(curl_easy_getinfo) *_Nonnull easy_getinfo;
    __typeof__(curl_multi_init) *_Nonnull multi_init;
    __typeof__(curl_multi_setopt) *_Nonnull multi_setopt;
    __typeof__(curl_multi_add_handle) *_Nonnull multi_add_handle;
    __typeof__(curl_multi_remove_handle) *_Nonnull multi_remove_handle;
    __typeof__(curl_multi_perform) *_Nonnull multi_perform;
    __typeof__(curl_multi_poll) *_Nonnull multi_poll;
    __typeof__(curl_multi_wakeup) *_Nonnull multi_wakeup;
    __typeof__(curl_multi_info_read) *_Nonnull multi_info_read;
    __typeof__(curl_multi_cleanup) *_Nonnull multi_cleanup;
};

// Opens a libcurl and initialises it. NULL if it is missing or incomplete; `problem` then says why.
const struct shims_curl *_Nullable shims_curl_open(const char *_Nonnull name, char *_Nonnull problem, size_t capacity);
// Frees the table. The library stays in the process: unloading it under OpenSSL is not safe.
void shims_curl_free(const struct shims_curl *_Nonnull curl);

typedef size_t (*shims_curl_data_callback)(char *_Nonnull bytes, size_t size, size_t count, void *_Nonnull context);
typedef int (*shims_curl_prereq_callback)(
    void *_Nonnull context, char *_Nullable peer, char *_Nullable local, int peer_port, int local_port);

CURLcode shims_curl_set_long(
    const struct shims_curl *_Nonnull curl, CURL *_Nonnull easy, CURLoption option, long value);
CURLcode shims_curl_set_offset(
    const struct shims_curl *_Nonnull curl, CURL *_Nonnull easy, CURLoption option, curl_off_t value);
CURLcode shims_curl_set_string(
    const struct shims_curl *_Nonnull curl, CURL *_Nonnull easy, CURLoption option, const char *_Nullable value);
CURLcode shims_curl_set_pointer(
    const struct shims_curl *_Nonnull curl, CURL *_Nonnull easy, CURLoption option, void *_Nullable value);
CURLcode shims_curl_set_data_callback(
    const struct shims_curl *_Nonnull curl, CURL *_Nonnull easy, CURLoption option,
    shims_curl_data_callback _Nonnull value);
CURLcode shims_curl_set_prereq_callback(
    const struct shims_curl *_Nonnull curl, CURL *_Nonnull easy, shims_curl_prereq_callback _Nonnull value);
CURLcode shims_curl_get_long(
    const struct shims_curl *_Nonnull curl, CURL *_Nonnull easy, CURLINFO info, long *_Nonnull value);
CURLMcode shims_curl_multi_set_long(
    const struct shims_curl *_Nonnull curl, CURLM *_Nonnull multi, CURLMoption option, long value);

// OpenSSL frees its state when the process exits, whatever other threads do with it. A thread that runs
// libcurl does so between these two calls; an exiting process waits up to a second for each that is inside,
// and lets no further one in.
void shims_curl_enter(void);
void shims_curl_leave(void);

#endif
