// O_TMPFILE, a GNU extension, which Swift cannot import.
#ifndef FILE_SHIMS_H
#define FILE_SHIMS_H

// Creates a file without a name in a folder. It exists until its descriptor is closed. Returns -1 with errno on error.
int shims_open_unnamed(const char *_Nonnull folder);

// Whether something is mounted at this path, which may be a file. 0 if the kernel does not tell (before Linux 5.8).
int shims_is_mount_point(const char *_Nonnull path);

#endif
