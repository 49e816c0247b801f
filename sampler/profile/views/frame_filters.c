#include "sampler/profile/views/frame_filters.h"

#include <string.h>

#include "sampler/base/hash.h"

const char *const wait_marks_texts[] = { "on", "off", NULL };

const char *frame_filter_name(enum frame_filter_kind kind)
{
    static const char *const names[] = {
#define X(name, text) text,
        FRAME_FILTER_KINDS(X)
#undef X
    };
    return names[kind];
}

enum err_code frame_filters_add(struct frame_filters *filters, enum frame_filter_kind kind,
                                const char *pattern, struct err *err)
{
    struct pattern tried;
    if (filters->count == FRAME_FILTERS_MAX)
        return err_set(err, ERR_INVALID, "there may be at most %d filters", FRAME_FILTERS_MAX);
    const enum err_code rc = pattern_init(&tried, pattern, err);
    pattern_deinit(&tried);
    if (!rc)
        filters->items[filters->count++] = (struct frame_filter){ kind, pattern };
    return rc;
}

static bool has_filter(const struct frame_filters *filters, const struct frame_filter *wanted)
{
    for (size_t i = 0; i < filters->count; i++)
        if (filters->items[i].kind == wanted->kind &&
            strcmp(filters->items[i].pattern, wanted->pattern) == 0)
            return true;
    return false;
}

static bool has_all(const struct frame_filters *filters, const struct frame_filters *wanted)
{
    for (size_t i = 0; i < wanted->count; i++)
        if (!has_filter(filters, &wanted->items[i]))
            return false;
    return true;
}

bool frame_filters_agree(const struct frame_filters *a, const struct frame_filters *b)
{
    return has_all(a, b) && has_all(b, a);
}

uint64_t frame_filters_hash(const struct frame_filters *filters, uint64_t hash)
{
    hash = hash_bytes(&filters->native, sizeof filters->native, hash);
    hash = hash_bytes(&filters->waits, sizeof filters->waits, hash);
    hash = hash_bytes(&filters->shows_contexts, sizeof filters->shows_contexts, hash);
    hash = hash_bytes(&filters->count, sizeof filters->count, hash);
    for (size_t i = 0; i < filters->count; i++) {
        const struct frame_filter *const filter = &filters->items[i];
        hash = hash_bytes(&filter->kind, sizeof filter->kind, hash);
        hash = hash_bytes(filter->pattern, strlen(filter->pattern) + 1, hash);
    }
    return hash;
}

enum err_code frame_matcher_init(struct frame_matcher *matcher,
                                 const struct frame_filters *filters, struct err *err)
{
    enum err_code rc = ERR_OK;
    *matcher = (struct frame_matcher){ .filters = filters };
    for (size_t i = 0; filters && i < filters->count && !rc; i++) {
        rc = pattern_init(&matcher->patterns[i], filters->items[i].pattern, err);
        matcher->used |= 1U << filters->items[i].kind;
        matcher->count++;
    }
    return rc;
}

void frame_matcher_deinit(struct frame_matcher *matcher)
{
    for (size_t i = 0; i < matcher->count; i++)
        pattern_deinit(&matcher->patterns[i]);
    matcher->count = 0;
}

enum err_code frame_matcher_kinds(const struct frame_matcher *matcher,
                                  const struct pattern_subject *subject, unsigned *out,
                                  struct err *err)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < matcher->count; i++) {
        const struct frame_filter *const filter = &matcher->filters->items[i];
        bool matches;
        const enum err_code rc = pattern_matches(&matcher->patterns[i], subject, &matches, err);
        if (rc)
            return err_wrap(err, rc, "the filter %s %.100s", frame_filter_name(filter->kind),
                            filter->pattern);
        if (matches)
            kinds |= 1U << filter->kind;
    }
    *out = kinds;
    return ERR_OK;
}

static bool is_of(unsigned kinds, enum frame_filter_kind kind)
{
    return (kinds & 1U << kind) != 0;
}

unsigned frame_matcher_start(const struct frame_matcher *matcher)
{
    return (is_of(matcher->used, FRAME_FILTER_FOCUS) ? 0U : FRAME_FOCUSED) |
           (is_of(matcher->used, FRAME_FILTER_SHOW_FROM) ? 0U : FRAME_STARTED);
}

unsigned frame_matcher_leave(unsigned known, unsigned kinds)
{
    known &= ~(unsigned)FRAME_KEPT;
    if (is_of(kinds, FRAME_FILTER_FOCUS))
        known |= FRAME_FOCUSED;
    if (is_of(kinds, FRAME_FILTER_IGNORE))
        known |= FRAME_IGNORED;
    return known;
}

unsigned frame_matcher_step(const struct frame_matcher *matcher, unsigned known, unsigned kinds)
{
    known = frame_matcher_leave(known, kinds);
    if (is_of(kinds, FRAME_FILTER_HIDE) ||
        (is_of(matcher->used, FRAME_FILTER_SHOW) && !is_of(kinds, FRAME_FILTER_SHOW)))
        return known;
    if (is_of(kinds, FRAME_FILTER_SHOW_FROM))
        known |= FRAME_STARTED;
    return known & FRAME_STARTED ? known | FRAME_KEPT | FRAME_BENEATH : known;
}

bool frame_matcher_counts(const struct frame_matcher *matcher, unsigned known)
{
    return matcher->count == 0 ||
           ((known & FRAME_FOCUSED) && !(known & FRAME_IGNORED) && (known & FRAME_BENEATH));
}
