/*
 * frame_filters - pprof's five filters of frames, and their effect on a stack.
 *
 *     focus      keep samples with a matching frame
 *     ignore     drop samples with a matching frame
 *     hide       remove matching frames; their samples are their callers'
 *     show       keep only matching frames
 *     show_from  start stacks at the outermost matching frame; drop samples without one
 *
 * Why a thread waits, and what it works for, stand in marks at the end of its stack (wait.h, context.h).  Those of waits
 * stay unless they are hidden, those of contexts only with shows_contexts.
 *
 * Several of one kind match what any of them matches.  The order in which they are given has no
 * effect: focus and ignore see whole stacks, then native frames that the view does not show are left
 * out (native_frames.h), then hide and show remove frames, then show_from sees the rest.  A sample
 * without a frame left is dropped.
 *
 * Ownership: struct frame_filters is plain data and borrows the patterns.  frame_matcher_init
 * allocates; frame_matcher_deinit accepts a zeroed one, or one whose init failed.
 * Threads: none.
 * Limits: FRAME_FILTERS_MAX filters in all.
 */
#ifndef SAMPLER_PROFILE_VIEWS_FRAME_FILTERS_H
#define SAMPLER_PROFILE_VIEWS_FRAME_FILTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/views/native_frames.h"
#include "sampler/profile/views/pattern.h"

enum { FRAME_FILTERS_MAX = 16 };

#define FRAME_FILTER_KINDS(X) \
    X(FOCUS, "focus")         \
    X(IGNORE, "ignore")       \
    X(HIDE, "hide")           \
    X(SHOW, "show")           \
    X(SHOW_FROM, "show_from")

enum frame_filter_kind {
#define X(name, text) FRAME_FILTER_##name,
    FRAME_FILTER_KINDS(X)
#undef X
        FRAME_FILTER_KIND_COUNT
};

const char *frame_filter_name(enum frame_filter_kind kind);

enum wait_marks { WAIT_MARKS_SHOWN, WAIT_MARKS_HIDDEN };
/* "on" and "off" (base/enum_text.h). */
extern const char *const wait_marks_texts[];

/* Zeroed: no filter, the native frames that a view shows by default, and the marks of waits. */
struct frame_filters {
    enum native_frames native;
    enum wait_marks waits;
    bool shows_contexts;
    size_t count;
    struct frame_filter {
        enum frame_filter_kind kind;
        const char *pattern; /* pattern.h */
    } items[FRAME_FILTERS_MAX];
};

/* ERR_INVALID: `err` says what is wrong. */
MUST_CHECK enum err_code frame_filters_add(struct frame_filters *filters,
                                           enum frame_filter_kind kind, const char *pattern,
                                           struct err *err);
/* Do both have the same filters, in any order?  Native frames are no matter of filters. */
bool frame_filters_agree(const struct frame_filters *a, const struct frame_filters *b);
uint64_t frame_filters_hash(const struct frame_filters *filters, uint64_t hash);

/* Compiled filters. */
struct frame_matcher {
    size_t count;
    const struct frame_filters *filters;
    struct pattern patterns[FRAME_FILTERS_MAX];
    unsigned used; /* a bit for each kind: 1 << kind */
};

/* filters: NULL for none; they are borrowed until deinit. */
MUST_CHECK enum err_code frame_matcher_init(struct frame_matcher *matcher,
                                            const struct frame_filters *filters,
                                            struct err *err);
void frame_matcher_deinit(struct frame_matcher *matcher);

/* The kinds of the filters that match a function, a bit each.  ERR_INVALID: a filter takes too long. */
MUST_CHECK enum err_code frame_matcher_kinds(const struct frame_matcher *matcher,
                                             const struct pattern_subject *subject,
                                             unsigned *out, struct err *err);

/* Bits: what the filters have found in a stack, from its outermost frame to a certain one. */
enum {
    FRAME_FOCUSED = 1 << 0,
    FRAME_IGNORED = 1 << 1,
    FRAME_STARTED = 1 << 2, /* a frame of show_from was found, or there is no such filter */
    FRAME_KEPT = 1 << 3,    /* the frame itself stays */
    FRAME_BENEATH = 1 << 4  /* this frame or a caller stays */
};

/* The bits of a stack without frames. */
unsigned frame_matcher_start(const struct frame_matcher *matcher);
/* Adds one more frame; `kinds`: those that match its function. */
unsigned frame_matcher_step(const struct frame_matcher *matcher, unsigned known,
                            unsigned kinds);
/* Adds a frame that the view leaves out: only focus and ignore see it. */
unsigned frame_matcher_leave(unsigned known, unsigned kinds);
/* Do the samples of a stack count?  Without filters they do even if it has no frame. */
bool frame_matcher_counts(const struct frame_matcher *matcher, unsigned known);

#endif /* SAMPLER_PROFILE_VIEWS_FRAME_FILTERS_H */
