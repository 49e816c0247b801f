#include "sampler/cpython/objects/code_bytecode.h"

/* In a code object; constants and names are in between. */
enum { HANDLERS_AFTER_LENGTH = 24 };

void code_bytecode_deinit(struct code_bytecode *room)
{
    object_bytes_deinit(&room->units);
    object_bytes_deinit(&room->handlers);
}

static enum err_code read_units(struct memory *memory, const struct code *code,
                                struct object_bytes *units)
{
    const size_t bytes = (size_t)code->units * BYTECODE_UNIT_BYTES;
    if (code->units > BYTECODE_MAX_UNITS)
        return ERR_LIMIT;
    const enum err_code rc = object_bytes_reserve(units, bytes + 1);
    return rc ? rc : memory_read(memory, code->instructions, units->bytes, bytes);
}

enum err_code code_bytecode_read(struct memory *memory, const struct layout *layout,
                                 const struct code *code, const struct opcode *opcodes,
                                 bool with_handlers, struct code_bytecode *room,
                                 struct bytecode *out)
{
    enum err_code rc = read_units(memory, code, &room->units);
    if (!rc && with_handlers) {
        uint64_t addr;
        rc = memory_read_u64(memory, code->addr + layout->bytes_length + HANDLERS_AFTER_LENGTH,
                             &addr);
        if (!rc)
            rc = object_read_bytes(memory, layout, addr, &room->handlers);
    }
    if (!rc)
        *out = (struct bytecode){ .opcodes = opcodes,
                                  .units = room->units.bytes,
                                  .unit_count = code->units,
                                  .handlers = with_handlers ? room->handlers.bytes : NULL,
                                  .handler_bytes = with_handlers ? room->handlers.count : 0 };
    return rc;
}
