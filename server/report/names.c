#include "server/report/names.h"

#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/utf8.h"
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

struct strtab_string names_base(struct strtab_string file)
{
    const char *const slash = memrchr(file.text, '/', file.length);
    if (!slash)
        return file;
    const size_t skipped = (size_t)(slash + 1 - file.text);
    return (struct strtab_string){ slash + 1, file.length - (uint32_t)skipped };
}

/* Characters that end a line, or that show later ones in another order. */
static bool is_treacherous(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* The code point of a character of n bytes, up to three: those of four need no escape. */
static uint32_t code_of(const unsigned char *text, size_t n)
{
    switch (n) {
    case 1: return text[0];
    case 2: return (text[0] & 0x1fu) << 6 | (text[1] & 0x3fu);
    case 3: return (text[0] & 0xfu) << 12 | (text[1] & 0x3fu) << 6 | (text[2] & 0x3fu);
    default: return 0x10000;
    }
}

size_t names_put_character(struct buffer *out, const char *text, size_t length)
{
    const size_t n = utf8_char_length(text, length);
    const uint32_t code = code_of((const unsigned char *)text, n);
    if (n == 0)
        buffer_text(out, "\xef\xbf\xbd");
    else if (is_treacherous(code))
        buffer_printf(out, code < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)code);
    else
        buffer_append(out, text, n);
    return n > 0 ? n : 1;
}

void names_put_plain(struct buffer *out, struct strtab_string text)
{
    for (size_t i = 0; i < text.length;)
        i += names_put_character(out, text.text + i, text.length - i);
}

void names_put_utf8(struct buffer *out, const char *text)
{
    const size_t length = text ? strlen(text) : 0;
    for (size_t i = 0; i < length;) {
        const size_t n = utf8_char_length(text + i, length - i);
        if (n > 0)
            buffer_append(out, text + i, n);
        else
            buffer_text(out, "\xef\xbf\xbd");
        i += n > 0 ? n : 1;
    }
}
