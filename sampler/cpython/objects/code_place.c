#include "sampler/cpython/objects/code_place.h"

#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/cpython/objects/bytecode.h"

static uint32_t search_place(const struct code *code, uint32_t unit)
{
    size_t at;
    LOWER_BOUND(at, code->place_count, code->places[at].unit < unit);
    return (uint32_t)at;
}

/* Makes room for a place.  A code object with too many places loses them all. */
static enum err_code make_room(struct code_table *table, struct code *code)
{
    if (code->place_count < code->place_room)
        return ERR_OK;
    if (code->place_count == CODE_MAX_PLACES) {
        code->place_count = 0;
        return ERR_OK;
    }
    const size_t before = code->place_room;
    if (!VEC_RESERVE(code->places, code->place_room, before + 1))
        return ERR_NOMEM;
    table->bytes += (code->place_room - before) * sizeof *code->places;
    return ERR_OK;
}

struct code_place *code_place(struct code_table *table, code_id id, remote_addr instr)
{
    struct code *const code = code_at(table, id);
    uint32_t unit = UINT32_MAX;
    if (instr >= code->instructions && code_holds(code, instr))
        unit = (uint32_t)((instr - code->instructions) / CODE_UNIT_BYTES);
    uint32_t at = code->last_place;
    if (at < code->place_count && code->places[at].unit == unit)
        return &code->places[at];
    at = search_place(code, unit);
    if (at == code->place_count || code->places[at].unit != unit) {
        if (make_room(table, code))
            return NULL;
        at = at < code->place_count ? at : code->place_count;

        const struct layout *const layout = table->layout;
        memmove(code->places + at + 1, code->places + at,
                (code->place_count - at) * sizeof *code->places);

        struct location location = { 0, 0, -1, -1 };
        if (unit != UINT32_MAX && code->table) {
            /* CPython has had three formats of tables. */
            if (layout->has_columns)
                (void)location_find(code->table, code->table_bytes, code->first_line, unit,
                                    &location);
            else
                location.line = location.end_line =
                    layout->has_line_ranges
                        ? location_find_lnotab_range(code->table, code->table_bytes,
                                                     code->first_line, unit)
                        : location_find_lnotab(code->table, code->table_bytes, code->first_line,
                                               unit);
        }
        const bool has_begun = unit != UINT32_MAX && unit > code->first_traceable;
        if (location.line <= 0 && !has_begun)
            location = (struct location){ code->first_line, code->first_line, -1, -1 };
        code->places[at] = (struct code_place){ .unit = unit, .location = location };

        code->place_count++;
    }
    code->last_place = at;
    return &code->places[at];
}

/* Until 3.12 a frame that has called Python code is at the last cache unit of its call instruction.
 * Finding the start of that instruction takes a walk from the start of the code. */
static remote_addr instruction_at(struct code_table *table, const struct code *code,
                                  uint32_t unit)
{
    const remote_addr instr = code->instructions + (remote_addr)unit * CODE_UNIT_BYTES;
    const size_t bytes = ((size_t)unit + 1) * CODE_UNIT_BYTES;
    if (table->layout->stays_at_call || unit >= BYTECODE_MAX_UNITS ||
        object_bytes_reserve(&table->scratch, bytes) ||
        memory_read(table->memory, code->instructions, table->scratch.bytes, bytes))
        return instr;
    const struct bytecode bytecode = { .opcodes = table->opcodes,
                                       .units = table->scratch.bytes,
                                       .unit_count = unit + 1 };
    return code->instructions + (remote_addr)bytecode_start(&bytecode, unit) * CODE_UNIT_BYTES;
}

static enum code_act read_act(struct code_table *table, const struct code *code, uint32_t at)
{
    static const struct {
        const char *start;
        enum code_act act;
    } acts[] = {
        { "RETURN_", CODE_RETURNS },
        { "YIELD_", CODE_YIELDS },
        { "FOR_ITER", CODE_RESUMES },
        { "SEND", CODE_RESUMES },
    };
    unsigned char unit[CODE_UNIT_BYTES];
    if (!table->opcodes || at >= code->units ||
        memory_read(table->memory, instruction_at(table, code, at), unit, sizeof unit))
        return CODE_ACTS;
    const char *const name = table->opcodes[table->opcodes[unit[0]].base].name;
    for (size_t i = 0; name && i < sizeof acts / sizeof *acts; i++)
        if (strncmp(name, acts[i].start, strlen(acts[i].start)) == 0)
            return acts[i].act;
    return CODE_ACTS;
}

enum code_act code_act_at(struct code_table *table, code_id id, remote_addr instr)
{
    struct code_place *const place = code_place(table, id, instr);
    if (place && place->act == CODE_ACT_UNKNOWN)
        place->act = read_act(table, code_at(table, id), place->unit);
    return place ? place->act : CODE_ACTS;
}
