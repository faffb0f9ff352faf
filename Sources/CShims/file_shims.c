#define _GNU_SOURCE

#include "file_shims.h"

#include <fcntl.h>

int shims_open_unnamed(const char *folder) { return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600); }
