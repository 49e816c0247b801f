#include "server/source/expressions.h"

#include <time.h>

#include "sampler/base/clock.h"
#include "server/source/expression.h"
#include "server/source/file_origins.h"
#include "server/source/relay.h"

enum { MAX_TRIES = 3, AGAIN_MS = 20 };

void expressions_init(struct expressions *expressions, const struct source_reader *reader,
                      const struct profile_snapshot *snapshot)
{
    *expressions = (struct expressions){ .snapshot = snapshot,
                                         .most_ns = EXPRESSIONS_ANSWER_MS * NS_PER_MS };
    if (reader)
        expressions->reader = *reader;
}

static enum err_code read_now(void *context, const struct profile_snapshot *snapshot,
                              const function_id *functions, size_t count, struct buffer *out,
                              struct source_state *state_out, struct source_place *place_out,
                              struct err *err)
{
    struct file_origins origins;
    const enum err_code rc =
        file_origins_find(snapshot, functions, count, RELAY_TEXT, &origins, err);
    return rc ? rc
              : relay_read(context, &origins.request, -1, out, &state_out->changed_ns,
                           place_out, err);
}

void expressions_init_session(struct expressions *expressions, struct session *session,
                              const struct profile_snapshot *snapshot)
{
    expressions_init(expressions,
                     &(struct source_reader){ .read = read_now, .context = session }, snapshot);
    expressions->most_ns = EXPRESSIONS_DUMP_MS * NS_PER_MS;
}

void expressions_deinit(struct expressions *expressions)
{
    for (size_t i = 0; i < expressions->count; i++)
        buffer_deinit(&expressions->files[i].text);
    expressions->count = 0;
}

/* A function of Python that the file has; 0: none. */
static function_id find_function(const struct profile_snapshot *snapshot, str_id file)
{
    for (function_id id = 1; id < snapshot->sizes.functions; id++) {
        const struct profile_function row = profile_function_at(snapshot, id);
        if (row.file == file && !row.library)
            return id;
    }
    return 0;
}

/* NULL: it cannot be read. */
static const struct buffer *find_text(struct expressions *expressions, str_id file)
{
    for (size_t i = 0; i < expressions->count; i++)
        if (expressions->files[i].file == file)
            return &expressions->files[i].text;
    if (!expressions->reader.read || !file || expressions->count == EXPRESSIONS_MAX_FILES ||
        expressions->bytes > EXPRESSIONS_MAX_BYTES ||
        expressions->spent_ns > expressions->most_ns)
        return NULL;
    struct expressions_file *const row = &expressions->files[expressions->count++];
    *row = (struct expressions_file){ .file = file };
    const function_id function = find_function(expressions->snapshot, file);
    const uint64_t began_ns = clock_now_ns();
    const struct timespec pause = { .tv_nsec = AGAIN_MS * (long)NS_PER_MS };
    struct source_state state;
    enum err_code rc = function ? ERR_LIMIT : ERR_NOT_FOUND;
    /* On a busy machine a file may take longer than its reader has. */
    for (unsigned i = 0;
         i < MAX_TRIES && (rc == ERR_LIMIT || rc == ERR_SYS) &&
         clock_now_ns() - began_ns + expressions->spent_ns <= expressions->most_ns;
         i++) {
        if (i)
            (void)nanosleep(&pause, NULL);
        buffer_clear(&row->text);
        rc = source_read(&expressions->reader, expressions->snapshot, &function, 1, &row->text,
                         &state, NULL, NULL);
    }
    expressions->spent_ns += clock_now_ns() - began_ns;
    if (rc)
        buffer_clear(&row->text);
    expressions->bytes += row->text.length;
    return &row->text;
}

struct strtab_string expressions_find(struct expressions *expressions,
                                      const struct lock_use *use)
{
    const struct buffer *const text =
        use->text.line > 0 ? find_text(expressions, use->file) : NULL;
    return text && text->length
               ? expression_find(text->data, text->length, &use->text, !use->is_waited)
               : (struct strtab_string){ "", 0 };
}

int32_t expressions_find_acquire(struct expressions *expressions, str_id file,
                                 struct strtab_string expression, int32_t from, int32_t to,
                                 size_t *bytes_left)
{
    for (size_t i = 0; i < expressions->count; i++) {
        const struct buffer *const text = &expressions->files[i].text;
        if (expressions->files[i].file != file || text->length > *bytes_left)
            continue;
        *bytes_left -= text->length;
        return expression_find_acquire(text->data, text->length, expression, from, to);
    }
    return 0;
}
