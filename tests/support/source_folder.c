#include "tests/support/source_folder.h"

#include <stdio.h>
#include <sys/stat.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"

static enum err_code read_file(void *context, const struct profile_snapshot *snapshot,
                               const function_id *functions, size_t count, struct buffer *out,
                               struct source_state *state_out, struct source_place *place_out,
                               struct err *err)
{
    const struct profile_function row = profile_function_at(snapshot, functions[0]);
    char path[1024], part[4096];
    struct stat status;
    size_t got = 0;
    (void)count;
    (void)place_out;
    snprintf(path, sizeof path, "%s%s", (const char *)context,
             profile_string(snapshot, row.file).text);
    FILE *const file = fopen(path, "r");
    if (!file)
        return err_set(err, ERR_NOT_FOUND, "there is no such source file");
    buffer_clear(out);
    while ((got = fread(part, 1, sizeof part, file)) > 0)
        buffer_append(out, part, got);
    if (fstat(fileno(file), &status) == 0)
        state_out->changed_ns =
            (uint64_t)status.st_mtim.tv_sec * NS_PER_S + (uint64_t)status.st_mtim.tv_nsec;
    fclose(file);
    return buffer_check(out, err);
}

struct source_reader source_folder(char *folder)
{
    return (struct source_reader){ .read = read_file, .context = folder };
}
