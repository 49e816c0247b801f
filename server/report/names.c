#include "server/report/names.h"

#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/views/states.h"

struct named_frame names_function(const struct profile_snapshot *snapshot, function_id id)
{
    const struct profile_function function = profile_function_at(snapshot, id);
    const struct strtab_string file = profile_string(snapshot, function.file);
    const struct profile_library library = profile_library_at(snapshot, function.library);
    const bool is_synthetic = file.length == 1 && file.text[0] == '~';
    return (struct named_frame){
        .name = profile_string(snapshot, function.name),
        .file = file,
        .function = id,
        .first_line = function.first_line,
        .library = profile_string(snapshot, library.path),
        .is_synthetic = is_synthetic,
        .is_native = function.library != 0,
        .is_kernel = library.flags & PROFILE_LIBRARY_KERNEL,
        .has_source = !is_synthetic && (!function.library || function.file != library.path),
    };
}

struct named_frame names_frame(const struct profile_snapshot *snapshot, frame_id id)
{
    const struct profile_frame frame = profile_frame_at(snapshot, id);
    struct named_frame named = names_function(snapshot, frame.function);
    named.line = frame.line;
    return named;
}

bool names_c_function(const struct named_frame *frame, struct strtab_string *out)
{
    static const char prefix[] = "<native> ";
    const uint32_t bytes = sizeof prefix - 1;
    *out = frame->name;
    if (!frame->is_synthetic || frame->name.length <= bytes ||
        memcmp(frame->name.text, prefix, bytes) != 0)
        return false;
    *out = (struct strtab_string){ frame->name.text + bytes, frame->name.length - bytes };
    return true;
}

void names_put_thread(struct buffer *out, const struct profile_snapshot *snapshot, thread_id id)
{
    const struct profile_thread thread = profile_thread_at(snapshot, id);
    const struct strtab_string name = profile_string(snapshot, thread.name);
    buffer_append(out, name.text, name.length);
    buffer_printf(out, name.length > 0 ? " (%d)" : "thread %d", (int)thread.tid);
}

void names_put_state(struct buffer *out, state_bits state)
{
    const char *comma = "";
    for (enum state_flag flag = 0; flag < STATE_FLAG_COUNT; flag++) {
        const bool unknown = state & state_flag_unknown(flag);
        if (!unknown && !(state & state_flag_yes(flag)))
            continue;
        buffer_printf(out, unknown ? "%s(%s)" : "%s%s", comma, state_flag_text(flag));
        comma = ",";
    }
}

static bool is_word(struct strtab_string part, const char *word)
{
    return part.length == strlen(word) && memcmp(part.text, word, part.length) == 0;
}

static bool is_python(struct strtab_string part)
{
    static const char word[] = "python";
    const size_t length = sizeof word - 1;
    return part.length > length && memcmp(part.text, word, length) == 0 &&
           part.text[length] >= '0' && part.text[length] <= '9';
}

struct strtab_string names_short(struct strtab_string file)
{
    const char *const end = file.text + file.length;
    const char *root = NULL, *folder = file.text;
    bool is_in_lib = false;
    for (const char *at = file.text, *slash;
         at < end && (slash = memchr(at, '/', (size_t)(end - at))); at = slash + 1) {
        const struct strtab_string part = { at, (uint32_t)(slash - at) };
        if (is_word(part, "site-packages") || is_word(part, "dist-packages") ||
            (is_in_lib && is_python(part)))
            root = slash + 1;
        is_in_lib = is_word(part, "lib") || is_word(part, "lib64");
        folder = part.length > 0 ? at : slash + 1;
    }
    const char *const from = root ? root : folder;
    return (struct strtab_string){ from, (uint32_t)(end - from) };
}

struct strtab_string names_base(struct strtab_string file)
{
    const char *const slash = memrchr(file.text, '/', file.length);
    if (!slash)
        return file;
    const size_t skipped = (size_t)(slash + 1 - file.text);
    return (struct strtab_string){ slash + 1, file.length - (uint32_t)skipped };
}
