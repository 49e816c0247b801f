/*
 * expressions - the expressions of the source lines that name locks (expression.h), of one dump or one answer.
 *
 * A file is read once, as other source text is: with the rights of a process that runs its code.  What cannot be read has no
 * expressions.
 *
 * Ownership: the caller's storage; expressions_deinit accepts a zeroed one.  Borrows the reader and the snapshot.  Texts are valid
 * until then.
 * Threads: one at a time.
 * Limits: EXPRESSIONS_MAX_FILES files, EXPRESSIONS_ANSWER_MS of time to read them for an answer, EXPRESSIONS_DUMP_MS for a
 * dump, EXPRESSIONS_MAX_BYTES of text.
 */
#ifndef SERVER_SOURCE_EXPRESSIONS_H
#define SERVER_SOURCE_EXPRESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/buffer.h"
#include "sampler/base/lock_use.h"
#include "server/source/source_reader.h"

struct session;

enum {
    EXPRESSIONS_MAX_FILES = 16,
    EXPRESSIONS_MAX_BYTES = 8 << 20,
    EXPRESSIONS_ANSWER_MS = 1000,
    EXPRESSIONS_DUMP_MS = 5000 /* who takes a dump waits for it, and busy machines are dumped */
};

struct expressions {
    struct source_reader reader; /* without `read`: there are no texts */
    const struct profile_snapshot *snapshot;
    struct expressions_file {
        str_id file;
        struct buffer text; /* "": it cannot be read */
    } files[EXPRESSIONS_MAX_FILES];
    size_t count, bytes;
    uint64_t spent_ns, most_ns;
};

/* reader: NULL: there are no texts. */
void expressions_init(struct expressions *expressions, const struct source_reader *reader,
                      const struct profile_snapshot *snapshot);
/* Asks the processes of a session; nothing is kept for when they have ended. */
void expressions_init_session(struct expressions *expressions, struct session *session,
                              const struct profile_snapshot *snapshot);
void expressions_deinit(struct expressions *expressions);

/* The expression of a use; of length 0: unknown. */
struct strtab_string expressions_find(struct expressions *expressions,
                                      const struct lock_use *use);

/* As expression_find_acquire, in a file whose text was read before.  Takes the bytes that it reads from *bytes_left, and finds nothing
 * if there are not as many. */
int32_t expressions_find_acquire(struct expressions *expressions, str_id file,
                                 struct strtab_string expression, int32_t from, int32_t to,
                                 size_t *bytes_left);

#endif /* SERVER_SOURCE_EXPRESSIONS_H */
