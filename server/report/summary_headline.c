#include "server/report/summary_headline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/plain_text.h"
#include "sampler/base/utf8.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/own_lines.h"
#include "sampler/profile/views/view.h"
#include "server/report/flat.h"
#include "server/report/header.h"
#include "server/report/report_source.h"
#include "server/report/summary_rows.h"
#include "server/wire/quality.h"

enum {
    MAX_NAME = 60,
    MAX_FILE = 40,
    MAX_PEER = 48,
    MOST_ITEMS = PART_COUNT + WAIT_CAUSE_COUNT
};

/* The least share of the busy time of what the program does, and of a second such thing. */
static const double FIRST_PERCENT = 1, SECOND_PERCENT = 10;
/* The least share of the time of which is said that it is idle. */
static const double IDLE_PERCENT = 5;

/* A part of busy time: running, a need, or blocked for a cause. */
struct item {
    enum part part;
    enum wait_cause cause; /* of PART_BLOCKED */
    uint64_t samples;
};

/* Texts of what blocks a thread; the other causes are idle ones or needs. */
static const char *const blocked_texts[WAIT_CAUSE_COUNT] = {
    [WAIT_UNKNOWN] = "it is blocked",
    [WAIT_PAUSE] = "it sleeps",
    [WAIT_QUEUE] = "it waits for a queue or condition",
    [WAIT_LOCK] = "it waits for a lock",
    [WAIT_NETWORK_READ] = "it waits to read from the network",
    [WAIT_NETWORK_WRITE] = "it waits to write to the network",
    [WAIT_PIPE] = "it waits for a pipe",
    [WAIT_DISK] = "it waits for the disk",
    [WAIT_CHILD] = "it waits for a child process",
    [WAIT_GPU] = "it waits for the GPU",
};

static int by_samples(const void *left, const void *right)
{
    const struct item *const a = left, *const b = right;
    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    return a->part != b->part ? (a->part > b->part) - (a->part < b->part)
                              : (a->cause > b->cause) - (a->cause < b->cause);
}

/* Text of the target, of `most` bytes as it is shown.  ` would end what ` begins. */
static void put_text(struct buffer *out, struct strtab_string text, size_t most)
{
    struct buffer plain = { 0 };
    const size_t taken = utf8_cut(text.text, text.length, most);
    plain_text_put(&plain, text.text, taken);
    const size_t length = plain.length ? utf8_cut(plain.data, plain.length, most) : 0;
    for (size_t i = 0; i < length; i++)
        buffer_char(out, plain.data[i] == '`' ? '\'' : plain.data[i]);
    if (taken < text.length || length < plain.length)
        buffer_text(out, "\u2026");
    buffer_deinit(&plain);
}

static void put_name(struct buffer *out, const struct named_frame *frame)
{
    struct strtab_string name;
    (void)names_c_function(frame, &name);
    buffer_char(out, '`');
    put_text(out, name, MAX_NAME);
    buffer_char(out, '`');
}

/* "app/shop.py:50"; false: there is no such place. */
static bool put_place(struct buffer *out, const struct named_frame *frame, const char *before)
{
    if (frame->is_synthetic || !frame->has_source || frame->line <= 0)
        return false;
    buffer_text(out, before);
    const struct strtab_string file = names_short(frame->file);
    put_text(out, file.length <= MAX_FILE ? file : names_base(file), MAX_FILE);
    buffer_printf(out, ":%d", (int)frame->line);
    return true;
}

/* "`customer` (app/shop.py:50)" */
static void put_function(struct buffer *out, const struct named_frame *frame)
{
    put_name(out, frame);
    if (put_place(out, frame, " ("))
        buffer_char(out, ')');
}

/* The function of your code with most samples and its hottest line; if there is no such code, the function with
 * most samples of its own.  false: nothing has samples. */
static enum err_code find_function(const struct report_source *source,
                                   const struct view_query *query, struct summary_row *out,
                                   struct err *err)
{
    struct summary_rows *const rows = calloc(1, sizeof *rows);
    uint64_t own;
    *out = (struct summary_row){ .self = 0 };
    if (!rows)
        return err_nomem(err);
    enum err_code rc = summary_find_lines(source, query, SUMMARY_MAX_ROWS, rows, &own, err);
    for (size_t i = 0; i < rows->count && !rc; i++) {
        uint64_t all = 0;
        for (size_t j = 0; j < rows->count; j++)
            if (rows->rows[j].frame.function == rows->rows[i].frame.function)
                all += rows->rows[j].self;
        if (all > out->self) {
            *out = rows->rows[i];
            out->self = all;
        }
    }
    if (!rc && !out->self) {
        rows->count = 0;
        rc = summary_find_functions(source, query, 1, rows, err);
        if (rows->count)
            *out = rows->rows[0];
    }
    free(rows);
    return rc;
}

/* Finds the innermost function of native stacks, other than the interpreter's, in which most of
 * the running time is; total 0: none. Stacks as they were recorded have it, unless patterns
 * choose frames. */
