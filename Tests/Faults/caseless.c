// Makes a folder, CASELESS_FOLDER, one that does not tell capital letters apart, as vfat and CIFS do: a name is that of the
// file there that differs from it only in them. Loaded into a program by LD_PRELOAD.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// The path with the name that the folder has for its file.
static const char *known(const char *path, char *buffer) {
    const char *folder = getenv("CASELESS_FOLDER");
    size_t length = folder ? strlen(folder) : 0;
    if (length == 0 || strncmp(path, folder, length) != 0 || path[length] != '/') return path;
    DIR *stream = opendir(folder);
    if (stream == NULL) return path;
    const char *found = path;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        if (strcasecmp(entry->d_name, path + length + 1) != 0) continue;
        snprintf(buffer, PATH_MAX, "%s/%s", folder, entry->d_name);
        found = buffer;
    }
    closedir(stream);
    return found;
}

int open(const char *path, int flags, ...) {
    char buffer[PATH_MAX];
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return NEXT(open)(known(path, buffer), flags, mode);
}

int lstat(const char *path, struct stat *status) {
    char buffer[PATH_MAX];
    return NEXT(lstat)(known(path, buffer), status);
}

int stat(const char *path, struct stat *status) {
    char buffer[PATH_MAX];
    return NEXT(stat)(known(path, buffer), status);
}

int access(const char *path, int mode) {
    char buffer[PATH_MAX];
    return NEXT(access)(known(path, buffer), mode);
}

int unlink(const char *path) {
    char buffer[PATH_MAX];
    return NEXT(unlink)(known(path, buffer));
}

int rename(const char *from, const char *to) {
    char first[PATH_MAX], second[PATH_MAX];
    return NEXT(rename)(known(from, first), known(to, second));
}
