// libcurl, which is opened when it is first needed, behind functions with fixed parameters (its own are variadic), and
// a gate for the end of a process.
//
// This header does not include curl.h, which includes many headers of the system: a Swift file that imports only Glibc
// would then not find enumerators such as SHUT_RDWR, because another module has imported them first.
#ifndef LIBCURL_SHIMS_H
#define LIBCURL_SHIMS_H

#include <stddef.h>
#include <stdint.h>

// The options, values and codes of libcurl that are used here. The numbers are part of its ABI. The compiler
// compares them with curl.h.
#define SHIMS_CURL_OPTIONS(X)                                                                               \
    X(SSLVERSION, 32) X(NOBODY, 44) X(UPLOAD, 46) X(POST, 47) X(FOLLOWLOCATION, 52) X(SSL_VERIFYPEER, 64)                \
    X(FRESH_CONNECT, 74) X(FORBID_REUSE, 75) X(HTTPGET, 80) X(SSL_VERIFYHOST, 81) X(PROXY_SSL_VERIFYPEER, 248)                 \
    X(PROXY_SSL_VERIFYHOST, 249) X(HTTP_VERSION, 84) X(NOSIGNAL, 99) X(CONNECTTIMEOUT_MS, 156) X(PATH_AS_IS, 234)    \
    X(PROXYAUTH, 111) X(TCP_KEEPALIVE, 213) X(PROXYUSERPWD, 10006) X(READDATA, 10009) X(READFUNCTION, 20012) X(INFILESIZE_LARGE, 30115)                                                              \
    X(PROXY_SSLVERSION, 250) X(SUPPRESS_CONNECT_HEADERS, 265) X(WRITEDATA, 10001) X(URL, 10002)            \
    X(PROXY, 10004) X(ERRORBUFFER, 10010) X(HTTPHEADER, 10023) X(HEADERDATA, 10029)                        \
    X(SSLCERT, 10025) X(KEYPASSWD, 10026) X(SSLKEY, 10087) X(CUSTOMREQUEST, 10036) X(CAINFO, 10065) X(CAPATH, 10097) X(ACCEPT_ENCODING, 10102)                    \
    X(COPYPOSTFIELDS, 10165) X(PROXY_CAINFO, 10246) X(PROXY_CAPATH, 10247) X(PREREQDATA, 10313)            \
    X(WRITEFUNCTION, 20011) X(HEADERFUNCTION, 20079) X(PREREQFUNCTION, 20312) X(MAXFILESIZE_LARGE, 30117)  \
    X(MAXAGE_CONN, 288) X(SOCKOPTFUNCTION, 20148) X(SOCKOPTDATA, 10149) X(POSTFIELDSIZE_LARGE, 30120) X(SSL_CTX_FUNCTION, 20108) X(SSL_CTX_DATA, 10109) X(CAINFO_BLOB, 40309) X(PROXY_CAINFO_BLOB, 40310)
#define SHIMS_CURL_CODES(X)                                                                                 \
    X(OK, 0) X(UNSUPPORTED_PROTOCOL, 1) X(URL_MALFORMAT, 3) X(NOT_BUILT_IN, 4) X(COULDNT_RESOLVE_PROXY, 5) \
    X(COULDNT_RESOLVE_HOST, 6) X(COULDNT_CONNECT, 7) X(WEIRD_SERVER_REPLY, 8) X(PARTIAL_FILE, 18)          \
    X(WRITE_ERROR, 23) X(OUT_OF_MEMORY, 27) X(OPERATION_TIMEDOUT, 28) X(SSL_CONNECT_ERROR, 35)             \
    X(UNKNOWN_OPTION, 48) X(GOT_NOTHING, 52) X(PEER_FAILED_VERIFICATION, 60) X(BAD_CONTENT_ENCODING, 61)   \
    X(SSL_CERTPROBLEM, 58) X(FILESIZE_EXCEEDED, 63) X(SSL_CACERT_BADFILE, 77) X(PROXY, 97)