static enum err_code find_native(const struct summary *summary, struct summary_row *out,
                                 struct err *err)
{
    const struct report_source *const source = summary->source;
    const struct report_selection *const selection = source->selection;
    const bool is_original =
        selection && !(selection->filters && selection->filters->count > 0);
    const struct profile_snapshot *const snapshot =
        is_original ? selection->snapshot : source->snapshot;
    struct view_query query = is_original ? *selection->query : *source->query;
    struct flat flat;
    *out = (struct summary_row){ .total = 0 };
    if (summary->library_count == 0)
        return ERR_OK;
    query.states.parts = 1U << PART_RUNNING;
    const enum err_code rc = flat_init(&flat, snapshot, &query, FLAT_FUNCTIONS, err);
    if (rc)
        return rc;
    for (function_id id = 1; id < flat.row_count; id++) {
        const uint64_t total = flat.total[id];
        const library_id library = profile_function_at(snapshot, id).library;
        if (!library || total * 2 < flat.samples ||
            profile_library_at(snapshot, library).flags & PROFILE_LIBRARY_INTERPRETER)
            continue;
        if (!out->total || total < out->total ||
            (total == out->total && flat.self[id] > out->self))
            *out = (struct summary_row){ names_function(snapshot, id), flat.self[id], total };
    }
    flat_deinit(&flat);
    return rc;
}

