/*
 * dump_locals - the variables of the frames of a dump, below each frame.
 *
 * A cursor goes through the frames of a thread as the dump writes them, the innermost first.
 *
 * Ownership: borrows the dump.
 */
#ifndef SERVER_SESSIONS_DUMP_LOCALS_H
#define SERVER_SESSIONS_DUMP_LOCALS_H

#include <stdbool.h>

#include "sampler/base/byte_reader.h"
#include "sampler/base/frame_variables.h"

struct buffer;
struct dump;
struct dump_row;
struct json;

struct dump_locals {
    struct byte_reader in;
    struct variable_frame frame;
    bool has_frame;
};

/* row: of the dump; one without variables has no frames. */
struct dump_locals dump_locals_of(const struct dump *dump, const struct dump_row *row);

/* Writes the variables of the frame that is next, if it is of this function, and goes on to the one after it. */
void dump_locals_put(struct buffer *out, struct dump_locals *locals, str_id function,
                     str_id file);
/* The member "locals": null if they are unknown. */
void dump_locals_write(struct json *json, struct dump_locals *locals, str_id function,
                       str_id file);

#endif /* SERVER_SESSIONS_DUMP_LOCALS_H */
