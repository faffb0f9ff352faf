// What Swift cannot import for the samples' terminals: the size of one (ioctl is variadic), its modes (an array whose
// order each processor has of its own), and libqrencode, opened when it is first needed, so that neither a build nor a
// start depends on it.
#ifndef TERMINAL_SHIMS_H
#define TERMINAL_SHIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

struct terminal_size {
    int columns, rows;
};

// The size of a terminal; 0 and 0 if the descriptor is none.
struct terminal_size terminal_size(int descriptor);

// Has a terminal hand over each byte as it comes, unechoed, and a read never wait; signal keys stay. Otherwise it would
// cut a line at 4095 bytes (N_TTY_BUF_SIZE). `former` receives how it was, for tcsetattr. Returns whether that worked.
bool terminal_hand_over_bytes(int descriptor, struct termios *former);

// Makes the smallest QR code of a text, with the lowest error correction. Writes its modules row by row, 1 for a dark
// one, and returns its width; 0 if libqrencode is not installed, or the code does not fit.
int terminal_qr_code(const char *text, uint8_t *modules, size_t capacity);

#endif
