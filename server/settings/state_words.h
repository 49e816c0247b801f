/*
 * state_words - conditions on thread states, and parts of time, as words for a URL and the command line.
 *
 *     on_cpu           known to be true
 *     !on_cpu          known to be false
 *     ~on_cpu          false or unknown
 *     unknown_on_cpu   unknown
 *     !unknown_on_cpu  known
 *
 * and the same for every fact of profile/state.h, separated by commas; all words must hold.  Parts (profile/part.h) are a
 * list of which one must hold: "running,needs_gil"; a hyphen may stand for the underscore.
 */
#ifndef SERVER_SETTINGS_STATE_WORDS_H
#define SERVER_SETTINGS_STATE_WORDS_H

#include "sampler/base/err.h"
#include "sampler/profile/part.h"

/* Leaves the parts.  ERR_INVALID: `err` has what is wrong, to follow the name and the text as setting_read's does. */
MUST_CHECK enum err_code state_words_read(const char *text, struct state_condition *out,
                                          struct err *err);

/* 0: all of them. */
MUST_CHECK enum err_code state_words_read_parts(const char *text, part_set *out,
                                                struct err *err);

struct buffer;

/* The words that state_words_read_parts turns into this set; nothing for 0. */
void state_words_put_parts(struct buffer *out, part_set set);
/* "running, needs the GIL or blocked"; "all but idle". */
void state_words_put_parts_phrase(struct buffer *out, part_set set);
/* The words that state_words_read turns into this condition; nothing if all states match. */
void state_words_put(struct buffer *out, const struct state_condition *condition);
/* Puts the condition in English, and the parts, `before` before each: "on CPU", "not holding
 * the GIL". */
void state_words_put_phrases(struct buffer *out, const char *before,
                             const struct state_condition *condition);

#endif /* SERVER_SETTINGS_STATE_WORDS_H */
