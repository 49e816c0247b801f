/*
 * numbered - the rows of a snapshot that a file refers to, numbered from 1 on in the order of first use.
 *
 * Row 0 of strings ("") and of the other tables has number 0.  Texts that are not in the snapshot are
 * strings too.  A file writes its tables at the end, when it is known what they hold.
 *
 *     number = numbered_frame(&numbered, frame);            while samples are written
 *     for (i = 1; i <= numbered.frames.count; i++)          then the table
 *         put(numbered.frames.rows[i]);
 *
 * Ownership: the caller's storage; borrows the snapshot.  numbered_deinit accepts a zeroed one.
 * Threads: one.
 * Limits: NUMBERED_MAX_TEXTS texts; further ones become "(other)".
 * Cost: memory for each row of the snapshot's tables.
 */
#ifndef SERVER_REPORT_ENCODING_NUMBERED_H
#define SERVER_REPORT_ENCODING_NUMBERED_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/strtab.h"
#include "sampler/profile/profile.h"

enum { NUMBERED_MAX_TEXTS = 1 << 14 };

struct numbering {
    uint32_t *number; /* by row; 0: none yet */
    uint32_t *rows;   /* by number */
    uint32_t count;
};

struct numbered {
    const struct profile_snapshot *snapshot;
    struct numbering strings, functions, frames, nodes;
    struct numbering libraries; /* row 0 too, which Python code is in, has a number */
    struct strtab texts;
    size_t bytes; /* at most what the tables take in a file */
};

/* How many rows had numbers at some time. */
struct numbered_mark {
    uint32_t strings, functions, frames, nodes, libraries;
    size_t bytes;
};

MUST_CHECK enum err_code numbered_init(struct numbered *numbered,
                                       const struct profile_snapshot *snapshot,
                                       struct err *err);
void numbered_deinit(struct numbered *numbered);
/* Forgets all numbers; texts keep their rows. */
void numbered_clear(struct numbered *numbered);

struct numbered_mark numbered_mark(const struct numbered *numbered);
/* Takes back the numbers that were given since then. */
void numbered_return(struct numbered *numbered, const struct numbered_mark *mark);

uint32_t numbered_string(struct numbered *numbered, str_id id);
uint32_t numbered_text(struct numbered *numbered, const char *text, size_t length);
uint32_t numbered_library(struct numbered *numbered, library_id id);
uint32_t numbered_function(struct numbered *numbered, function_id id);
/* With its function and library. */
uint32_t numbered_frame(struct numbered *numbered, frame_id id);
uint32_t numbered_node(struct numbered *numbered, node_id id);

/* The string with that number, 1 or more. */
struct strtab_string numbered_string_at(const struct numbered *numbered, uint32_t number);

#endif /* SERVER_REPORT_ENCODING_NUMBERED_H */
