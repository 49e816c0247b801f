#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "sampler/profile/view.h"
#include "server/buffer.h"
#include "server/report/report.h"

struct text {
    size_t start, length; /* in the buffer it belongs to; length 0: not yet made */
};

struct line {
    struct text stack;
    uint64_t count;
};

/* What one report is made of.  Stacks share frames and frames repeat in deep stacks, so a
 * frame's label is made once. */
struct folding {
    const struct profile_snapshot *snapshot;
    struct buffer labels;
    struct text *label_of; /* by frame id */
    struct buffer stacks;
    struct line *lines;
    size_t line_count;
    frame_id *path; /* innermost first */
    size_t path_capacity;
};

static void put_escape(struct buffer *out, unsigned code)
{
    buffer_printf(out, code < 0x100 ? "\\x%02x" : "\\u%04x", code);
}

/* U+2028 and U+2029 end a line for readers that follow Unicode, as do the controls of Latin-1. */
static size_t put_special(struct buffer *out, const char *text, size_t length)
{
    const unsigned char first = (unsigned char)text[0];
    if (length >= 3 && memcmp(text, "\xe2\x80", 2) == 0 &&
        ((unsigned char)text[2] & 0xfe) == 0xa8) {
        put_escape(out, 0x2000 | ((unsigned)text[2] & 0x3f));
        return 3;
    }
    if (first == 0xc2 && length >= 2 && (unsigned char)text[1] < 0xa0) {
        put_escape(out, (unsigned char)text[1]);
        return 2;
    }
    if (first == '\\')
        buffer_text(out, "\\\\");
    else if (first < 0x20 || first == 0x7f || first == ';')
        put_escape(out, first);
    else
        buffer_char(out, text[0]);
    return 1;
}

static void put_name(struct buffer *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length;)
        i += put_special(out, text + i, length - i);
}

static void put_file(struct buffer *out, struct strtab_string file)
{
    const char *const slash = memrchr(file.text, '/', file.length);
    const char *const base = slash ? slash + 1 : file.text;
    const char *const end = file.text + file.length;
    for (const char *at = base; at < end;)
        if (*at == ':') {
            put_escape(out, ':');
            at++;
        } else {
            at += put_special(out, at, (size_t)(end - at));
        }
}

static bool is_synthetic(struct strtab_string file)
{
    return file.length == 1 && file.text[0] == '~';
}

static void put_label(struct folding *folding, frame_id id)
{
    struct buffer *const out = &folding->labels;
    const struct profile_frame frame = profile_frame_at(folding->snapshot, id);
    const struct profile_function function =
        profile_function_at(folding->snapshot, frame.function);
    const struct strtab_string name = profile_string(folding->snapshot, function.name);
    const struct strtab_string file = profile_string(folding->snapshot, function.file);
    if (is_synthetic(file)) {
        put_name(out, name.text, name.length);
        return;
    }
    put_file(out, file);
    buffer_char(out, ':');
    put_name(out, name.text, name.length);
    buffer_printf(out, ":%d", (int)frame.line);
}

static struct text label_of(struct folding *folding, frame_id id)
{
    struct text *const label = &folding->label_of[id];
    if (label->length == 0) {
        label->start = folding->labels.length;
        put_label(folding, id);
        label->length = folding->labels.length - label->start;
    }
    return *label;
}

/* Parents come before children, so the walk is never longer than the table. */
static size_t walk_up(struct folding *folding, node_id node, struct err *err)
{
    size_t depth = 0;
    while (node != 0) {
        if (depth == folding->path_capacity) {
            const size_t capacity = folding->path_capacity ? 2 * folding->path_capacity : 256;
            frame_id *const path = realloc(folding->path, capacity * sizeof *path);
            if (!path) {
                err_set(err, ERR_NOMEM, "no memory for a stack of %zu frames", depth);
                return SIZE_MAX;
            }
            folding->path = path;
            folding->path_capacity = capacity;
        }
        const struct profile_node row = profile_node_at(folding->snapshot, node);
        folding->path[depth++] = row.frame;
        node = row.parent;
    }
    return depth;
}

