// What Swift cannot import for the command. For terminals: their size (ioctl is variadic), their modes (an array whose order
// depends on the processor), and libqrencode, which is opened when it is first needed, so that neither a build nor a start
// depends on it. And the options of malloc, and a wait without any task.
#ifndef TERMINAL_SHIMS_H
#define TERMINAL_SHIMS_H

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

// If the environment variable has a descriptor and a time, `7,123456`, waits until the descriptor can be read (and reads it
// once), that time in milliseconds since boot has come, or a signal that ends or stops the process is pending; from then on,
// these signals are blocked. Called before anything else: the process has touched little memory yet, and what of it is in files
// is given back.
void process_rest(const char *variable);

// Replaces this process by a program, for which only the standard streams and one more descriptor stay open: not, for
// example, a connection of a library. Returns if that fails.
void process_replace(const char *path, char *const arguments[], int kept);

// Makes all threads allocate from one heap.
void process_share_heap(void);

#endif
