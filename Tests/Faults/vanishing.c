// libsecret, where the first entry that is found is removed by somebody else before its secret is read.
#include <dlfcn.h>
#include <stddef.h>

int secret_item_delete_sync(void *item, void *cancellable, void **error);

void *secret_retrievable_retrieve_secret_sync(void *item, void *cancellable, void **error) {
    static int count;
    if (count++ == 0) secret_item_delete_sync(item, NULL, NULL);
    void *library = dlopen("libsecret-1.so.0", RTLD_NOW | RTLD_NOLOAD);
    void *(*retrieve)(void *, void *, void **) = dlsym(library, "secret_retrievable_retrieve_secret_sync");
    return retrieve(item, cancellable, error);
}
