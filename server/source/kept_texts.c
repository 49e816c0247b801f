#include "server/source/kept_texts.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/capture/source_texts.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "server/source/def_line.h"
#include "server/source/hot_files.h"
#include "server/source/source.h"

/* The place of a function that is wanted: where it begins, or a line with samples. */
struct place {
    str_id file;
    struct def_line_mark mark;
};

/* A file with a function that is wanted. */
struct file {
    struct hot_file of;
    size_t first_place, place_count; /* in places */
};

struct collection {
    struct source *source;
    const struct profile_snapshot *snapshot;
    uint64_t *self, *total; /* by function */
    uint64_t *sums;         /* by node, then by function, of one view */
    bool *is_wanted;        /* by function */
    function_id *functions; /* of the processes, by file */
    size_t function_count;
    struct place *places; /* by file, then line */
    size_t place_count;
    struct file *files; /* hottest first */
    size_t file_count;
    struct buffer text, kept;
    uint64_t end_ns; /* until then processes are asked */
};

static bool allocate_sums(struct collection *all)
{
    const struct profile_sizes *const sizes = &all->snapshot->sizes;
    const size_t functions = sizes->functions + 1u;
    all->self = calloc(functions, sizeof *all->self);
    all->total = calloc(functions, sizeof *all->total);
    all->sums = calloc((size_t)sizes->nodes + functions, sizeof *all->sums);
    all->is_wanted = calloc(functions, sizeof *all->is_wanted);
    all->functions = calloc(functions, sizeof *all->functions);
    all->places = calloc(functions + sizes->frames, sizeof *all->places);
    all->files = calloc(functions, sizeof *all->files);
    return all->self && all->total && all->sums && all->is_wanted && all->functions &&
           all->places && all->files;
}

static function_id function_of(const struct profile_snapshot *snapshot, node_id node)
{
    return profile_frame_at(snapshot, profile_node_at(snapshot, node).frame).function;
}

/* A file of a process, as functions name it. */
static bool has_file(const struct profile_snapshot *snapshot, function_id function)
{
    const struct profile_function row = profile_function_at(snapshot, function);
    const struct strtab_string path = profile_string(snapshot, row.file);
    return row.origin != PROFILE_ORIGIN_NONE && path.length > 0 && path.text[0] == '/' &&
           source_is_known(snapshot, function);
}

/* Recursion counts a sample more than once: rather a function too many. */
static enum err_code mark_wanted(struct collection *all, const struct view_query *query,
                                 struct err *err)
{
    const struct profile_snapshot *const snapshot = all->snapshot;
    const uint32_t nodes = snapshot->sizes.nodes, functions = snapshot->sizes.functions;
    uint64_t *const of_function = all->sums + nodes;
    struct view view;
    const enum err_code rc = view_init(&view, snapshot, query, err);
    if (rc)
        return rc;
    memset(all->sums, 0, ((size_t)nodes + functions) * sizeof *all->sums);
    view_totals(&view, snapshot, all->sums);
    for (node_id node = 1; node < nodes; node++)
        of_function[function_of(snapshot, node)] += all->sums[node];
    for (size_t i = 0; i < view.count; i++)
        all->self[function_of(snapshot, view.node[i])] += view.self[i];
    for (function_id id = 0; id < functions; id++) {
        all->total[id] += of_function[id];
        all->is_wanted[id] |= of_function[id] > 0 &&
                              of_function[id] * 1000 >= view.total * KEPT_TEXTS_PER_MILLE &&
                              has_file(snapshot, id);
    }
    view_deinit(&view);
    return ERR_OK;
}

static void add_place(struct collection *all, function_id function, int32_t line, bool begins)
{
    const str_id file = profile_function_at(all->snapshot, function).file;
    if (line > 0)
        all->places[all->place_count++] = (struct place){ file, { line, begins } };
}

static int by_line(const struct def_line_mark *a, const struct def_line_mark *b)
{
    return a->line != b->line ? (a->line > b->line) - (a->line < b->line)
                              : b->begins - a->begins;
}

static int by_place(const void *left, const void *right)
{
    const struct place *const a = left;
    const struct place *const b = right;
    return a->file != b->file ? (a->file > b->file) - (a->file < b->file)
                              : by_line(&a->mark, &b->mark);
}

static int by_mark(const void *left, const void *right)
{
    return by_line(left, right);
}

