#include "server/state_words.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "sampler/profile/states.h"

static const char prefix[] = "unknown_";

struct word {
    const char *text;
    size_t length;
};

static enum err_code unknown_word(const struct word *word, struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "unknown state \"%.*s\" (on_cpu, has_gil, waits_gil, in_gc, in_native and "
                   "has_exception may follow \"!\", \"~\" and \"unknown_\")",
                   word->length < 64 ? (int)word->length : 64, word->text);
}

static bool is_text(const struct word *word, const char *text)
{
    return word->length == strlen(text) && memcmp(word->text, text, word->length) == 0;
}

static bool skip(struct word *word, const char *text)
{
    const size_t length = strlen(text);
    if (word->length < length || memcmp(word->text, text, length) != 0)
        return false;
    word->text += length;
    word->length -= length;
    return true;
}

static enum err_code read_word(const struct word *word, state_bits *require,
                               state_bits *exclude, struct err *err)
{
    struct word rest = *word;
    const bool is_not_known = skip(&rest, "~");
    const bool is_not = !is_not_known && skip(&rest, "!");
    const bool is_unknown = skip(&rest, prefix);
    for (unsigned i = 0; i < STATE_FACT_COUNT; i++) {
        const enum state_fact fact = (enum state_fact)i;
        const state_bits yes = state_fact_yes(fact), unknown = state_fact_unknown(fact);
        if (!is_text(&rest, state_fact_text(fact)))
            continue;
        if (is_not_known)
            *exclude = (state_bits)(*exclude | (is_unknown ? unknown : yes));
        else if (is_not)
            *exclude = (state_bits)(*exclude | unknown | (is_unknown ? 0 : yes));
        else
            *require = (state_bits)(*require | (is_unknown ? unknown : yes));
        if ((*require & *exclude) || ((*require & yes) && (*require & unknown)))
            return err_set(err, ERR_INVALID, "state \"%.*s\" contradicts another one",
                           (int)word->length, word->text);
        return ERR_OK;
    }
    return unknown_word(word, err);
}

enum err_code state_words_read(const char *text, state_bits *require_out,
                               state_bits *exclude_out, struct err *err)
{
    enum err_code rc = ERR_OK;
    const char *at = text;
    *require_out = *exclude_out = 0;
    do {
        const struct word word = { at, strcspn(at, ",") };
        rc = read_word(&word, require_out, exclude_out, err);
        at += word.length;
    } while (rc == ERR_OK && *at++ == ',');
    return rc;
}
