#include "server/settings/state_words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/views/states.h"

static const char prefix[] = "unknown_";

struct word {
    const char *text;
    size_t length;
};

static bool is_text(const struct word *word, const char *text)
{
    return word->length == strlen(text) && memcmp(word->text, text, word->length) == 0;
}

static bool skip_text(struct word *word, const char *text)
{
    const size_t length = strlen(text);
    if (word->length < length || memcmp(word->text, text, length) != 0)
        return false;
    word->text += length;
    word->length -= length;
    return true;
}

static enum err_code read_word(const struct word *word, bool is_alone,
                               struct state_condition *out, struct err *err)
{
    state_bits *const require = &out->require, *const exclude = &out->exclude;
    struct word rest = *word;
    const bool is_not_known = skip_text(&rest, "~");
    const bool is_not = !is_not_known && skip_text(&rest, "!");
    const bool is_unknown = skip_text(&rest, prefix);
    for (unsigned i = 0; i < STATE_FLAG_COUNT; i++) {
        const enum state_flag flag = (enum state_flag)i;
        const state_bits yes = state_flag_yes(flag), unknown = state_flag_unknown(flag);
        if (!is_text(&rest, state_flag_text(flag)))
            continue;
        if (is_not_known)
            *exclude = (state_bits)(*exclude | (is_unknown ? unknown : yes));
        else if (is_not)
            *exclude = (state_bits)(*exclude | unknown | (is_unknown ? 0 : yes));
        else
            *require = (state_bits)(*require | (is_unknown ? unknown : yes));
        if ((*require & yes && *require & unknown) || *require & *exclude)
            return err_set(err, ERR_INVALID, "\"%.*s\" contradicts another state",
                           (int)word->length, word->text);
        return ERR_OK;
    }

    /* The caller quotes the whole text, so only one word of several is named. */
    char name[96] = "";
    if (!is_alone)
        snprintf(name, sizeof name, "\"%.*s\" is not a state; ",
                 word->length < 64 ? (int)word->length : 64, word->text);
    return err_set(
        err, ERR_INVALID,
        "%swant on_cpu, has_gil, waits_gil, in_gc, in_native, "
        "has_exception, runnable or in_jit, alone or after \"!\", \"~\" or \"unknown_\"",
        name);
}

enum err_code state_words_read(const char *text, struct state_condition *out, struct err *err)
{
    enum err_code rc = ERR_OK;
    const char *at = text;
    out->require = out->exclude = 0;
    do {
        const struct word word = { at, strcspn(at, ",") };
        rc = read_word(&word, word.length == strlen(text), out, err);
        at += word.length;
    } while (!rc && *at++ == ',');
    return rc;
}

/* "needs_gil", also as "needs-gil"; PART_COUNT: none. */
static enum part part_named(const struct word *word)
{
    for (enum part part = 0; part < PART_COUNT; part++) {
        const char *const text = part_text(part);
        size_t i = 0;
        while (i < word->length &&
               (word->text[i] == text[i] || (word->text[i] == '-' && text[i] == '_')))
            i++;
        if (i == word->length && !text[i])
            return part;
    }
    return PART_COUNT;
}

enum err_code state_words_read_parts(const char *text, part_set *out, struct err *err)
{
    const char *at = text;
    unsigned set = 0;
    do {
        const struct word word = { at, strcspn(at, ",") };
        const enum part part = part_named(&word);
        if (part == PART_COUNT)
            return err_set(err, ERR_INVALID,
                           "want some of running, needs_gil, needs_processor, blocked, idle");
        set |= 1U << part;
        at += word.length;
    } while (*at++ == ',');
    *out = (part_set)(set == PART_SET_ALL ? 0 : set);
    return ERR_OK;
}

/* Questions about a fact: the mark in front of its word, whether "unknown_" follows, and how it
 * is said. */
enum asked { YES, NO, NOT_KNOWN_SO, UNKNOWN, KNOWN, ASKED_COUNT };

static const struct {
    const char *mark, *phrase;
    bool is_unknown;
} askings[ASKED_COUNT] = {
    [YES] = { "", "", false },
    [NO] = { "!", "not ", false },
    [NOT_KNOWN_SO] = { "~", "all but ", false },
    [UNKNOWN] = { "", "unknown whether ", true },
    [KNOWN] = { "!", "known whether ", true },
};

static const char *const phrases[] = {
    [STATE_FLAG_ON_CPU] = "on CPU",
    [STATE_FLAG_HAS_GIL] = "holding the GIL",
    [STATE_FLAG_WAITS_GIL] = "waiting for the GIL",
    [STATE_FLAG_IN_GC] = "collecting garbage",
    [STATE_FLAG_IN_NATIVE] = "in native code",
    [STATE_FLAG_HAS_EXCEPTION] = "handling an exception",
    [STATE_FLAG_RUNNABLE] = "runnable",
    [STATE_FLAG_IN_JIT] = "in code of CPython's JIT",
};

/* ASKED_COUNT: nothing. */
static enum asked asked_of(enum state_flag flag, const struct state_condition *condition)
{
    const state_bits require = condition->require, exclude = condition->exclude;
    const state_bits yes = state_flag_yes(flag), unknown = state_flag_unknown(flag);
    if (require & yes)
        return YES;
    if (require & unknown)
        return UNKNOWN;
    if ((exclude & yes) && (exclude & unknown))
        return NO;
    if (exclude & yes)
        return NOT_KNOWN_SO;
    return exclude & unknown ? KNOWN : ASKED_COUNT;
}

void state_words_put(struct buffer *out, const struct state_condition *condition)
{
    const char *comma = "";
    for (enum state_flag flag = 0; flag < STATE_FLAG_COUNT; flag++) {
        const enum asked asked = asked_of(flag, condition);
        if (asked == ASKED_COUNT)
            continue;
        buffer_printf(out, "%s%s%s%s", comma, askings[asked].mark,
                      askings[asked].is_unknown ? prefix : "", state_flag_text(flag));
        comma = ",";
    }
}

void state_words_put_parts(struct buffer *out, part_set set)
{
    const char *comma = "";
    for (enum part part = 0; part < PART_COUNT; part++)
        if (part_set_has(set, part)) {
            buffer_printf(out, "%s%s", comma, part_text(part));
            comma = ",";
        }
}

void state_words_put_parts_phrase(struct buffer *out, part_set set)
{
    if (set == PART_SET_USUAL) {
        buffer_text(out, "all but idle");
        return;
    }
    const char *between = "";
    for (enum part part = 0; part < PART_COUNT; part++)
        if (part_set_has(set, part)) {
            buffer_printf(out, "%s%s", between, part_title(part));
            const unsigned rest = (unsigned)set >> (part + 1);
            between = rest & (rest - 1) ? ", " : " or ";
        }
}

void state_words_put_phrases(struct buffer *out, const char *before,
                             const struct state_condition *condition)
{
    if (condition->parts) {
        buffer_text(out, before);
        state_words_put_parts_phrase(out, condition->parts);
    }
    for (enum state_flag flag = 0; flag < STATE_FLAG_COUNT; flag++) {
        const enum asked asked = asked_of(flag, condition);
        if (asked != ASKED_COUNT)
            buffer_printf(out, "%s%s%s", before, askings[asked].phrase, phrases[flag]);
    }
}
