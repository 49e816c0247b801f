/*
 * input - the bytes of a foreign file in order, unpacked if they are packed, and some of those that come.
 *
 * Failures are sticky: what follows a failure is the end.
 *
 * Ownership: input_open makes room, input_close frees it and accepts a zeroed struct.  The descriptor stays the caller's.
 * Threads: one.
 * Limits: INPUT_BYTES in memory; INPUT_MAX_BYTES unpacked, then ERR_LIMIT.
 */
#ifndef SAMPLER_FOREIGN_INPUT_H
#define SAMPLER_FOREIGN_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { INPUT_BYTES = 1 << 22 };
#define INPUT_MAX_BYTES ((uint64_t)1 << 36)

struct input {
    struct compress_reader *reader;
    unsigned char *data;
    size_t at, end;     /* of what is in memory */
    uint64_t passed;    /* bytes before that */
    enum err_code code; /* of the failure; ERR_OK: none */
    struct err err;     /* with code */
};

MUST_CHECK enum err_code input_open(struct input *input, int fd, struct err *err);
/* A part of the file. */
MUST_CHECK enum err_code input_open_part(struct input *input, int fd, uint64_t from,
                                         uint64_t to, struct err *err);
void input_close(struct input *input);

/* Has so many bytes, at most INPUT_BYTES, ready at input->data + input->at; false: fewer are left. */
bool input_ready(struct input *input, size_t bytes);
/* The next byte, which stays; -1: the end. */
int input_peek(struct input *input);
/* Takes the next byte; -1: the end. */
int input_take(struct input *input);
/* How many bytes were taken. */
static inline uint64_t input_offset(const struct input *input)
{
    return input->passed + input->at;
}
/* Goes forward to an offset; false: the file ends before it. */
bool input_skip_to(struct input *input, uint64_t offset);
/* The next line, without its end, not NUL-terminated and valid until the next call.  NULL: the end, or with a failure a line
 * that is longer than INPUT_BYTES. */
const char *input_line(struct input *input, size_t *bytes_out);
/* Is that text in the bytes? */
bool input_has(const unsigned char *data, size_t bytes, const char *text);
/* The failure, if there was one. */
MUST_CHECK enum err_code input_check(const struct input *input, struct err *err);

#endif /* SAMPLER_FOREIGN_INPUT_H */