/* The code of a module has no end, and only what ran of it is wanted. */
static bool is_module(const struct profile_snapshot *snapshot, str_id name)
{
    static const char module[] = "<module>";
    const struct strtab_string text = profile_string(snapshot, name);
    return text.length == sizeof module - 1 && memcmp(text.text, module, text.length) == 0;
}

/* Adds the file of some functions, if one of them is wanted. */
static void add_file(struct collection *all, const struct file *file, bool is_wanted)
{
    if (is_wanted)
        all->files[all->file_count++] = *file;
}

/* All functions of a file say whose it is. */
static void find_files(struct collection *all)
{
    const struct profile_snapshot *const snapshot = all->snapshot;
    struct file file = { .place_count = 0 };
    bool is_wanted = false;
    for (function_id id = 0; id < snapshot->sizes.functions; id++)
        if (has_file(snapshot, id))
            all->functions[all->function_count++] = id;
    hot_files_order(snapshot, all->functions, all->function_count);
    for (size_t i = 0, at = 0; i < all->function_count; i++) {
        const function_id id = all->functions[i];
        const str_id path = profile_function_at(snapshot, id).file;
        if (i == 0 || path != file.of.file) {
            add_file(all, &file, is_wanted);
            file = (struct file){ .of = { .file = path, .first = i } };
            is_wanted = false;
            while (at < all->place_count && all->places[at].file < path)
                at++;
            file.first_place = at;
            while (at < all->place_count && all->places[at].file == path)
                at++;
            file.place_count = at - file.first_place;
        }
        file.of.count++;
        file.of.self += all->self[id];
        file.of.total += all->total[id];
        is_wanted |= all->is_wanted[id];
    }
    add_file(all, &file, is_wanted);
    qsort(all->files, all->file_count, sizeof *all->files, hot_files_compare);
}

/* Functions that mypyc and Cython compiled begin where the text says. */
static size_t find_compiled(const struct collection *all, const struct file *file,
                            struct def_line_mark *out, struct def_line *items)
{
    const struct profile_snapshot *const snapshot = all->snapshot;
    size_t count = 0, found = 0;
    for (size_t i = 0; i < file->of.count; i++) {
        const function_id id = all->functions[file->of.first + i];
        const struct profile_function row = profile_function_at(snapshot, id);
        if (all->is_wanted[id] && row.library && row.first_line == 0)
            items[count++] =
                (struct def_line){ .name = profile_string(snapshot, row.name), .id = id };
    }
    if (count > 0)
        def_line_find(profile_string(snapshot, file->of.file), all->text.data, all->text.length,
                      items, count);
    for (size_t i = 0; i < count; i++)
        if (items[i].line > 0)
            out[found++] = (struct def_line_mark){ items[i].line, true };
    return found;
}

static bool put_reason(const struct strtab_string *path, const char *reason, struct buffer *out)
{
    const struct source_text row = {
        .path = path->text, .path_bytes = path->length, .text = reason, .bytes = strlen(reason)
    };
    return source_texts_put(out, &row);
}

/* One line of a large file may take all the room: smaller files may still find some. */
static enum err_code put_file(struct collection *all, const struct file *file,
                              struct buffer *out, size_t *count_out, struct err *err)
{
    const struct strtab_string path = profile_string(all->snapshot, file->of.file);
    struct source_text row = { .path = path.text, .path_bytes = path.length, .has_text = true };
    struct err why = { 0 };
    if (source_take(all->source, all->snapshot, &all->functions[file->of.first], file->of.count,
                    clock_now_ns() < all->end_ns, &all->text, &row.changed_ns, &why)) {
        (void)put_reason(&path, why.message, out);
        return ERR_OK;
    }

    /* Leaves of the text what is wanted. */
    struct def_line_mark *const marks =
        calloc(file->place_count + file->of.count + 1, sizeof *marks);
    struct def_line *const items = calloc(file->of.count + 1, sizeof *items);
    size_t count = file->place_count;
    enum err_code rc = marks && items ? ERR_OK : err_nomem(err);
    for (size_t i = 0; !rc && i < file->place_count; i++)
        marks[i] = all->places[file->first_place + i].mark;
    if (!rc && all->text.length > 0)
        count += find_compiled(all, file, marks + count, items);
    if (!rc) {
        qsort(marks, count, sizeof *marks, by_mark);
        rc = def_line_keep(all->text.data ? all->text.data : "", all->text.length, marks, count,
                           &all->kept, &row.is_whole, err);
    }
    free(marks);
    free(items);

    if (rc)
        return rc;
    row.text = all->kept.length ? all->kept.data : "";
    row.bytes = all->kept.length;
    if (source_texts_put(out, &row))
        ++*count_out;
    else
        (void)put_reason(&path, "the capture had no room for it", out);
    return ERR_OK;
}