#define SHIMS_CURL_OPTION(name, number) SHIMS_CURLOPT_##name = number,
#define SHIMS_CURL_CODE(name, number) SHIMS_CURLE_##name = number,
enum shims_curl_option {
    SHIMS_CURL_OPTIONS(SHIMS_CURL_OPTION)
    SHIMS_CURLOPT_PROTOCOLS = 181,        // deprecated by 7.85
    SHIMS_CURLOPT_PROTOCOLS_STR = 10318,  // since 7.85
    SHIMS_CURLOPT_QUICK_EXIT = 322,       // since 7.87
};
enum shims_curl_code {
    SHIMS_CURL_CODES(SHIMS_CURL_CODE)
    SHIMS_CURLE_TOO_LARGE = 100,  // since 8.6
};
#undef SHIMS_CURL_OPTION
#undef SHIMS_CURL_CODE
enum shims_curl_value {
    SHIMS_CURL_HTTP_VERSION_1_1 = 2,
    SHIMS_CURL_HTTP_VERSION_2TLS = 4,
    SHIMS_CURL_SSLVERSION_TLSv1_2 = 6,
    SHIMS_CURL_PROTOCOLS_HTTP_HTTPS = 3,
    SHIMS_CURL_AUTH_DIGEST = 2,
    SHIMS_CURL_AUTH_NEGOTIATE = 4,
    SHIMS_CURL_AUTH_NTLM = 8,
    SHIMS_CURL_ERROR_SIZE = 256,
    // What the callbacks for data return in place of a count.
    SHIMS_CURL_READ_ABORT = 0x10000000,
    SHIMS_CURL_PAUSE = 0x10000001,
};

// The functions of an opened libcurl.
struct shims_curl;
// Its easy and multi handles are untyped pointers, as in curl.h.
typedef void shims_curl_easy;
typedef void shims_curl_multi;

// Opens a libcurl and initialises it. Returns NULL if it is missing or incomplete, and `problem` says why.
const struct shims_curl *_Nullable shims_curl_open(const char *_Nonnull name, char *_Nonnull problem, size_t capacity);
// Frees the table. The library stays in the process: unloading it under OpenSSL is not safe.
void shims_curl_free(const struct shims_curl *_Nonnull curl);

// The description that a libcurl gives of itself. It owns the strings. A path is NULL if it was built without one.
struct shims_curl_version {
    uint32_t number;  // 0xXXYYZZ
    const char *_Nonnull text;
    const char *_Nullable ca_file;
    const char *_Nullable ca_directory;
};
struct shims_curl_version shims_curl_version(const struct shims_curl *_Nonnull curl);
const char *_Nonnull shims_curl_meaning(const struct shims_curl *_Nonnull curl, enum shims_curl_code code);

typedef size_t (*shims_curl_data_callback)(char *_Nonnull bytes, size_t size, size_t count, void *_Nonnull context);
// 0 continues the request, 1 ends the transfer.
typedef int (*shims_curl_prereq_callback)(
    void *_Nonnull context, char *_Nullable peer, char *_Nullable local, int peer_port, int local_port);

// Runs for each socket that is made for a connection, before it is connected. 0 keeps the socket.
typedef int (*shims_curl_socket_callback)(void *_Nonnull context, int descriptor, int purpose);

shims_curl_easy *_Nullable shims_curl_easy_new(const struct shims_curl *_Nonnull curl);
void shims_curl_easy_free(const struct shims_curl *_Nonnull curl, shims_curl_easy *_Nonnull easy);

enum shims_curl_code shims_curl_set_long(
    const struct shims_curl *_Nonnull curl, shims_curl_easy *_Nonnull easy, enum shims_curl_option option, long value);
enum shims_curl_code shims_curl_set_offset(
    const struct shims_curl *_Nonnull curl, shims_curl_easy *_Nonnull easy, enum shims_curl_option option,
    int64_t value);
enum shims_curl_code shims_curl_set_string(
    const struct shims_curl *_Nonnull curl, shims_curl_easy *_Nonnull easy, enum shims_curl_option option,
    const char *_Nullable value);
enum shims_curl_code shims_curl_set_pointer(
    const struct shims_curl *_Nonnull curl, shims_curl_easy *_Nonnull easy, enum shims_curl_option option,
    const void *_Nullable value);
// Authenticates with a certificate whose key is in a device. It must outlive the transfer. Fails unless libcurl uses libssl.
struct shims_client_certificate;
enum shims_curl_code shims_curl_set_client_certificate(
    const struct shims_curl *_Nonnull curl, shims_curl_easy *_Nonnull easy,
    const struct shims_client_certificate *_Nonnull certificate);
