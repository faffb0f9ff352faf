// What Swift cannot import for the samples' terminals: the size of one (ioctl is variadic), and libqrencode, opened when
// it is first needed, so that neither a build nor a start depends on it.
#ifndef TERMINAL_SHIMS_H
#define TERMINAL_SHIMS_H

#include <stddef.h>
#include <stdint.h>

struct terminal_size {
    int columns, rows;
};

// The size of a terminal; 0 and 0 if the descriptor is none.
struct terminal_size terminal_size(int descriptor);

// Makes the smallest QR code of a text, with the lowest error correction. Writes its modules row by row, 1 for a dark
// one, and returns its width; 0 if libqrencode is not installed, or the code does not fit.
int terminal_qr_code(const char *text, uint8_t *modules, size_t capacity);

#endif
