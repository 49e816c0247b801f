/*
 * state_words - what threads were doing, as words of a URL.
 *
 *     on_cpu           known to be so
 *     !on_cpu          known not to be so
 *     ~on_cpu          not known to be so: either it is not, or it is unknown
 *     unknown_on_cpu   not known
 *     !unknown_on_cpu  known, either way
 *
 * and the same for every fact of profile/state.h, separated by commas; all of them must hold.
 *
 * Depends on: err, buffer, profile/states.
 */
#ifndef SERVER_SETTINGS_STATE_WORDS_H
#define SERVER_SETTINGS_STATE_WORDS_H

#include "sampler/base/err.h"
#include "sampler/profile/state.h"

/* ERR_INVALID: `err` has what is wrong, to follow the name and the text as setting_read's does. */
MUST_CHECK enum err_code state_words_read(const char *text, state_bits *require_out,
                                          state_bits *exclude_out, struct err *err);

struct buffer;

/* The words that are read as these; nothing where all states are wanted. */
void state_words_put(struct buffer *out, state_bits require, state_bits exclude);
/* The same in English, `before` before each: "on CPU", "not holding the GIL". */
void state_words_put_phrases(struct buffer *out, const char *before, state_bits require,
                             state_bits exclude);

#endif /* SERVER_SETTINGS_STATE_WORDS_H */
