// The Secret Service (GNOME Keyring, KWallet, KeePassXC) by way of libsecret, opened when it is first needed.
//
// Entries have one schema and two attributes, application and account. All calls block. One of them asks the person, and
// takes as long as the person does: shims_secret_unlock. (KeePassXC asks by itself, too, before it searches a locked
// database or deletes an entry.) libsecret could take such a question back, but GNOME Keyring 42
// (Debian 12) fails an assertion then and ends, with all that it has unlocked: so it never is.
#ifndef LIBSECRET_SHIMS_H
#define LIBSECRET_SHIMS_H

#include <stddef.h>

enum shims_secret_code {
    SHIMS_SECRET_OK,
    SHIMS_SECRET_NONE,        // there is no such entry
    SHIMS_SECRET_NO_KEYRING,  // nor is there a keyring that it could be in
    SHIMS_SECRET_NO_BUS,      // there is no session bus
    SHIMS_SECRET_NO_SERVICE,  // nobody on the bus keeps secrets
    SHIMS_SECRET_LOCKED,      // the entry or its keyring is locked, or there is no keyring yet
    SHIMS_SECRET_DISMISSED,   // a person was asked, and said no
    SHIMS_SECRET_DENIED,      // the bus or the service does not let us
    SHIMS_SECRET_FAILED,      // anything else
};

// The functions of an opened libsecret.
struct shims_secrets;
// Calls in a row, of one thread.
struct shims_secret_call;

// Opens a libsecret. NULL if it is missing or incomplete; `problem` then says why.
const struct shims_secrets *_Nullable shims_secrets_open(
    const char *_Nonnull name, char *_Nonnull problem, size_t capacity);
// Frees the table. The library stays in the process: GLib cannot be unloaded.
void shims_secrets_free(const struct shims_secrets *_Nonnull secrets);

// What is asked for. Without an account: all of the application's.
struct shims_secret_place {
    const char *_Nonnull application;
    const char *_Nullable account;
    // What a person sees in a list of passwords.
    const char *_Nonnull label;
};

// `problem` receives what libsecret says when a call fails.
struct shims_secret_call *_Nullable shims_secret_call_new(
    const struct shims_secrets *_Nonnull secrets, char *_Nonnull problem, size_t capacity);
void shims_secret_call_free(struct shims_secret_call *_Nonnull call);

// Asks the person to unlock the entry; if there is none, the keyring that a new one goes to; and to make one if there is
// none either. Asks nothing if nothing is locked.
enum shims_secret_code shims_secret_unlock(
    struct shims_secret_call *_Nonnull call, const struct shims_secret_place *_Nonnull place);

// Reads an entry; NONE or NO_KEYRING if there is none. What it gives is to be freed. Where several keyrings have one, the
// newest counts.
enum shims_secret_code shims_secret_read(
    struct shims_secret_call *_Nonnull call, const struct shims_secret_place *_Nonnull place,
    char *_Nullable *_Nonnull secret, size_t *_Nonnull length);
// Wipes and frees.
void shims_secret_free(char *_Nullable secret, size_t length);

// Whether a new entry could be written: OK, or LOCKED.
enum shims_secret_code shims_secret_prepare(struct shims_secret_call *_Nonnull call);

// Writes an entry in place of the one that is there, or a new one. Comes after shims_secret_prepare if there is none:
// libsecret would ask the person to make a keyring.
enum shims_secret_code shims_secret_write(
    struct shims_secret_call *_Nonnull call, const struct shims_secret_place *_Nonnull place,
    const char *_Nonnull secret, size_t length);

// Gives an entry other attributes and another label. Its secret stays.
enum shims_secret_code shims_secret_set_aside(
    struct shims_secret_call *_Nonnull call, const struct shims_secret_place *_Nonnull place,
    const struct shims_secret_place *_Nonnull aside);

// Removes an entry, in whatever keyring it is.
enum shims_secret_code shims_secret_remove(
    struct shims_secret_call *_Nonnull call, const struct shims_secret_place *_Nonnull place);

// Tells the account and label of each entry, locked or not.
enum shims_secret_code shims_secret_list(
    struct shims_secret_call *_Nonnull call, const struct shims_secret_place *_Nonnull place, void *_Nullable context,
    void (*_Nonnull found)(void *_Nullable context, const char *_Nonnull account, const char *_Nonnull label));

#endif