static enum err_code add_line(struct folding *folding, const struct view_cell *cell,
                              struct err *err)
{
    struct buffer *const out = &folding->stacks;
    struct line *const line = &folding->lines[folding->line_count];
    const struct profile_thread thread = profile_thread_at(folding->snapshot, cell->thread);
    size_t depth = walk_up(folding, cell->node, err);
    if (depth == SIZE_MAX)
        return ERR_NOMEM;
    line->stack.start = out->length;
    line->count = cell->count;
    buffer_printf(out, "tid:%d", (int)thread.tid);
    while (depth-- > 0) {
        const struct text label = label_of(folding, folding->path[depth]);
        buffer_char(out, ';');
        if (!folding->labels.failed)
            buffer_append(out, folding->labels.data + label.start, label.length);
    }
    line->stack.length = out->length - line->stack.start;
    folding->line_count++;
    return buffer_check(out, err);
}

static int compare_text(const struct line *a, const struct line *b, const char *text)
{
    const size_t shorter =
        a->stack.length < b->stack.length ? a->stack.length : b->stack.length;
    const int order = memcmp(text + a->stack.start, text + b->stack.start, shorter);
    if (order != 0)
        return order;
    return (a->stack.length > b->stack.length) - (a->stack.length < b->stack.length);
}

static int by_text(const void *a, const void *b, void *text)
{
    return compare_text(a, b, text);
}

static int by_count(const void *a, const void *b, void *text)
{
    const struct line *const x = a, *const y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return compare_text(x, y, text);
}

/* States, renamed threads and folders that are not shown make equal lines. */
static void merge_equal(struct folding *folding)
{
    size_t kept = 0;
    qsort_r(folding->lines, folding->line_count, sizeof *folding->lines, by_text,
            folding->stacks.data);
    for (size_t i = 0; i < folding->line_count; i++) {
        struct line *const last = kept > 0 ? &folding->lines[kept - 1] : NULL;
        if (last && compare_text(last, &folding->lines[i], folding->stacks.data) == 0)
            last->count += folding->lines[i].count;
        else
            folding->lines[kept++] = folding->lines[i];
    }
    folding->line_count = kept;
    qsort_r(folding->lines, kept, sizeof *folding->lines, by_count, folding->stacks.data);
}

static enum err_code put_lines(const struct folding *folding, struct buffer *out,
                               struct err *err)
{
    for (size_t i = 0; i < folding->line_count; i++) {
        const struct line *const line = &folding->lines[i];
        buffer_append(out, folding->stacks.data + line->stack.start, line->stack.length);
        buffer_char(out, ' ');
        buffer_uint(out, line->count);
        buffer_char(out, '\n');
    }
    return buffer_check(out, err);
}

static enum err_code fold(struct folding *folding, const struct view_cells *cells,
                          struct buffer *out, struct err *err)
{
    folding->label_of = calloc(folding->snapshot->sizes.frames + 1, sizeof *folding->label_of);
    folding->lines = calloc(cells->count + 1, sizeof *folding->lines);
    if (!folding->label_of || !folding->lines)
        return err_set(err, ERR_NOMEM, "no memory for %zu stacks", cells->count);
    for (size_t i = 0; i < cells->count; i++) {
        const enum err_code rc = add_line(folding, &cells->cells[i], err);
        if (rc != ERR_OK)
            return rc;
    }
    const enum err_code rc = buffer_check(&folding->labels, err);
    if (rc != ERR_OK)
        return rc;
    merge_equal(folding);
    return put_lines(folding, out, err);
}

enum err_code report_write_collapsed(const struct report_source *source, struct buffer *out,
                                     struct err *err)
{
    struct folding folding = { .snapshot = source->snapshot };
    struct view_cells cells;
    enum err_code rc = view_cells_init(&cells, source->snapshot, source->query, err);
    if (rc != ERR_OK)
        return rc;
    rc = fold(&folding, &cells, out, err);
    view_cells_deinit(&cells);
    buffer_deinit(&folding.labels);
    buffer_deinit(&folding.stacks);
    free(folding.label_of);
    free(folding.lines);
    free(folding.path);
    return rc;
}
