// What Swift cannot import from glibc's files: O_TMPFILE (a GNU extension).
#ifndef FILE_SHIMS_H
#define FILE_SHIMS_H

// A file without a name in a folder, which goes with its descriptor, or -1 with errno.
int shims_open_unnamed(const char *_Nonnull folder);

#endif
