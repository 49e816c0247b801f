#include "sampler/profile/views/native_frames.h"

#include <stdbool.h>
#include <string.h>

#include "sampler/base/enum_text.h"

const char *const native_frames_texts[] = { NATIVE_FRAMES(ENUM_TEXT) NULL };

enum frame_kind frame_kind_of(const struct profile_snapshot *snapshot, function_id function)
{
    const struct profile_function row = profile_function_at(snapshot, function);
    const struct strtab_string file = profile_string(snapshot, row.file);
    if (!row.library)
        return file.length == 1 && *file.text == '~' ? FRAME_MARK : FRAME_PYTHON;
    if (strcmp(profile_string(snapshot, row.name).text, NATIVE_GAP_NAME) == 0)
        return FRAME_GAP;
    return profile_library_at(snapshot, row.library).flags & PROFILE_LIBRARY_INTERPRETER
               ? FRAME_INTERPRETER
               : FRAME_NATIVE;
}

unsigned native_frames_step(enum native_frames setting, unsigned parent, enum frame_kind kind)
{
    const bool is_bare = parent & NATIVE_BARE, is_chosen = parent & NATIVE_CHOSEN;
    const bool is_interpreter = kind == FRAME_INTERPRETER;
    bool here = true, below = true;
    if (kind == FRAME_PYTHON || kind == FRAME_MARK)
        return NATIVE_KEPT_HERE | NATIVE_KEPT_BELOW;
    switch (setting) {
    case NATIVE_FRAMES_HIDDEN: here = below = false; break;
    case NATIVE_FRAMES_DEFAULT:
    case NATIVE_FRAMES_LEAF:
        here = is_bare || (!is_chosen && kind == FRAME_NATIVE);
        below = false;
        break;
    case NATIVE_FRAMES_LIBRARY:
    case NATIVE_FRAMES_ALL:
        here = is_bare || !is_interpreter;
        below = !is_interpreter;
        break;
    case NATIVE_FRAMES_EVERYTHING: break;
    }
    return (parent & (NATIVE_BARE | NATIVE_CHOSEN)) | (here ? NATIVE_KEPT_HERE : 0U) |
           (below ? NATIVE_KEPT_BELOW : 0U) | (here && !is_bare ? NATIVE_CHOSEN : 0U);
}
