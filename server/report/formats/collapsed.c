#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/plain_text.h"
#include "sampler/base/strtab.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "server/report/formats/writers.h"
#include "server/report/names.h"
#include "server/report/preorder.h"
#include "server/report/report_source.h"

/*
 * Lines are distinguished by their text, which is as long as its stack is deep: so none is made
 * before it is written.  A label is what a frame adds to a line; frames of one label are one.  A
 * line is then a thread's label and a path of labels, and paths form a tree of their own.
 */
struct folding {
    const struct profile_snapshot *snapshot;
    struct strtab labels;
    struct preorder order;
    str_id *label_of;     /* by frame */
    str_id *thread_label; /* by thread */
    uint32_t *rank;       /* by label: its place in the order of texts */
    uint32_t *path_of;    /* by node: the path that it is on */
    uint32_t *path_place; /* by path: its place in the order of texts */
    uint32_t path_count;
    struct line {
        str_id thread;
        uint32_t path;
        node_id node; /* one of those on the path */
        uint64_t count;
    } * lines;
    size_t line_count;
    frame_id *way; /* room for the deepest stack */
};

/* A semicolon separates frames. */
static size_t put_special(struct buffer *out, const char *text, size_t length)
{
    char character[PLAIN_TEXT_CHARACTER];
    size_t bytes;
    if (*text == '\\' || *text == ';') {
        buffer_text(out, *text == ';' ? "\\x3b" : "\\\\");
        return 1;
    }
    const size_t used = plain_text_character(text, length, character, &bytes);
    buffer_append(out, character, bytes);
    return used;
}

/* A name longer than this is cut, so that a label with a file, a name and a line is a string. */
enum { MAX_PART_BYTES = STRTAB_MAX_LENGTH / 2 - 64 };

/* Between two characters only. */
static bool is_cut(struct buffer *out, size_t start, const char *next)
{
    if (out->length - start < MAX_PART_BYTES || ((unsigned char)*next & 0xc0) == 0x80)
        return false;
    buffer_text(out, "\u2026");
    return true;
}

static void put_name(struct buffer *out, struct strtab_string name)
{
    const size_t start = out->length;
    for (size_t i = 0; i < name.length && !is_cut(out, start, name.text + i);)
        i += put_special(out, name.text + i, name.length - i);
}

static void put_frame(struct buffer *out, const struct named_frame *frame)
{
    if (frame->is_synthetic) {
        put_name(out, frame->name);
        return;
    }
    /* As `perf script` and flamegraph.pl have it. */
    if (frame->is_kernel) {
        put_name(out, frame->name);
        buffer_text(out, "_[k]");
        return;
    }

    const struct strtab_string base = names_base(frame->file);
    const char *const end = base.text + base.length;
    const size_t start = out->length;
    for (const char *at = base.text; at < end && !is_cut(out, start, at);)
        if (*at == ':') {
            buffer_text(out, "\\x3a");
            at++;
        } else {
            at += put_special(out, at, (size_t)(end - at));
        }

    buffer_char(out, ':');
    put_name(out, frame->name);
    buffer_printf(out, ":%d", (int)frame->line);
}

/* Empties the buffer. */
static enum err_code intern_label(struct folding *folding, struct buffer *text, str_id *out,
                                  struct err *err)
{
    enum err_code rc = buffer_check(text, err);
    if (!rc)
        rc = strtab_intern(&folding->labels, text->data ? text->data : "", text->length, out,
                           err);
    buffer_clear(text);
    return rc;
}

