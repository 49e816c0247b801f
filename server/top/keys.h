/*
 * keys - decodes the keys that were pressed from the bytes that a terminal sends.
 *
 * Limits: KEYS_BYTES in one read; the terminal buffers the rest.
 */
#ifndef SERVER_TOP_KEYS_H
#define SERVER_TOP_KEYS_H

#include <stddef.h>
#include <stdint.h>

enum { KEYS_BYTES = 256 };

/* A key is a byte, or one of these. */
enum key {
    KEY_NONE = 0,
    KEY_REDRAW = 0x0c, /* Ctrl-L */
    KEY_ENTER = '\r',
    KEY_ESCAPE = 0x1b,
    KEY_BACKSPACE = 0x7f,
    KEY_UP = 0x100,
    KEY_DOWN,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_HOME,
    KEY_END,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
};

/* Returns the first key of *at and moves *at behind it.  KEY_NONE: an unknown sequence. */
int keys_next(const char **at, const char *end);

#endif /* SERVER_TOP_KEYS_H */
