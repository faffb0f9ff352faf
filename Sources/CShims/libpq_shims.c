#define _GNU_SOURCE
#include "libpq_shims.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

const struct shims_pq *shims_pq_open(const char *name, char *problem, size_t capacity) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(problem, capacity, "%s", dlerror());
        return NULL;
    }
    struct shims_pq *pq = calloc(1, sizeof *pq);
    if (pq == NULL) return NULL;
    const char *missing = NULL;
#define FIND(result, function, parameters)                           \
    pq->function = (result(*) parameters)dlsym(library, #function);  \
    if (pq->function == NULL) missing = #function;
    SHIMS_PQ_FUNCTIONS(FIND)
#undef FIND
    if (missing == NULL) return pq;
    snprintf(problem, capacity, "%s has no %s", name, missing);
    free(pq);
    return NULL;
}

void shims_pq_free(const struct shims_pq *pq) { free((void *)pq); }