static int by_text(const void *left, const void *right, void *labels)
{
    const struct strtab_string a = strtab_get(labels, *(const str_id *)left);
    const struct strtab_string b = strtab_get(labels, *(const str_id *)right);
    const int order = memcmp(a.text, b.text, a.length < b.length ? a.length : b.length);
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static enum err_code rank_labels(struct folding *folding, struct err *err)
{
    const uint32_t count = folding->labels.strings.count;
    str_id *const sorted = malloc(((size_t)count + 1) * sizeof *sorted);
    folding->rank = malloc(((size_t)count + 1) * sizeof *folding->rank);
    if (!sorted || !folding->rank) {
        free(sorted);
        return err_nomem(err);
    }
    for (str_id id = 0; id < count; id++)
        sorted[id] = id;
    qsort_r(sorted, count, sizeof *sorted, by_text, &folding->labels);
    for (uint32_t i = 0; i < count; i++)
        folding->rank[sorted[i]] = i;
    free(sorted);
    return ERR_OK;
}

struct step {
    uint32_t depth, path_above, rank;
    node_id node;
};

static int by_step(const void *left, const void *right)
{
    const struct step *const a = left, *const b = right;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->path_above != b->path_above)
        return a->path_above < b->path_above ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Nodes level by level: equal labels under one path are one path, and paths of a level are
 * numbered in the order of their texts. */
static enum err_code find_paths(struct folding *folding, struct err *err)
{
    const uint32_t nodes = folding->order.count;
    struct step *const steps = malloc(((size_t)nodes + 1) * sizeof *steps);
    uint32_t begin = 0;
    if (!steps)
        return err_nomem(err);
    for (node_id id = 0; id < nodes; id++)
        steps[id] = (struct step){ .depth = folding->order.depth[id], .node = id };
    qsort(steps, nodes, sizeof *steps, by_step);
    while (begin < nodes) {
        uint32_t end = begin;
        for (; end < nodes && steps[end].depth == steps[begin].depth; end++) {
            const struct profile_node node =
                profile_node_at(folding->snapshot, steps[end].node);
            steps[end].path_above = folding->path_of[node.parent];
            steps[end].rank = folding->rank[folding->label_of[node.frame]];
        }
        qsort(steps + begin, end - begin, sizeof *steps, by_step);
        for (uint32_t i = begin; i < end; i++) {
            if (i == begin || by_step(&steps[i], &steps[i - 1]) != 0)
                folding->path_count++;
            folding->path_of[steps[i].node] = folding->path_count - 1;
        }
        begin = end;
    }
    free(steps);
    return ERR_OK;
}

/* Numbers paths, outermost frames first: parents have lower numbers, and so have siblings that
 * come before. */
static enum err_code place_paths(struct folding *folding, struct err *err)
{
    const uint32_t count = folding->path_count;
    uint32_t *const parent = calloc((size_t)count + 1, sizeof *parent);
    uint32_t *const next = malloc(((size_t)count + 1) * sizeof *next);
    folding->path_place = malloc(((size_t)count + 1) * sizeof *folding->path_place);
    if (!parent || !next || !folding->path_place) {
        free(parent);
        free(next);
        return err_nomem(err);
    }
    for (node_id id = 1; id < folding->order.count; id++)
        parent[folding->path_of[id]] =
            folding->path_of[profile_node_at(folding->snapshot, id).parent];
    for (uint32_t path = 0; path < count; path++)
        next[path] = 1; /* how many paths there are under it, and itself */
    for (uint32_t path = count; path-- > 1;)
        next[parent[path]] += next[path];
    for (uint32_t path = 0; path < count; path++) {
        const uint32_t size = next[path];
        folding->path_place[path] = path > 0 ? next[parent[path]] : 0;
        if (path > 0)
            next[parent[path]] += size;
        next[path] = folding->path_place[path] + 1;
    }
    free(parent);
    free(next);
    return ERR_OK;
}

static int by_place(const void *left, const void *right, void *context)
{
    const struct folding *const folding = context;
    const struct line *const a = left, *const b = right;
    const uint32_t x = folding->rank[a->thread], y = folding->rank[b->thread];
    const uint32_t m = folding->path_place[a->path], n = folding->path_place[b->path];
    return x != y ? (x > y) - (x < y) : (m > n) - (m < n);
}

static int by_count(const void *left, const void *right, void *context)
{
    const struct line *const a = left, *const b = right;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return by_place(a, b, context);
}

static enum err_code take_lines(struct folding *folding, const struct view_query *query,
                                struct err *err)
{
    struct view_cells cells;
    const enum err_code rc = view_cells_init(&cells, folding->snapshot, query, err);
    if (rc)
        return rc;
    folding->lines = malloc((cells.count + 1) * sizeof *folding->lines);
    for (size_t i = 0; folding->lines && i < cells.count; i++) {
        const struct view_cell *const cell = &cells.cells[i];
        folding->lines[folding->line_count++] =
            (struct line){ .thread = folding->thread_label[cell->thread],
                           .path = folding->path_of[cell->node],
                           .node = cell->node,
                           .count = folding->snapshot->measure == MEASURE_TIME ? cell->count
                                                                               : cell->ns };
    }
    view_cells_deinit(&cells);
    if (!folding->lines)
        return err_nomem(err);

    /* States and folders that are not shown make equal lines. */
    size_t kept = 0;
    qsort_r(folding->lines, folding->line_count, sizeof *folding->lines, by_place, folding);
    for (size_t i = 0; i < folding->line_count; i++) {
        struct line *const last = kept > 0 ? &folding->lines[kept - 1] : NULL;
        if (last && by_place(last, &folding->lines[i], folding) == 0)
            last->count += folding->lines[i].count;
        else
            folding->lines[kept++] = folding->lines[i];
    }
    folding->line_count = kept;
    qsort_r(folding->lines, kept, sizeof *folding->lines, by_count, folding);
    return ERR_OK;
}

static void put_label(const struct folding *folding, str_id id, struct buffer *out)
{
    const struct strtab_string label = strtab_get(&folding->labels, id);
    buffer_append(out, label.text, label.length);
}

static enum err_code write_folded(struct folding *folding, const struct view_query *query,
                                  struct buffer *out, struct err *err)
{
    enum err_code rc = strtab_init(&folding->labels, err);
    if (!rc)
        rc = preorder_init(&folding->order, folding->snapshot, err);
    if (rc)
        return rc;

    const struct profile_sizes *const sizes = &folding->snapshot->sizes;
    folding->label_of = calloc((size_t)sizes->frames + 1, sizeof *folding->label_of);
    folding->thread_label = calloc((size_t)sizes->threads + 1, sizeof *folding->thread_label);
    folding->path_of = calloc((size_t)sizes->nodes + 1, sizeof *folding->path_of);
    folding->way = malloc(((size_t)folding->order.max_depth + 1) * sizeof *folding->way);
    if (!folding->label_of || !folding->thread_label || !folding->path_of || !folding->way)
        return err_nomem(err);

    const struct profile_snapshot *const snapshot = folding->snapshot;
    struct buffer text = { 0 };
    for (frame_id id = 1; id < snapshot->sizes.frames && !rc; id++) {
        const struct named_frame frame = names_frame(snapshot, id);
        put_frame(&text, &frame);
        rc = intern_label(folding, &text, &folding->label_of[id], err);
    }
    for (thread_id id = 0; id < snapshot->sizes.threads && !rc; id++) {
        const struct profile_thread thread = profile_thread_at(snapshot, id);
        const struct strtab_string name = profile_string(snapshot, thread.name);
        buffer_printf(&text, name.length > 0 ? "tid:%d " : "tid:%d", (int)thread.tid);
        put_name(&text, name);
        rc = intern_label(folding, &text, &folding->thread_label[id], err);
    }
    buffer_deinit(&text);
    if (!rc)
        rc = rank_labels(folding, err);
    if (!rc)
        rc = find_paths(folding, err);
    if (!rc)
        rc = place_paths(folding, err);
    if (!rc)
        rc = take_lines(folding, query, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < folding->line_count && !out->failed; i++) {
        const struct line *const line = &folding->lines[i];
        size_t depth = 0;
        for (node_id id = line->node; id != 0;) {
            const struct profile_node node = profile_node_at(folding->snapshot, id);
            folding->way[depth++] = node.frame;
            id = node.parent;
        }
        put_label(folding, line->thread, out);
        while (depth-- > 0) {
            buffer_char(out, ';');
            put_label(folding, folding->label_of[folding->way[depth]], out);
        }
        buffer_char(out, ' ');
        buffer_uint(out, line->count);
        buffer_char(out, '\n');
    }
    return buffer_check(out, err);
}

enum err_code report_write_collapsed(const struct report_source *source, struct buffer *out,
                                     struct err *err)
{
    struct folding folding = { .snapshot = source->snapshot };
    const enum err_code rc = write_folded(&folding, source->query, out, err);
    strtab_deinit(&folding.labels);
    preorder_deinit(&folding.order);
    free(folding.label_of);
    free(folding.thread_label);
    free(folding.rank);
    free(folding.path_of);
    free(folding.path_place);
    free(folding.lines);
    free(folding.way);
    return rc;
}
