// renameat2(2), a GNU extension, which Swift does not import.
#ifndef RENAME_SHIMS_H
#define RENAME_SHIMS_H

// Renames like rename(2), but never replaces a file: returns -1 with EEXIST instead.
int shims_rename_to_free_name(const char *_Nonnull from, const char *_Nonnull to);

#endif
