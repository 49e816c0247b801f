/*
 * capture_entry - what a list says of a capture.
 */
#ifndef SERVER_SESSIONS_CAPTURE_ENTRY_H
#define SERVER_SESSIONS_CAPTURE_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/http/json_body.h"
#include "server/wire/session.h"

enum {
    CAPTURES_MAX = 1 << 16,
    CAPTURES_NAME_BYTES = SESSION_MAX_CAPTURE + 1,
    CAPTURES_MAX_LABELS = 16,
};

/* Words of users about a capture. */
struct capture_words {
    char title[SESSION_MAX_NAME + 1];
    char note[SESSION_MAX_NOTE + 1];
    char labels[CAPTURES_MAX_LABELS][BODY_MAX_WORD + 1];
    size_t label_count;
    bool is_continuous;
};

enum capture_state { CAPTURE_RECORDING, CAPTURE_COMPLETE, CAPTURE_CUT };

struct capture_entry {
    char name[CAPTURES_NAME_BYTES];
    uint64_t bytes, changed_ns;
    struct capture_words words;
    enum capture_state state;
    const char *fault; /* why it cannot be read; NULL: it can */
    uint64_t pid, started_at_ns, ended_at_ns, elapsed_ns;
    double rate_hz;
    const char *executable, *python, *host, *user, *reason;
    size_t argc;
    const char *const *argv;
    bool has_no_arguments; /* it was recorded without them */
};

#endif /* SERVER_SESSIONS_CAPTURE_ENTRY_H */
