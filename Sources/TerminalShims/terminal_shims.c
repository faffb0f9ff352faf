#define _GNU_SOURCE
#include "terminal_shims.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <malloc.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
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

void process_rest(int changes, int64_t milliseconds, const sigset_t *signals) {
    struct itimerspec time = {.it_value = {milliseconds / 1000, milliseconds % 1000 * 1000000}};
    int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    int signal = signalfd(-1, signals, SFD_CLOEXEC);
    if (timer >= 0 && signal >= 0 && timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL) == 0) {
        struct pollfd all[] = {{.fd = changes, .events = POLLIN}, {.fd = timer, .events = POLLIN},
            {.fd = signal, .events = POLLIN}};
        while (poll(all, 3, -1) < 0 && errno == EINTR) {}
        char events[4096];
        if (all[0].revents != 0) (void)!read(changes, events, sizeof events);
    }
    if (timer >= 0) close(timer);
    if (signal >= 0) close(signal);
}

void process_replace(const char *path, char *const arguments[], int kept) {
    // Since Linux 5.11. The program's own descriptors are marked already.
    syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
    fcntl(kept, F_SETFD, 0);
    execv(path, arguments);
    fcntl(kept, F_SETFD, FD_CLOEXEC);
}
