// libpq, PostgreSQL's client library, which is opened when it is first needed. Its functions are declared by hand, so that a
// build needs no -dev package. All are part of its ABI, libpq.so.5.
#ifndef LIBPQ_SHIMS_H
#define LIBPQ_SHIMS_H

#include <stddef.h>

struct pg_conn;
struct pg_result;
struct shims_pq_option {
    char *keyword, *environment, *compiled, *value, *label, *display;
    int size;
};
struct shims_pq_notification {
    char *channel;
    int process;
    char *payload;
    struct shims_pq_notification *next;
};

enum { SHIMS_PQ_CONNECTION_OK = 0 };
enum { SHIMS_PQ_POLLING_READING = 1, SHIMS_PQ_POLLING_WRITING = 2 };
enum { SHIMS_PQ_ERRORS_VERBOSE = 2 };
enum { SHIMS_PQ_COMMAND_OK = 1, SHIMS_PQ_TUPLES_OK = 2, SHIMS_PQ_PIPELINE_SYNC = 10 };
enum { SHIMS_PQ_SQLSTATE = 'C', SHIMS_PQ_MESSAGE = 'M' };

#define SHIMS_PQ_FUNCTIONS(X)                                                                                      \
    X(struct shims_pq_option *, PQconninfoParse, (const char *, char **))                                           \
    X(void, PQconninfoFree, (struct shims_pq_option *))                                                             \
    X(void, PQfreemem, (void *))                                                                                    \
    X(struct pg_conn *, PQconnectdbParams, (const char *const *, const char *const *, int))                         \
    X(struct pg_conn *, PQconnectStartParams, (const char *const *, const char *const *, int))                      \
    X(int, PQconnectPoll, (struct pg_conn *))                                                                       \
    X(int, PQsetErrorVerbosity, (struct pg_conn *, int))                                                            \
    X(int, PQconnectionUsedPassword, (const struct pg_conn *))                                                      \
    X(void, PQfinish, (struct pg_conn *))                                                                           \
    X(int, PQstatus, (const struct pg_conn *))                                                                      \
    X(int, PQbackendPID, (const struct pg_conn *))                                                                  \
    X(int, PQserverVersion, (const struct pg_conn *))                                                               \
    X(int, PQsocket, (const struct pg_conn *))                                                                      \
    X(char *, PQerrorMessage, (const struct pg_conn *))                                                             \
    X(int, PQconnectionNeedsPassword, (const struct pg_conn *))                                                     \
    X(int, PQsetnonblocking, (struct pg_conn *, int))                                                               \
    X(void *, PQsetNoticeReceiver,                                                                                  \
      (struct pg_conn *, void (*)(void *, const struct pg_result *), void *))                                       \
    X(int, PQsendQuery, (struct pg_conn *, const char *))                                                           \
    X(int, PQsendQueryParams,                                                                                       \
      (struct pg_conn *, const char *, int, const unsigned *, const char *const *, const int *, const int *, int))  \
    X(int, PQenterPipelineMode, (struct pg_conn *))                                                                 \
    X(int, PQpipelineSync, (struct pg_conn *))                                                                      \
    X(int, PQexitPipelineMode, (struct pg_conn *))                                                                  \
    X(int, PQflush, (struct pg_conn *))                                                                             \
    X(int, PQconsumeInput, (struct pg_conn *))                                                                      \
    X(int, PQisBusy, (struct pg_conn *))                                                                            \
    X(struct pg_result *, PQgetResult, (struct pg_conn *))                                                          \
    X(struct shims_pq_notification *, PQnotifies, (struct pg_conn *))                                               \
    X(int, PQresultStatus, (const struct pg_result *))                                                              \
    X(char *, PQresultErrorField, (const struct pg_result *, int))                                                  \
    X(int, PQntuples, (const struct pg_result *))                                                                   \
    X(int, PQnfields, (const struct pg_result *))                                                                   \
    X(int, PQgetisnull, (const struct pg_result *, int, int))                                                       \
    X(int, PQgetlength, (const struct pg_result *, int, int))                                                       \
    X(char *, PQgetvalue, (const struct pg_result *, int, int))                                                     \
    X(void, PQclear, (struct pg_result *))

// The functions of an opened libpq; none is NULL.
struct shims_pq {
#define SHIMS_PQ_MEMBER(result, function, parameters) result(*function) parameters;
    SHIMS_PQ_FUNCTIONS(SHIMS_PQ_MEMBER)
#undef SHIMS_PQ_MEMBER
};

// Opens a libpq. Returns NULL if it is missing or incomplete, and `problem` says why.
const struct shims_pq *shims_pq_open(const char *name, char *problem, size_t capacity);
// Frees the table. The library stays in the process: unloading it under OpenSSL is not safe.
void shims_pq_free(const struct shims_pq *pq);

#endif
