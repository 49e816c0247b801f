#include "sampler/cpython/objects/code_reading.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/objects/command_text.h"
#include "sampler/cpython/objects/notebook.h"

static bool is_code(struct code_table *table, remote_addr type)
{
    if (table->code_type)
        return type == table->code_type;
    if (!object_type_is(table->memory, table->layout, type, "code"))
        return false;
    table->code_type = type;
    return true;
}

static enum err_code intern(struct code_table *table, str_id *out)
{
    return strtab_intern(table->strings, (const char *)table->scratch.bytes,
                         table->scratch.count, out, NULL);
}

/* Code that was made of text has the name of that, if it is known. */
static enum err_code intern_file(struct code_table *table, struct code *code)
{
    static const char file[] = COMMAND_TEXT_FILE;
    const struct strtab_string name = strtab_get(table->strings, code->name);
    const char *const given = (const char *)table->scratch.bytes;
    char cell[NOTEBOOK_NAME_BYTES], module[FROZEN_NAME_BYTES];
    const enum err_code rc = intern(table, &code->file);
    if (rc)
        return rc;
    const char *const path = strtab_get(table->strings, code->file).text;
    if (notebook_name_cell(table->memory, table->layout, table->interp, path, cell))
        return strtab_intern(table->strings, cell, strlen(cell), &code->file, NULL);
    if (frozen_name_module(&table->frozen, table->memory, table->layout, table->interp, path,
                           module))
        return strtab_intern(table->strings, module, strlen(module), &code->file, NULL);
    if (!table->command || table->scratch.count != strlen(COMMAND_TEXT_STRING) ||
        memcmp(given, COMMAND_TEXT_STRING, table->scratch.count) != 0 ||
        !command_text_has(table->command, name.text, name.length, code->first_line))
        return ERR_OK;
    return strtab_intern(table->strings, file, sizeof file - 1, &code->file, NULL);
}

static enum err_code read_names(struct code_table *table, remote_addr file, struct code *code)
{
    struct object_bytes *const scratch = &table->scratch;
    enum err_code rc = object_read_str(table->memory, table->layout, code->qualname, scratch);
    if (!rc)
        rc = intern(table, &code->name);
    if (!rc)
        rc = object_read_file_name(table->memory, table->layout, file, scratch);
    return rc ? rc : intern_file(table, code);
}

/* A location table over a limit leaves the lines unknown; anything else fails. */
static enum err_code read_table(struct code_table *table, remote_addr addr, struct code *code)
{
    const enum err_code rc =
        object_read_bytes(table->memory, table->layout, addr, &table->scratch);
    if (rc == ERR_LIMIT)
        return ERR_OK;
    if (rc)
        return rc;
    if (table->scratch.count > CODE_MAX_BYTES - table->bytes) {
        table->lacks_room = true;
        return ERR_OK;
    }
    code->table = malloc(table->scratch.count + 1);
    if (!code->table)
        return ERR_NOMEM;
    memcpy(code->table, table->scratch.bytes, table->scratch.count);
    code->table_bytes = (uint32_t)table->scratch.count;
    return ERR_OK;
}

static enum err_code read_fingerprint(struct code_table *table, const unsigned char *copy,
                                      struct code *code)
{
    const struct layout *const layout = table->layout;
    const size_t bytes = code_fingerprint_bytes(layout);
    if (bytes + NAME_FINGERPRINT_BYTES > sizeof code->fingerprint)
        return ERR_UNSUPPORTED;
    memcpy(code->fingerprint, copy + layout->code_firstlineno, bytes);
    if (!code_has_name_fingerprint(layout))
        return ERR_OK;
    return memory_read(table->memory, code->qualname + layout->unicode_length,
                       code->fingerprint + bytes, NAME_FINGERPRINT_BYTES);
}

/* 3.11 does not store the size: it is the fixed part, the locals and the value stack. */
static uint32_t frame_words(const struct layout *layout, const unsigned char *copy)
{
    if (layout->has_heap_frames)
        return 0;
    if (layout->code_framesize)
        return field_u32(copy, layout->code_framesize);
    const uint32_t fixed = (layout->frame_bytes - 1) / (uint32_t)sizeof(uint64_t);
    return fixed + field_u32(copy, layout->code_nlocalsplus) +
           field_u32(copy, layout->code_stacksize);
}

/* The first traceable instruction of a shim is beyond its end: nothing of it is traceable, and its
 * frames are never being set up. */
static void set_first_traceable(const struct layout *layout, const unsigned char *copy,
                                struct code *code)
{
    if (layout->code_firsttraceable)
        code->first_traceable = field_u32(copy, layout->code_firsttraceable);
    code->is_shim = code->first_traceable > code->units;
    if (code->is_shim)
        code->first_traceable = 0;
}

/* Until 3.10 the instructions are in a separate bytes object. */
static enum err_code find_instructions(struct code_table *table, remote_addr addr,
                                       const unsigned char *copy, struct code *code)
{
    const struct layout *const layout = table->layout;
    uint64_t units = field_u64(copy, layout->bytes_length);
    enum err_code rc = ERR_OK;
    code->instructions = addr + layout->code_instructions;
    if (layout->code_code) {
        const remote_addr bytes = field_u64(copy, layout->code_code);
        rc = memory_read_u64(table->memory, bytes + layout->bytes_length, &units);
        units /= CODE_UNIT_BYTES;
        code->instructions = bytes + layout->bytes_data;
    }
    if (!rc && units > CODE_MAX_UNITS)
        rc = ERR_CORRUPT;
    code->units = (uint32_t)units;
    return rc;
}

enum err_code code_read(struct code_table *table, remote_addr addr, struct code *code)
{
    const struct layout *const layout = table->layout;
    unsigned char copy[LAYOUT_MAX_CODE_BYTES];
    enum err_code rc = memory_read(table->memory, addr, copy, layout->code_bytes);
    if (rc)
        return rc;
    if (!is_code(table, field_u64(copy, layout->object_type)))
        return ERR_CORRUPT;
    memset(code, 0, sizeof *code);
    rc = find_instructions(table, addr, copy, code);
    if (rc)
        return rc;
    code->addr = addr;
    code->qualname = field_u64(copy, layout->code_qualname);
    code->first_line = (int32_t)field_u32(copy, layout->code_firstlineno);
    code->frame_words = frame_words(layout, copy);
    set_first_traceable(layout, copy, code);
    rc = read_fingerprint(table, copy, code);
    if (!rc)
        rc = read_names(table, field_u64(copy, layout->code_filename), code);
    if (!rc)
        rc = read_table(table, field_u64(copy, layout->code_linetable), code);
    return rc;
}

enum err_code code_read_identity(struct code_table *table, remote_addr addr, struct code *out)
{
    unsigned char copy[LAYOUT_MAX_CODE_BYTES];
    memset(out, 0, sizeof *out);
    const enum err_code rc = memory_read(table->memory, addr, copy, table->layout->code_bytes);
    if (rc)
        return rc;
    out->qualname = field_u64(copy, table->layout->code_qualname);
    return read_fingerprint(table, copy, out);
}
