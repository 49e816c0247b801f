#include "sampler/profile/views/own_lines.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/views/expression.h"
#include "sampler/profile/views/pattern.h"
#include "sampler/profile/views/states.h"
#include "sampler/profile/views/view.h"

struct own_patterns {
    size_t count; /* 0: the rule */
    struct pattern patterns[OWN_LINES_MAX_PATTERNS];
};

static void own_patterns_deinit(struct own_patterns *own)
{
    for (size_t i = 0; i < own->count; i++)
        pattern_deinit(&own->patterns[i]);
}

static const char *text_of(const struct profile_snapshot *snapshot, str_id id)
{
    return profile_string(snapshot, id).text;
}

static enum err_code mark_matching(const struct own_patterns *own,
                                   const struct profile_snapshot *snapshot,
                                   unsigned char *marks, struct err *err)
{
    for (function_id id = 1; id < snapshot->sizes.functions; id++) {
        const struct profile_function function = profile_function_at(snapshot, id);
        const struct pattern_subject subject = {
            .name = text_of(snapshot, function.name),
            .file = text_of(snapshot, function.file),
            .line = function.first_line,
        };
        bool matches = false;
        if (function.library || strcmp(subject.file, "~") == 0)
            continue;
        for (size_t i = 0; i < own->count && !matches; i++) {
            const enum err_code rc =
                pattern_matches(&own->patterns[i], &subject, &matches, err);
            if (rc)
                return rc;
        }
        marks[id] = matches;
    }
    return ERR_OK;
}

/* The samples of the view by frame; those without your code at frame 0. */
struct counting {
    const struct profile_snapshot *snapshot;
    unsigned char *own; /* by function: a bit for each level */
    frame_id *frame_of; /* by node: the innermost frame of your code, 0: none */
    uint64_t *samples;  /* by frame */
};

/* Parents come before children.  Returns the samples with your code, of that level. */
static uint64_t count_lines(struct counting *counting, size_t level, const struct view *view)
{
    const struct profile_snapshot *const snapshot = counting->snapshot;
    memset(counting->samples, 0, (size_t)snapshot->sizes.frames * sizeof *counting->samples);
    for (node_id id = 1; id < snapshot->sizes.nodes; id++) {
        const struct profile_node node = profile_node_at(snapshot, id);
        const function_id function = profile_frame_at(snapshot, node.frame).function;
        counting->frame_of[id] =
            counting->own[function] >> level & 1 ? node.frame : counting->frame_of[node.parent];
    }
    for (size_t i = 0; i < view->count; i++)
        counting->samples[counting->frame_of[view->node[i]]] += view->self[i];
    return view->total - counting->samples[0];
}

struct place {
    str_id file;
    struct own_line line;
};

static int by_place(const void *left, const void *right)
{
    const struct place *const a = left, *const b = right;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->line.line != b->line.line)
        return a->line.line < b->line.line ? -1 : 1;
    return (a->line.function > b->line.function) - (a->line.function < b->line.function);
}

static int by_samples(const void *left, const void *right)
{
    const struct place *const a = left, *const b = right;
    if (a->line.samples != b->line.samples)
        return a->line.samples > b->line.samples ? -1 : 1;
    return by_place(left, right);
}

static enum err_code fill_lines(struct own_lines *own, struct counting *counting,
                                const struct own_patterns *patterns,
                                const struct view_query *query, size_t most, struct err *err)
{
    struct view view = { 0 };
    struct own_code code = { .count = 0 };
    enum err_code rc = patterns->count
                           ? mark_matching(patterns, counting->snapshot, counting->own, err)
                           : own_code_find(counting->snapshot, &code, counting->own, err);
    if (!rc)
        rc = view_init(&view, counting->snapshot, query, err);
    if (rc)
        return rc;

    /* The first level that has enough samples counts, or the last. */
    uint64_t samples = 0;
    size_t level = 0;
    do {
        samples = count_lines(counting, level, &view);
    } while (100 * samples < OWN_CODE_LEAST_PERCENT * view.total && ++level < code.count);
    if (code.count)
        own->level = code.levels[level < code.count ? level : code.count - 1];

    own->samples = view.total;
    view_deinit(&view);

    const size_t room = (size_t)counting->snapshot->sizes.frames + 1;
    struct place *const places = malloc(room * sizeof *places);
    own->lines = malloc((most + 1) * sizeof *own->lines);
    if (!places || !own->lines) {
        free(places);
        return err_nomem(err);
    }

    size_t count = 0;
    for (frame_id id = 1; id < counting->snapshot->sizes.frames; id++) {
        const struct profile_frame frame = profile_frame_at(counting->snapshot, id);
        if (counting->samples[id] > 0)
            places[count++] = (struct place){
                .file = profile_function_at(counting->snapshot, frame.function).file,
                .line = { frame.function, frame.line, counting->samples[id] },
            };
    }

    qsort(places, count, sizeof *places, by_place);

    /* Functions may share a line: a comprehension and what it is in. */
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct place *const last = kept ? &places[kept - 1] : NULL;
        if (last && last->file == places[i].file && last->line.line == places[i].line.line)
            last->line.samples += places[i].line.samples;
        else
            places[kept++] = places[i];
    }
    count = kept;

    qsort(places, count, sizeof *places, by_samples);
    for (size_t i = 0; i < count; i++) {
        own->own_samples += places[i].line.samples;
        if (own->count < most)
            own->lines[own->count++] = places[i].line;
    }
    free(places);
    return ERR_OK;
}

enum err_code own_lines_init(struct own_lines *own, const struct profile_snapshot *snapshot,
                             const struct view_query *query, const char *const *patterns,
                             size_t pattern_count, size_t most, struct err *err)
{
    struct own_patterns own_patterns;
    const size_t limit = most < OWN_LINES_MAX ? most : OWN_LINES_MAX;
    *own = (struct own_lines){ 0 };

    char text[EXPRESSION_MAX_TEXT + 8];
    enum err_code rc = ERR_OK;
    memset(&own_patterns, 0, sizeof own_patterns);
    if (pattern_count > OWN_LINES_MAX_PATTERNS)
        return err_set(err, ERR_INVALID, "want at most %d patterns", OWN_LINES_MAX_PATTERNS);
    for (size_t i = 0; i < pattern_count && !rc; i++) {
        const int length = snprintf(text, sizeof text, "file:%s", patterns[i]);
        if (length < 0 || (size_t)length >= sizeof text)
            rc = err_set(err, ERR_INVALID, "want a pattern of at most %d bytes",
                         EXPRESSION_MAX_TEXT);
        else
            rc = pattern_init(&own_patterns.patterns[i], text, err);
        own_patterns.count += !rc;
    }
    if (rc)
        own_patterns_deinit(&own_patterns);

    if (rc)
        return rc;
    struct counting counting = {
        .snapshot = snapshot,
        .own = calloc((size_t)snapshot->sizes.functions + 1, sizeof *counting.own),
        .frame_of = calloc((size_t)snapshot->sizes.nodes + 1, sizeof *counting.frame_of),
        .samples = calloc((size_t)snapshot->sizes.frames + 1, sizeof *counting.samples),
    };
    rc = counting.own && counting.frame_of && counting.samples
             ? fill_lines(own, &counting, &own_patterns, query, limit, err)
             : err_nomem(err);
    free(counting.own);
    free(counting.frame_of);
    free(counting.samples);
    own_patterns_deinit(&own_patterns);
    if (rc)
        own_lines_deinit(own);
    return rc;
}

void own_lines_deinit(struct own_lines *own)
{
    free(own->lines);
    *own = (struct own_lines){ 0 };
}
