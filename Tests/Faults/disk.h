// What a disk has after the power was lost: of a file what was synchronised (fsync(2)), and of the folder the names that it had
// when it was last synchronised. One process alone changes the folder meanwhile.

enum { SESSION, NEW, FILES };

// What is synchronised of a file.
struct contents {
    char *bytes;
    size_t length;
};

static struct {
    char paths[FILES][PATH_MAX];
    // By name: as the program sees it, and as it is on the disk. NULL for a name that there is not.
    struct contents *seen[FILES], *stored[FILES];
} disk;

static int file_of(const char *path) {
    const char *kind = name(path);
    if (kind == NULL) return -1;
    return strcmp(kind, "session") == 0 ? SESSION : strcmp(kind, "session.new") == 0 ? NEW : -1;
}

static void disk_synchronise(struct contents *contents, int descriptor) {
    static char bytes[1 << 20];
    // It may be open for writing only.
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    int reading = NEXT(open)(link, O_RDONLY | O_CLOEXEC);
    ssize_t length = read(reading, bytes, sizeof bytes);
    close(reading);
    if (contents == NULL || length < 0) return;
    free(contents->bytes);
    contents->bytes = malloc((size_t)length + 1);
    if (contents->bytes == NULL) abort();
    memcpy(contents->bytes, bytes, (size_t)length);
    contents->length = (size_t)length;
}

static void disk_make(const char *path) {
    int file = file_of(path);
    if (file < 0) return;
    snprintf(disk.paths[file], PATH_MAX, "%s", path);
    disk.seen[file] = calloc(1, sizeof(struct contents));
}

static void disk_remove(const char *path) {
    int file = file_of(path);
    if (file >= 0) disk.seen[file] = NULL;
}

static void disk_rename(const char *from, const char *to) {
    if (file_of(from) != NEW || file_of(to) != SESSION) return;
    snprintf(disk.paths[SESSION], PATH_MAX, "%s", to);
    disk.seen[SESSION] = disk.seen[NEW];
    disk.seen[NEW] = NULL;
}

static void disk_synchronise_descriptor(int descriptor) {
    const char *kind = name_of(descriptor);
    if (kind && strcmp(kind, "folder") == 0) memcpy(disk.stored, disk.seen, sizeof disk.stored);
    int file = !kind ? -1 : strcmp(kind, "session") == 0 ? SESSION : strcmp(kind, "session.new") == 0 ? NEW : -1;
    if (file >= 0) disk_synchronise(disk.seen[file], descriptor);
}

// What is in the folder when the program begins is on the disk.
static void disk_begin(void) {
    const char *folder = getenv("FAULT_FOLDER");
    DIR *entries = folder ? opendir(folder) : NULL;
    if (entries == NULL) return;
    for (struct dirent *entry; (entry = readdir(entries));) {
        char path[PATH_MAX];
        if (entry->d_type != DT_REG) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        int file = file_of(path), descriptor = file < 0 ? -1 : NEXT(open)(path, O_RDONLY | O_CLOEXEC);
        if (descriptor < 0) continue;
        disk_make(path);
        disk_synchronise(disk.seen[file], descriptor);
        close(descriptor);
    }
    closedir(entries);
    memcpy(disk.stored, disk.seen, sizeof disk.stored);
}

// Leaves what the disk has; with the names as the program sees them, where a disk has stored those, but not what is in the files.
static void disk_lose_power(bool has_names) {
    for (int file = 0; file < FILES; file++) {
        struct contents *contents = (has_names ? disk.seen : disk.stored)[file];
        if (disk.paths[file][0] == 0) continue;
        if (contents == NULL) {
            NEXT(unlink)(disk.paths[file]);
            continue;
        }
        int descriptor = NEXT(open)(disk.paths[file], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (descriptor < 0 || (contents->length > 0 && NEXT(write)(descriptor, contents->bytes, contents->length) < 0)) abort();
        close(descriptor);
    }
}