static bool is_same(struct strtab_string a, struct strtab_string b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static enum err_code put_running(struct buffer *out, const struct summary *summary,
                                 const struct item *item, const char *of_time, struct err *err)
{
    struct view_query query;
    struct summary_row top = { .self = 0 }, native = { .total = 0 };
    enum err_code rc = ERR_OK;
    if (summary_narrow(summary->source, 1U << PART_RUNNING, &query))
        rc = find_function(summary->source, &query, &top, err);
    if (top.self && !rc)
        rc = find_native(summary, &native, err);
    const bool is_one = top.self * 2 >= item->samples;
    if (summary->lacks_states) {
        const struct report_header *const header = summary->source->header;
        buffer_printf(out, "%.0f %% of ", quality_percent(top.self, summary->busy));
        report_header_put_whole(header, header->has_time ? "the time" : "the samples", out);

        const struct profile_snapshot *const snapshot = summary->source->snapshot;
        const bool are_many =
            header->is_of_time
                ? !header->has_time
                : strcmp(profile_measure(snapshot, snapshot->measure)->unit, "count") == 0;
        buffer_text(out, are_many ? " are in" : " is in");
    } else
        buffer_printf(out, "%.0f %%%s it runs",
                      quality_percent(is_one ? top.self : item->samples, summary->busy),
                      of_time);
    if (top.self && summary->lacks_states) {
        buffer_char(out, ' ');
        put_function(out, &top.frame);
    } else if (top.self) {
        buffer_text(out, is_one ? " " : ", most in ");
        put_function(out, &top.frame);
    }
    if (native.total && !is_same(native.frame.name, top.frame.name)) {
        buffer_text(out, ", most of it in ");
        put_name(out, &native.frame);
    }
    return rc;
}

static enum err_code put_gil(struct buffer *out, const struct summary *summary,
                             const struct item *item, const char *of_time, struct err *err)
{
    struct view_query query;
    struct summary_row top = { .self = 0 };
    enum err_code rc = ERR_OK;
    buffer_printf(out, "threads need the GIL %.0f %%%s",
                  quality_percent(item->samples, summary->busy), of_time);
    if (!summary_narrow(summary->source, 1U << PART_RUNNING, &query))
        return ERR_OK;
    query.states.require |= STATE_HAS_GIL;
    rc = find_function(summary->source, &query, &top, err);
    if (top.self) {
        buffer_text(out, ", held mostly by ");
        put_function(out, &top.frame);
    }
    return rc;
}

static const struct summary_peer *peer_of(const struct summary *summary, enum wait_cause cause)
{
    for (size_t i = 0; i < summary->cause_count; i++)
        if (summary->causes[i].cause == cause && summary->causes[i].peer_count)
            return &summary->causes[i].peers[0];
    return NULL;
}

static enum err_code put_blocked(struct buffer *out, const struct summary *summary,
                                 const struct item *item, const char *of_time, struct err *err)
{
    struct view_query query;
    struct summary_rows *const rows = calloc(2, sizeof *rows);
    struct summary_rows *const lines = rows, *const functions = rows ? rows + 1 : NULL;
    const struct summary_peer *const peer = peer_of(summary, item->cause);
    enum err_code rc = rows ? ERR_OK : err_nomem(err);
    uint64_t own;
    if (!rc && summary_narrow(summary->source, 1U << PART_BLOCKED, &query)) {
        query.has_cause = true;
        query.cause = item->cause;
        rc = summary_find_lines(summary->source, &query, 1, lines, &own, err);
        if (!rc)
            rc = summary_find_functions(summary->source, &query, 1, functions, err);
    }
    buffer_printf(out, "%.0f %%%s %s", quality_percent(item->samples, summary->busy), of_time,
                  blocked_texts[item->cause]);
    if (peer) {
        buffer_text(out, " (");
        put_text(out, peer->name, MAX_PEER);
        buffer_char(out, ')');
    }
    if (!rc && functions->count) {
        const struct named_frame *const leaf = &functions->rows[0].frame;
        const struct named_frame *const line = lines->count ? &lines->rows[0].frame : NULL;
        buffer_text(out, " in ");
        if (line && line->function == leaf->function) {
            put_function(out, line);
        } else {
            put_name(out, leaf);
            if (line)
                (void)put_place(out, line, ", called by ");
        }
    }
    free(rows);
    return rc;
}

static enum err_code put_item(struct buffer *out, const struct summary *summary,
                              const struct item *item, const char *of_time, struct err *err)
{
    switch (item->part) {
    case PART_RUNNING: return put_running(out, summary, item, of_time, err);
    case PART_NEEDS_GIL: return put_gil(out, summary, item, of_time, err);
    case PART_NEEDS_PROCESSOR:
        buffer_printf(out, "threads need a processor %.0f %%%s",
                      quality_percent(item->samples, summary->busy), of_time);
        break;
    case PART_BLOCKED: return put_blocked(out, summary, item, of_time, err);
    case PART_IDLE:
    case PART_COUNT: break;
    }
    return ERR_OK;
}

/* Waiting tasks are in no part of time: of their own samples. */
static void put_tasks(struct buffer *out, const struct summary *summary)
{
    const struct summary_rows *const lines = &summary->task_lines;
    if (lines->count == 0)
        return;
    buffer_printf(out, "%stasks wait, %.0f %% of them in ", out->length > 0 ? "; " : "",
                  quality_percent(lines->rows[0].self, summary->tasks));
    put_function(out, &lines->rows[0].frame);
}

/* The parts of time, which stand beside the sentence, are of all the time. */
static const char *time_of(const struct summary *summary)
{
    return quality_percent(summary->parts[PART_IDLE], summary->samples) >= IDLE_PERCENT
               ? " of the time that is not idle"
               : " of the time";
}

enum err_code summary_find_headline(struct summary *summary, struct err *err)
{
    struct buffer text = { 0 };
    struct item items[MOST_ITEMS];
    static const enum part whole[] = { PART_RUNNING, PART_NEEDS_GIL, PART_NEEDS_PROCESSOR };
    size_t count = 0;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        items[count++] = (struct item){ .part = whole[i], .samples = summary->parts[whole[i]] };
    for (size_t i = 0; i < summary->cause_count; i++)
        if (blocked_texts[summary->causes[i].cause])
            items[count++] = (struct item){ PART_BLOCKED, summary->causes[i].cause,
                                            summary->causes[i].samples };
    qsort(items, count, sizeof *items, by_samples);

    /* Tasks of an event loop that is mostly idle are the answer. */
    const bool are_tasks_first = summary->parts[PART_IDLE] > summary->busy;
    enum err_code rc = ERR_OK;
    if (are_tasks_first)
        put_tasks(&text, summary);
    if (summary->samples == 0)
        buffer_printf(&text, "no samples%s%s", summary->tasks ? " of threads" : "",
                      summary->tasks && !summary->task_lines.count ? ": tasks wait" : "");
    else if (summary->busy == 0)
        buffer_printf(&text, "%sidle all the time: %s", text.length > 0 ? "; it is " : "",
                      summary->cause_count ? wait_cause_title(summary->causes[0].cause) : "");
    /* A lack of processors takes no place from what the program does. */
    for (size_t i = 0, said = 0; i < count && said < 2 && summary->busy > 0 && !rc; i++) {
        if (quality_percent(items[i].samples, summary->busy) <
            (said > 0 ? SECOND_PERCENT : FIRST_PERCENT))
            break;
        buffer_text(&text, text.length > 0 ? "; " : "");
        rc = put_item(&text, summary, &items[i], i > 0 ? "" : time_of(summary), err);
        said += items[i].part != PART_NEEDS_PROCESSOR;
    }
    if (!are_tasks_first)
        put_tasks(&text, summary);
    if (summary->busy > 0) {
        /* Idle threads, which are left out, come last.  A number of threads says nothing of time if
         * they come and go. */
        const size_t idle = summary->idle_threads, all = summary->thread_count;
        if (idle > 0 && all > 1 && summary->threads_last)
            buffer_printf(&text, "; %zu of %zu threads %s idle", idle, all,
                          idle == 1 ? "is" : "are");
        else if (summary->parts[PART_IDLE] > 0)
            buffer_printf(&text, "; it is idle %.0f %% of the time",
                          quality_percent(summary->parts[PART_IDLE], summary->samples));
    }
    if (!rc)
        rc = buffer_check(&text, err);
    if (!rc) {
        const size_t length = utf8_cut(text.data, text.length, SUMMARY_HEADLINE_BYTES - 1);
        memcpy(summary->headline, text.data, length);
        summary->headline[length] = '\0';
        if (*summary->headline >= 'a' && *summary->headline <= 'z')
            *summary->headline = (char)(*summary->headline - 'a' + 'A');
    }
    buffer_deinit(&text);
    return rc;
}
