#define _GNU_SOURCE
#include "environment_shims.h"

#include <stdlib.h>
#include <unistd.h>

const char *shims_secure_getenv(const char *name) { return secure_getenv(name); }

char **shims_environment(void) { return environ; }
