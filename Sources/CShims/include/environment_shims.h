// secure_getenv, which Glibc's module leaves out since it is an extension of GNU's.
#ifndef ENVIRONMENT_SHIMS_H
#define ENVIRONMENT_SHIMS_H

// A variable of the environment; NULL also where the program has more rights than the user who started it (setuid, setgid
// or capabilities): that user could otherwise choose what it trusts.
const char *_Nullable shims_secure_getenv(const char *_Nonnull name);

#endif
