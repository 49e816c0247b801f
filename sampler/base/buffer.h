/*
 * buffer - bytes that grow.
 *
 * A failed append is remembered: the caller appends all it has and asks once, at the end.
 *
 * A buffer with a drain hands on what it holds whenever that is more than BUFFER_DRAIN_BYTES, so
 * that what is written may be larger than memory; buffer_flush hands on the rest.
 *
 * Ownership: the caller's storage holds the struct; the buffer owns its bytes until
 * buffer_take.  A zeroed struct is an empty buffer.
 * Limits: BUFFER_MAX_BYTES held at a time, then it fails.
 */
#ifndef SAMPLER_BASE_BUFFER_H
#define SAMPLER_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

/* A profile of 2^24 nodes is about 300 MB of JSON; more than this is a mistake. */
#define BUFFER_MAX_BYTES ((size_t)1 << 30)

enum { BUFFER_DRAIN_BYTES = 1 << 16 };

/* Takes all of the bytes; false: it could not, and the buffer has failed. */
typedef bool buffer_drain(void *to, const char *data, size_t bytes);

struct buffer {
    char *data; /* not NUL-terminated */
    size_t length;
    size_t capacity;
    bool failed;
    buffer_drain *drain; /* NULL: none */
    void *drain_to;
};

/* An empty buffer that hands its bytes on. */
void buffer_init_draining(struct buffer *buffer, buffer_drain *drain, void *to);
/* Hands on what is left.  Without a drain nothing happens. */
void buffer_flush(struct buffer *buffer);

void buffer_deinit(struct buffer *buffer);
/* Empties it and keeps the room; a failure is forgotten. */
void buffer_clear(struct buffer *buffer);

/* Room for `bytes` more; NULL when there is none.  buffer_grow says how much was used. */
char *buffer_reserve(struct buffer *buffer, size_t bytes);
void buffer_grow(struct buffer *buffer, size_t bytes);
/* Replaces the contents by so many bytes, which the caller writes; NULL: there is no room. */
char *buffer_replace(struct buffer *buffer, size_t bytes);

void buffer_append(struct buffer *buffer, const void *data, size_t bytes);
void buffer_text(struct buffer *buffer, const char *text);
void buffer_char(struct buffer *buffer, char c);
void buffer_uint(struct buffer *buffer, uint64_t value);

/* Numbers and texts for a byte_reader: fixed sizes are little-endian, a number is LEB128 (seven bits a byte, low bits
 * first), a signed one zigzag-coded before that; a sized text is its length, the bytes and a NUL, and NULL is the empty one. */
void buffer_u8(struct buffer *buffer, unsigned value);
void buffer_u32(struct buffer *buffer, uint32_t value);
void buffer_u64(struct buffer *buffer, uint64_t value);
void buffer_number(struct buffer *buffer, uint64_t value);
void buffer_signed(struct buffer *buffer, int64_t value);
void buffer_sized_text(struct buffer *buffer, const char *text);

void buffer_printf(struct buffer *buffer, const char *format, ...) PRINTF_LIKE(2, 3);

/* The bytes with a NUL behind them, or NULL when anything failed. */
const char *buffer_string(struct buffer *buffer);

/* ERR_NOMEM when anything failed. */
MUST_CHECK enum err_code buffer_check(const struct buffer *buffer, struct err *err);
/* Hands the bytes to the caller (free) and leaves an empty buffer. */
char *buffer_take(struct buffer *buffer, size_t *bytes_out);

#endif /* SAMPLER_BASE_BUFFER_H */