// Copies the bytes.
enum shims_curl_code shims_curl_set_blob(
    const struct shims_curl *_Nonnull curl, shims_curl_easy *_Nonnull easy, enum shims_curl_option option,
    const void *_Nullable bytes, size_t length);
enum shims_curl_code shims_curl_set_data_callback(
    const struct shims_curl *_Nonnull curl, shims_curl_easy *_Nonnull easy, enum shims_curl_option option,
    shims_curl_data_callback _Nonnull value);
enum shims_curl_code shims_curl_set_prereq_callback(
    const struct shims_curl *_Nonnull curl, shims_curl_easy *_Nonnull easy, shims_curl_prereq_callback _Nonnull value);

// Breaks a connection whose peer acknowledges nothing for this time (TCP_USER_TIMEOUT, tcp(7)). The descriptor's other
// limits do not act while data waits: after a change of network, it would wait for a quarter of an hour.
void shims_curl_limit_silence(
    const struct shims_curl *_Nonnull curl, shims_curl_easy *_Nonnull easy, unsigned milliseconds);

// Replaces what shims_curl_limit_silence sets.
void shims_curl_set_socket_callback(
    const struct shims_curl *_Nonnull curl, shims_curl_easy *_Nonnull easy, shims_curl_socket_callback _Nonnull value,
    const void *_Nonnull context);

// Continues a transfer that a callback has paused. Callbacks may run during the call.
void shims_curl_continue(const struct shims_curl *_Nonnull curl, shims_curl_easy *_Nonnull easy);

// The errno of the last connection that failed, or 0.
int shims_curl_system_error(const struct shims_curl *_Nonnull curl, shims_curl_easy *_Nonnull easy);
// The status of the proxy's last response to CONNECT, or 0.
int shims_curl_connect_status(const struct shims_curl *_Nonnull curl, shims_curl_easy *_Nonnull easy);
// Whether the transfer has a connection that an earlier one has used.
int shims_curl_is_kept(const struct shims_curl *_Nonnull curl, shims_curl_easy *_Nonnull easy);

// A list of header lines for SHIMS_CURLOPT_HTTPHEADER. Appending copies the line, and returns NULL if there is no memory.
void *_Nullable shims_curl_list_append(
    const struct shims_curl *_Nonnull curl, void *_Nullable list, const char *_Nonnull line);
void shims_curl_list_free(const struct shims_curl *_Nonnull curl, void *_Nullable list);

shims_curl_multi *_Nullable shims_curl_multi_new(const struct shims_curl *_Nonnull curl, long kept_connections);
void shims_curl_multi_free(const struct shims_curl *_Nonnull curl, shims_curl_multi *_Nonnull multi);
// Returns whether the transfer has begun.
int shims_curl_multi_add(
    const struct shims_curl *_Nonnull curl, shims_curl_multi *_Nonnull multi, shims_curl_easy *_Nonnull easy);
void shims_curl_multi_remove(
    const struct shims_curl *_Nonnull curl, shims_curl_multi *_Nonnull multi, shims_curl_easy *_Nonnull easy);
// Performs the transfers as far as possible without waiting.
void shims_curl_multi_perform(const struct shims_curl *_Nonnull curl, shims_curl_multi *_Nonnull multi);
// Waits for activity, until another descriptor is readable, if there is one (not negative), or for a wake-up, which any thread
// may send, up to a limit in milliseconds.
void shims_curl_multi_wait(
    const struct shims_curl *_Nonnull curl, shims_curl_multi *_Nonnull multi, int other, int milliseconds);
void shims_curl_multi_wake(const struct shims_curl *_Nonnull curl, shims_curl_multi *_Nonnull multi);
// Returns the next transfer that has ended and was not returned before, or NULL.
shims_curl_easy *_Nullable shims_curl_multi_next_ended(
    const struct shims_curl *_Nonnull curl, shims_curl_multi *_Nonnull multi, enum shims_curl_code *_Nonnull code);

// OpenSSL frees its state when the process exits, even if other threads still use it. So a thread runs libcurl only
// between these two calls. An exiting process waits up to a second for the threads between them, and lets no further
// thread in.
void shims_curl_enter(void);
void shims_curl_leave(void);

#endif
