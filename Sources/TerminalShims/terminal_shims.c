#define _GNU_SOURCE
#include "terminal_shims.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/close_range.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

struct terminal_size terminal_size(int descriptor) {
    struct winsize size = {0};
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0) return (struct terminal_size){0, 0};
    return (struct terminal_size){size.ws_col, size.ws_row};
}

bool terminal_hand_over_bytes(int descriptor, struct termios *former) {
    if (tcgetattr(descriptor, former) != 0) return false;
    struct termios modes = *former;
    modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    modes.c_cc[VMIN] = 0;
    modes.c_cc[VTIME] = 0;
    return tcsetattr(descriptor, TCSANOW, &modes) == 0;
}

// From libqrencode's public header. It is part of the ABI of libqrencode.so.4.
struct qr_code {
    int version;
    int width;
    unsigned char *data;
};
enum { LEVEL_L = 0, MODE_8 = 2, CASE_SENSITIVE = 1, ANY_VERSION = 0 };

int terminal_qr_code(const char *text, uint8_t *modules, size_t capacity) {
    void *library = dlopen("libqrencode.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return 0;
    struct qr_code *(*encode)(const char *, int, int, int, int) =
        (struct qr_code * (*)(const char *, int, int, int, int)) dlsym(library, "QRcode_encodeString");
    void (*release)(struct qr_code *) = (void (*)(struct qr_code *))dlsym(library, "QRcode_free");
    struct qr_code *code = NULL;
    if (encode != NULL && release != NULL) code = encode(text, ANY_VERSION, LEVEL_L, MODE_8, CASE_SENSITIVE);
    int width = 0;
    if (code != NULL) {
        if ((size_t)code->width * (size_t)code->width <= capacity) {
            width = code->width;
            // The lowest bit of a module is its colour. The others give its purpose.
            for (int i = 0; i < width * width; i++) modules[i] = code->data[i] & 1;
        }
        release(code);
    }
    dlclose(library);
    return width;
}

void process_share_heap(void) { mallopt(M_ARENA_MAX, 1); }

static int64_t milliseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void wait_until(int64_t end, int changes, int signal) {
    struct itimerspec time = {.it_value = {end / 1000, end % 1000 * 1000000 + 1}};
    int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (timer < 0) return;
    struct pollfd all[] = {
        {.fd = timer, .events = POLLIN}, {.fd = changes, .events = POLLIN}, {.fd = signal, .events = POLLIN}};
    if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL) == 0)
        while (poll(all, 3, -1) < 0 && errno == EINTR) {}
    char events[4096];
    if (all[1].revents != 0) (void)!read(changes, events, sizeof events);
    close(timer);
}

// Gives the pages of a file of the process back to the kernel, which reads them again when they are needed.
static int give_back(struct dl_phdr_info *file, size_t size, void *unused) {
    (void)size, (void)unused;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        // What was written, by the loader or the program, is in no file.
        if (part->p_type != PT_LOAD || (part->p_flags & PF_W) != 0) continue;
        uintptr_t begin = (file->dlpi_addr + part->p_vaddr) & -page;
        uintptr_t end = file->dlpi_addr + part->p_vaddr + part->p_memsz;
        madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    return 0;
}

void process_rest(const char *variable) {
    const char *value = getenv(variable);
    int changes = -1;
    long long end = 0;
    if (value == NULL || sscanf(value, "%d,%lld", &changes, &end) != 2 || end < 0) return;
    sigset_t signals;
    sigemptyset(&signals);
    // Not those that the program ignores: the kernel would keep one of them pending, and end each rest at once.
    const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct sigaction action;
        if (ends[i] == SIGTERM || sigaction(ends[i], NULL, &action) != 0 || action.sa_handler != SIG_IGN)
            sigaddset(&signals, ends[i]);
    }
    sigprocmask(SIG_BLOCK, &signals, NULL);
    int signal = signalfd(-1, &signals, SFD_CLOEXEC);
    dl_iterate_phdr(give_back, NULL);
    int64_t all = milliseconds(CLOCK_BOOTTIME), awake = milliseconds(CLOCK_MONOTONIC);
    wait_until(end, changes, signal);
    int64_t now = milliseconds(CLOCK_BOOTTIME);
    // All machines of an office wake at the same time, and their network only a moment later.
    uint16_t random = 0;
    if (now - all - (milliseconds(CLOCK_MONOTONIC) - awake) > 30000 && getrandom(&random, sizeof random, 0) > 0)
        wait_until(now + random % 60000, -1, signal);
    if (signal >= 0) close(signal);
}

void process_replace(const char *path, char *const arguments[], int kept) {
    // Since Linux 5.11. The program's own descriptors are marked already.
    syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
    fcntl(kept, F_SETFD, 0);
    execv(path, arguments);
    fcntl(kept, F_SETFD, FD_CLOEXEC);
}
