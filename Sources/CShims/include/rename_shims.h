// What Swift does not import: renameat2(2) is a GNU extension.
#ifndef RENAME_SHIMS_H
#define RENAME_SHIMS_H

// Renames like rename(2), but never onto something that is there already: -1 and EEXIST then.
int shims_rename_to_free_name(const char *_Nonnull from, const char *_Nonnull to);

#endif
