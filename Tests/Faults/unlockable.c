// A system without locks of open files: fcntl(2) fails with the error in LOCK_ERROR.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>

static int call(const char *name, int descriptor, int command, void *argument) {
    const char *error = getenv("LOCK_ERROR");
    if (error != NULL && (command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK)) {
        errno = atoi(error);
        return -1;
    }
    int (*next)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);
    return next(descriptor, command, argument);
}

#define REPLACE(name)                          \
    int name(int descriptor, int command, ...) \
    {                                          \
        va_list list;                          \
        va_start(list, command);               \
        void *argument = va_arg(list, void *); \
        va_end(list);                          \
        return call(#name, descriptor, command, argument); \
    }
REPLACE(fcntl)
REPLACE(fcntl64)