enum err_code kept_texts_collect(struct source *source, const struct profile_snapshot *snapshot,
                                 struct buffer *out, size_t *count_out, struct err *err)
{
    const struct view_query everything = { .to_ns = 0 };
    const struct view_query usual = { .states.parts = PART_SET_USUAL };
    struct collection all = { .source = source, .snapshot = snapshot };
    enum err_code rc =
        allocate_sums(&all) ? mark_wanted(&all, &everything, err) : err_nomem(err);
    if (!rc)
        rc = mark_wanted(&all, &usual, err);
    if (!rc) {
        for (function_id id = 0; id < snapshot->sizes.functions; id++) {
            const struct profile_function row = profile_function_at(snapshot, id);
            if (all.is_wanted[id] && !is_module(snapshot, row.name))
                add_place(&all, id, row.first_line, true);
        }
        for (frame_id id = 0; id < snapshot->sizes.frames; id++) {
            const struct profile_frame row = profile_frame_at(snapshot, id);
            if (all.is_wanted[row.function])
                add_place(&all, row.function, row.line, false);
        }
        qsort(all.places, all.place_count, sizeof *all.places, by_place);

        find_files(&all);
    }
    all.end_ns = clock_now_ns() + KEPT_TEXTS_MS * NS_PER_MS;
    for (size_t i = 0; i < all.file_count && i < SOURCE_TEXTS_MAX_FILES && !rc; i++)
        rc = put_file(&all, &all.files[i], out, count_out, err);

    free(all.self);
    free(all.total);
    free(all.sums);
    free(all.is_wanted);
    free(all.functions);
    free(all.places);
    free(all.files);
    buffer_deinit(&all.text);
    buffer_deinit(&all.kept);
    return rc ? rc : buffer_check(out, err);
}

/* Why a capture has no text of any function; NULL: it has. */
static const char *reason_of(const struct kept_texts *kept)
{
    static const struct {
        const char *state, *reason;
    } reasons[] = {
        { "", "an older pyrometer recorded it" },
        { SOURCE_TEXT_OFF, "it was recorded with --no-source" },
        { SOURCE_TEXT_OF_ALL, "with --all, and by continuous sampling, none is read" },
        { SOURCE_TEXT_NO_READER, "source files could not be read" },
        { SOURCE_TEXT_NO_END, "its recording had not ended, and source text is written last" },
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(kept->state, reasons[i].state) == 0)
            return reasons[i].reason;
    return NULL;
}

static enum err_code read_kept(void *context, const struct profile_snapshot *snapshot,
                               const function_id *functions, size_t count, struct buffer *out,
                               struct source_state *state_out, struct source_place *place_out,
                               struct err *err)
{
    const struct kept_texts *const kept = context;
    (void)place_out;
    for (size_t i = 0; i < count; i++)
        if (functions[i] >= snapshot->sizes.functions)
            return err_set(err, ERR_INVALID, "the session has no function %u", functions[i]);
    if (count == 0 || !source_is_known(snapshot, functions[0]))
        return err_set(err, ERR_NOT_FOUND, "no source file is known for this native function");
    const struct strtab_string path =
        profile_string(snapshot, profile_function_at(snapshot, functions[0]).file);
    const struct source_text *const row =
        source_texts_find(kept->texts, path.text, path.length);
    const char *const reason = reason_of(kept);
    if (!row && reason)
        return err_set(err, ERR_NOT_FOUND, "the capture has no source text: %s", reason);
    if (!row && (path.length == 0 || path.text[0] != '/'))
        return err_set(err, ERR_NOT_FOUND,
                       "the path of the source file is not an absolute path");
    if (!row)
        return err_set(err, ERR_NOT_FOUND,
                       "the capture has source text of functions with at least 0.5 %% of its "
                       "samples only");
    if (!row->has_text)
        return err_set(err, ERR_NOT_FOUND, "the capture lacks the source text: %.*s",
                       (int)(row->bytes < 200 ? row->bytes : 200), row->text);
    buffer_clear(out);
    buffer_append(out, row->text, row->bytes);
    *state_out =
        (struct source_state){ .changed_ns = row->changed_ns, .is_part = !row->is_whole };
    return buffer_check(out, err);
}

struct source_reader kept_texts_reader(const struct kept_texts *kept)
{
    return (struct source_reader){ .read = read_kept, .context = (void *)(uintptr_t)kept };
}
