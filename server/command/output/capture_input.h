/*
 * captured - a capture on disk as what reports are made of.
 *
 * Ownership: the caller's storage, which must not move; captured_close accepts CAPTURED_NONE.
 * Depends on: loaded, report, wire/session.
 */
#ifndef SERVER_COMMAND_OUTPUT_CAPTURE_INPUT_H
#define SERVER_COMMAND_OUTPUT_CAPTURE_INPUT_H

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "server/report/header.h"
#include "server/report/report.h"
#include "server/wire/rules.h"
#include "server/wire/session.h"

struct loaded;
struct reader_part;

struct captured {
    struct loaded *loaded; /* NULL: none */
    struct profile_snapshot snapshot;
    struct session_facts facts;
    struct view_query everything;
    struct reshaped reshaped; /* zeroed: its stacks are as they were */
    struct report_selection selection;
    struct report_header header; /* of all of it, as the source */
    struct report_source source;
};

#define CAPTURED_NONE  \
    {                  \
        .loaded = NULL \
    }

/* Reads a part of it, and says how far it is to who looks on.  hides_arguments as in loaded_open. */
MUST_CHECK enum err_code captured_load(const char *path, const struct reader_part *part,
                                       bool hides_arguments, struct loaded **out,
                                       struct err *err);

/* Reads all of it; says what is missing of a capture that was cut.  memory_bytes: as --memory. */
MUST_CHECK enum err_code captured_open(struct captured *captured, const char *path,
                                       size_t memory_bytes, bool hides_arguments,
                                       struct err *err);
/* Its source is of the stacks that the rules make from then on; none: nothing changes. */
MUST_CHECK enum err_code captured_reshape(struct captured *captured, const struct rules *rules,
                                          struct err *err);
void captured_close(struct captured *captured);

#endif /* SERVER_COMMAND_OUTPUT_CAPTURE_INPUT_H */
