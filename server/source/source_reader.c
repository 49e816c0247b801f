#include "server/source/source_reader.h"

#include <string.h>

#include "sampler/base/buffer.h"

enum err_code source_read(const struct source_reader *reader,
                          const struct profile_snapshot *snapshot, const function_id *functions,
                          size_t count, struct buffer *out, struct source_state *state_out,
                          struct source_place *place_out, struct err *err)
{
    *state_out = (struct source_state){ .changed_ns = 0 };
    if (place_out)
        *place_out = (struct source_place){ .line = 0 };
    if (!reader)
        return err_set(err, ERR_NOT_FOUND, "this session has no source text");
    return reader->read(reader->context, snapshot, functions, count, out, state_out, place_out,
                        err);
}

bool source_is_known(const struct profile_snapshot *snapshot, function_id function)
{
    const struct profile_function row = profile_function_at(snapshot, function);
    return !row.library || profile_library_at(snapshot, row.library).path != row.file;
}

enum err_code source_locate(const struct source_reader *reader,
                            const struct profile_snapshot *snapshot,
                            const function_id *functions, size_t count, source_found *found,
                            void *context, struct err *err)
{
    if (!reader || !reader->locate)
        return err_set(err, ERR_NOT_FOUND, "this session has no source text");
    return reader->locate(reader->context, snapshot, functions, count, found, context, err);
}
