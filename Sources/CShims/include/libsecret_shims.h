// The Secret Service (GNOME Keyring, KWallet, KeePassXC), by libsecret, which is opened when it is first needed.
//
// Entries have one schema and two attributes, application and account. All calls block. shims_secret_unlock prompts the
// user, and waits until the user responds. (KeePassXC also prompts by itself, before it searches a locked database or
// deletes an entry.) A prompt is never withdrawn, although libsecret could do so: GNOME Keyring 42 (Debian 12) would fail an
// assertion and end, and lose all that it has unlocked.
#ifndef LIBSECRET_SHIMS_H
#define LIBSECRET_SHIMS_H

#include <stddef.h>

enum shims_secret_code {
    SHIMS_SECRET_OK,
    SHIMS_SECRET_NONE,        // there is no such entry
    SHIMS_SECRET_NO_KEYRING,  // no such entry, and no keyring
    SHIMS_SECRET_NO_BUS,      // there is no session bus
    SHIMS_SECRET_NO_SERVICE,  // the bus has no service that keeps secrets
    SHIMS_SECRET_LOCKED,      // the entry or its keyring is locked, or there is no keyring yet
    SHIMS_SECRET_DISMISSED,   // the user was prompted and declined
    SHIMS_SECRET_DENIED,      // the bus or the service denies access
    SHIMS_SECRET_FAILED,      // anything else
};

// The functions of an opened libsecret.
struct shims_secrets;
// Consecutive calls of one thread.
struct shims_secret_call;

// Opens a libsecret. Returns NULL if it is missing or incomplete, and `problem` says why.
const struct shims_secrets *_Nullable shims_secrets_open(
    const char *_Nonnull name, char *_Nonnull problem, size_t capacity);
// Frees the table. The library stays in the process: GLib cannot be unloaded.
void shims_secrets_free(const struct shims_secrets *_Nonnull secrets);

// The entry to find. Without an account: all entries of the application.
struct shims_secret_place {
    const char *_Nonnull application;
    const char *_Nullable account;
    // The name that the user sees in a list of passwords.
    const char *_Nonnull label;
};

// If a call fails, `problem` receives libsecret's message.
struct shims_secret_call *_Nullable shims_secret_call_new(
    const struct shims_secrets *_Nonnull secrets, char *_Nonnull problem, size_t capacity);
void shims_secret_call_free(struct shims_secret_call *_Nonnull call);

// Prompts the user to unlock the entry. If there is no entry, prompts for the keyring of new entries, and to create one if
// there is no keyring. Does not prompt if nothing is locked.
enum shims_secret_code shims_secret_unlock(
    struct shims_secret_call *_Nonnull call, const struct shims_secret_place *_Nonnull place);

// Reads an entry; NONE or NO_KEYRING if there is none. The caller frees the secret. If several keyrings have the entry, the
// newest one counts.
enum shims_secret_code shims_secret_read(
    struct shims_secret_call *_Nonnull call, const struct shims_secret_place *_Nonnull place,
    char *_Nullable *_Nonnull secret, size_t *_Nonnull length);
// Wipes and frees a secret.
void shims_secret_free(char *_Nullable secret, size_t length);

// Returns whether a new entry could be written: OK or LOCKED.
enum shims_secret_code shims_secret_prepare(struct shims_secret_call *_Nonnull call);

// Replaces the entry, or writes a new one. If there is none, call shims_secret_prepare before: otherwise libsecret would
// prompt the user to create a keyring.
enum shims_secret_code shims_secret_write(
    struct shims_secret_call *_Nonnull call, const struct shims_secret_place *_Nonnull place,
    const char *_Nonnull secret, size_t length);

// Changes the attributes and the label of an entry. Its secret stays.
enum shims_secret_code shims_secret_set_aside(
    struct shims_secret_call *_Nonnull call, const struct shims_secret_place *_Nonnull place,
    const struct shims_secret_place *_Nonnull aside);

// Removes an entry from any keyring.
enum shims_secret_code shims_secret_remove(
    struct shims_secret_call *_Nonnull call, const struct shims_secret_place *_Nonnull place);

// Reports the account and the label of each entry, locked or not.
enum shims_secret_code shims_secret_list(
    struct shims_secret_call *_Nonnull call, const struct shims_secret_place *_Nonnull place, void *_Nullable context,
    void (*_Nonnull found)(void *_Nullable context, const char *_Nonnull account, const char *_Nonnull label));

#endif
