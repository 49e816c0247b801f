/*
 * protobuf_reader - the fields of protocol buffers, in the order in which they are written.
 *
 *     struct protobuf_reader message = protobuf_reader_over(bytes);
 *     while (protobuf_reader_next(&message))
 *         switch (message.field) ...
 *     if (message.is_bad) ...
 *
 * Ownership: a message borrows the bytes.
 * Threads: any.
 * Limits: a field of a file has less than INPUT_BYTES.
 */
#ifndef SAMPLER_FOREIGN_PROTOBUF_READER_H
#define SAMPLER_FOREIGN_PROTOBUF_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/foreign/gather.h"
#include "sampler/foreign/input.h"

struct protobuf_reader {
    const unsigned char *at, *end;
    unsigned field;           /* the last one */
    uint64_t number;          /* of a field that is a number */
    struct gather_text bytes; /* of one that has bytes; bytes.text NULL: it has none */
    bool is_bad;              /* it ends within a field */
};

struct protobuf_reader protobuf_reader_over(struct gather_text bytes);
/* Takes the next field.  false: the end, or is_bad. */
bool protobuf_reader_next(struct protobuf_reader *message);

/* Calls `take` with each value of a repeated number, packed or one by one, until it returns false.  false: it did, or the field is bad. */
typedef bool protobuf_reader_take(void *context, uint64_t value);
bool protobuf_reader_each(const struct protobuf_reader *field, protobuf_reader_take *take,
                          void *context);

/* Takes the next field of a file: its number, and its bytes in memory until the next call. */
MUST_CHECK enum err_code protobuf_reader_next_of(struct input *input,
                                                 struct protobuf_reader *out, bool *has_more,
                                                 struct err *err);

#endif /* SAMPLER_FOREIGN_PROTOBUF_READER_H */
