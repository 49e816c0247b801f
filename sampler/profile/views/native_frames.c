#include "sampler/profile/views/native_frames.h"

#include <string.h>

#include "sampler/base/enum_text.h"
#include "sampler/profile/context.h"
#include "sampler/profile/wait.h"

const char *const native_frames_texts[] = { NATIVE_FRAMES(ENUM_TEXT) NULL };

bool native_frames_is_c_library(const char *path)
{
    static const char *const names[] = { "libc.so.", "libc-2.", "libpthread", "ld-linux",
                                         "ld-musl-" };
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return strcmp(name, "libc.so") == 0; /* of musl, outside of Alpine */
}

enum frame_kind frame_kind_of(const struct profile_snapshot *snapshot, function_id function)
{
    const struct profile_function row = profile_function_at(snapshot, function);
    const struct strtab_string file = profile_string(snapshot, row.file);
    const char *const name = profile_string(snapshot, row.name).text;
    struct wait_text wait;
    struct context_text context;
    if (!row.library && file.length == 1 && *file.text == '~')
        return wait_read_name(name, &wait)         ? FRAME_WAIT
               : context_read_name(name, &context) ? FRAME_CONTEXT
                                                   : FRAME_MARK;
    if (!row.library)
        return FRAME_PYTHON;
    if (strcmp(name, NATIVE_GAP_NAME) == 0)
        return FRAME_GAP;
    const struct profile_library library = profile_library_at(snapshot, row.library);
    if (library.flags & PROFILE_LIBRARY_INTERPRETER)
        return FRAME_INTERPRETER;
    if (library.flags & PROFILE_LIBRARY_KERNEL)
        return FRAME_KERNEL;

    /* native_names puts brackets around what is no symbol; names of Rust go on behind theirs. */
    const char *const end = strchr(name, '>');
    return *name == '[' || (*name == '<' && end && !end[1]) ||
                   native_frames_is_c_library(profile_string(snapshot, library.path).text)
               ? FRAME_PLAIN
               : FRAME_NATIVE;
}

unsigned native_frames_step(enum native_frames setting, unsigned parent, enum frame_kind kind)
{
    const bool is_bare = parent & NATIVE_BARE, is_interpreter = kind == FRAME_INTERPRETER;
    bool here = true, below = true;
    if (kind == FRAME_PYTHON || kind == FRAME_MARK || frame_kind_is_note(kind))
        return NATIVE_KEPT_HERE | NATIVE_KEPT_BELOW;
    const bool is_first = !(parent & NATIVE_IN_KERNEL);
    if (kind == FRAME_KERNEL && setting != NATIVE_FRAMES_HIDDEN)
        return (parent & NATIVE_BARE) | NATIVE_IN_KERNEL |
               (is_first || setting > NATIVE_FRAMES_LEAF ? NATIVE_KEPT_HERE : 0U);
    switch (setting) {
    case NATIVE_FRAMES_HIDDEN: here = below = false; break;
    case NATIVE_FRAMES_DEFAULT:
    case NATIVE_FRAMES_LEAF: {
        const bool is_named = kind == FRAME_NATIVE;
        const unsigned before = parent & (NATIVE_BARE | NATIVE_NAMED);
        if (parent & NATIVE_BARE)
            return before | NATIVE_KEPT_HERE;
        if (!is_named && (kind != FRAME_PLAIN || parent & NATIVE_NAMED))
            return before;
        return before | NATIVE_KEPT_HERE | NATIVE_REPLACES | (is_named ? NATIVE_NAMED : 0U);
    }
    case NATIVE_FRAMES_LIBRARY:
    case NATIVE_FRAMES_ALL:
        here = is_bare || !is_interpreter;
        below = !is_interpreter;
        break;
    case NATIVE_FRAMES_EVERYTHING: break;
    }
    return (parent & NATIVE_BARE) | (here ? NATIVE_KEPT_HERE : 0U) |
           (below ? NATIVE_KEPT_BELOW : 0U);
}
