// secure_getenv and environ, which Swift's module Glibc leaves out.
#ifndef ENVIRONMENT_SHIMS_H
#define ENVIRONMENT_SHIMS_H

// Returns a variable of the environment. Returns NULL if the program has more rights than the user who started it (setuid,
// setgid or capabilities): that user could otherwise choose what the program trusts.
const char *_Nullable shims_secure_getenv(const char *_Nonnull name);

// Returns the environment of this process, as bytes: a list that ends with NULL.
char *_Nullable *_Nonnull shims_environment(void);

#endif
