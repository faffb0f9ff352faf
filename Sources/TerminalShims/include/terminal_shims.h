// What Swift cannot import for the command. For terminals: their size (ioctl is variadic), their modes (an array whose order
// depends on the processor), and libqrencode, which is opened when it is first needed, so that neither a build nor a start
// depends on it. And the options of malloc, and a wait without any task.
#ifndef TERMINAL_SHIMS_H
#define TERMINAL_SHIMS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

struct terminal_size {
    int columns, rows;
};

// Gets the size of a terminal; 0 and 0 if the descriptor is not a terminal.
struct terminal_size terminal_size(int descriptor);

// Makes a terminal deliver each byte at once and without an echo; reads never wait, and signal keys still work. By default,
// a terminal cuts a line at 4095 bytes (N_TTY_BUF_SIZE). `former` receives the earlier modes, for tcsetattr. Returns whether
// it succeeded.
bool terminal_hand_over_bytes(int descriptor, struct termios *former);

// Creates the smallest QR code for a text, with the lowest error correction. Writes its modules row by row, 1 for a dark
// one, and returns its width, or 0 if libqrencode is not installed or the code does not fit.
int terminal_qr_code(const char *text, uint8_t *modules, size_t capacity);

// Waits until `changes` can be read (and reads it once), a time since boot has come, or one of the signals, which are blocked,
// is pending.
void process_rest(int changes, int64_t milliseconds_since_boot, const sigset_t *signals);

// Replaces this process by a program, for which only the standard streams and one more descriptor stay open: not, for
// example, a connection of a library. Returns if that fails.
void process_replace(const char *path, char *const arguments[], int kept);

// Makes all threads allocate from one heap.
void process_share_heap(void);

#endif
