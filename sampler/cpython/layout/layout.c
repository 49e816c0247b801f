#include "sampler/cpython/layout/layout.h"

#include <stdio.h>
#include <string.h>

#include "sampler/cpython/layout/layout_tables.h"

enum err_code layout_of_version(uint32_t version, struct layout *out, struct err *err)
{
    char text[LAYOUT_VERSION_TEXT];
    for (size_t i = 0; i < LAYOUT_TABLE_COUNT; i++) {
        if (version >> 16 != layout_tables[i].version >> 16)
            continue;
        struct layout layout = layout_tables[i];
        layout.version = version;
        layout.validated = true;
        layout_set_capabilities(&layout);
        const enum err_code rc = layout_check(&layout, err);
        if (!rc)
            *out = layout;
        return rc;
    }
    layout_version_text(version, text);
    return err_set(err, ERR_UNSUPPORTED,
                   "Python %s is not supported: CPython 3.8 to 3.15 can be read", text);
}

void layout_set_capabilities(struct layout *layout)
{
    const uint32_t minor = LAYOUT_MINOR(layout->version);
#define X(capability, first, last) layout->capability = minor >= (first) && minor <= (last);
    LAYOUT_CAPABILITIES(X)
#undef X
}

static enum err_code check_field(const char *name, uint32_t offset, uint32_t width,
                                 uint32_t structure_bytes, uint32_t buffer_bytes,
                                 struct err *err)
{
    if ((uint64_t)offset + width > structure_bytes || structure_bytes > buffer_bytes)
        return err_set(err, ERR_CORRUPT,
                       "the target says that %s lies at %u of %u bytes, which cannot be", name,
                       offset, structure_bytes);
    return ERR_OK;
}

enum err_code layout_check(const struct layout *layout, struct err *err)
{
    enum {
        runtime_max = LAYOUT_MAX_RUNTIME_BYTES,
        interp_max = LAYOUT_MAX_INTERP_BYTES,
        tstate_max = LAYOUT_MAX_TSTATE_BYTES,
        cframe_max = LAYOUT_MAX_CFRAME_BYTES,
        frame_max = LAYOUT_MAX_FRAME_BYTES,
        code_max = LAYOUT_MAX_CODE_BYTES,
        object_max = LAYOUT_MAX_OBJECT_BYTES,
    };
#define X(field, width, structure)                                                            \
    if (layout->field && check_field(#field, layout->field, width, layout->structure##_bytes, \
                                     structure##_max, err))                                   \
        return ERR_CORRUPT;
    LAYOUT_FIELDS(X)
#undef X
    if (!layout->tstate_current_frame && !layout->tstate_cframe)
        return err_set(err, ERR_CORRUPT, "the target does not say where frames begin");
    const bool describes_frames =
        layout->has_heap_frames
            ? layout->frame_lasti && layout->frame_executing && layout->frame_executable &&
                  layout->tstate_current_frame && layout->code_code
            : layout->frame_instr && layout->frame_owner && layout->tstate_datastack_chunk;
    if (!describes_frames || !layout->code_linetable || !layout->frame_previous ||
        !layout->runtime_interpreters_head || !layout->interp_threads_head ||
        !layout->interp_gil_locked != !layout->interp_gil_holder)
        return err_set(err, ERR_CORRUPT, "the target's table of offsets is incomplete");
    if (layout->object_type < sizeof(uint64_t) ||
        !layout->frame_tlbc_index != !layout->code_tlbc)
        return err_set(err, ERR_CORRUPT, "the target's table of offsets contradicts itself");
    if (layout->object_type + sizeof(uint64_t) > layout->code_bytes ||
        layout->bytes_length + sizeof(uint64_t) > layout->code_bytes ||
        layout->unicode_state + sizeof(uint32_t) > layout->unicode_ascii_bytes ||
        layout->unicode_length + sizeof(uint64_t) > layout->unicode_ascii_bytes ||
        layout->unicode_ascii_bytes > LAYOUT_MAX_STR_HEAD_BYTES ||
        layout->code_firstlineno >= layout->code_linetable)
        return err_set(err, ERR_CORRUPT, "the target's table of offsets contradicts itself");
    return ERR_OK;
}

void layout_version_text(uint32_t version, char out[LAYOUT_VERSION_TEXT])
{
    const unsigned level = version >> 4 & 0xf, serial = version & 0xf;
    const char *const name = level == 0xa ? "a" : level == 0xb ? "b" : level == 0xc ? "rc" : "";
    const int n = snprintf(out, LAYOUT_VERSION_TEXT, "%u.%u.%u", LAYOUT_MAJOR(version),
                           LAYOUT_MINOR(version), version >> 8 & 0xff);
    if (*name)
        snprintf(out + n, (size_t)(LAYOUT_VERSION_TEXT - n), "%s%u", name, serial);
}

void layout_name(const struct layout *layout, char out[LAYOUT_VERSION_TEXT])
{
    layout_version_text(layout->version, out);
    const size_t length = strlen(out);
    if (layout->is_free_threaded)
        snprintf(out + length, LAYOUT_VERSION_TEXT - length, "t");
}
