#include "tests/unit/cpython/made/fake_heap.h"

#include <string.h>

enum { UNITS = 16, FIRST_WITH_RANGES = 10, UNIT_AT_CALL = 3 };

remote_addr fake_heap_code(struct fake_python *python, const char *name)
{
    static const unsigned char units[UNITS * 2], pair[] = { 2, 1 }, start[] = { 2, 0 };
    const struct layout *const layout = &python->runtime.layout;
    struct fake_memory *const memory = &python->memory;
    unsigned char table[UNITS * 2];
    for (size_t i = 0; i < UNITS; i++)
        memcpy(table + i * 2, i || python->minor < FIRST_WITH_RANGES ? pair : start, 2);
    const remote_addr addr = fake_alloc(python, layout->code_bytes);
    fake_memory_put_u64(memory, addr + layout->object_type, python->code_type);
    fake_memory_put_u64(memory, addr + layout->code_code,
                        fake_bytes(python, units, sizeof units));
    fake_memory_put_u64(memory, addr + layout->code_qualname, fake_str(python, name));
    fake_memory_put_u64(memory, addr + layout->code_filename, fake_str(python, "f.py"));
    fake_memory_put_u64(memory, addr + layout->code_linetable,
                        fake_bytes(python, table, sizeof table));
    fake_memory_put_u32(memory, addr + layout->code_firstlineno, 1);
    return addr;
}

void fake_heap_set_executing(struct fake_python *python, remote_addr frame, bool runs)
{
    const bool is_state = python->minor == FIRST_WITH_RANGES;
    fake_memory_put_u8(&python->memory, frame + python->runtime.layout.frame_executing,
                       is_state ? (runs ? 0 : 1) : runs);
}

void fake_heap_set_unit(struct fake_python *python, remote_addr frame, int unit)
{
    const int factor = python->minor == FIRST_WITH_RANGES ? 1 : 2;
    fake_memory_put_u32(&python->memory, frame + python->runtime.layout.frame_lasti,
                        (uint32_t)(unit < 0 ? -1 : unit * factor));
}

void fake_heap_set_current(struct fake_python *python, remote_addr tstate, remote_addr frame)
{
    fake_memory_put_u64(&python->memory, tstate + python->runtime.layout.tstate_current_frame,
                        frame);
}

remote_addr fake_heap_call(struct fake_python *python, remote_addr tstate, remote_addr code,
                           remote_addr caller)
{
    const struct layout *const layout = &python->runtime.layout;
    const remote_addr frame = fake_alloc(python, layout->frame_bytes);
    fake_memory_put_u64(&python->memory, frame + layout->frame_previous, caller);
    fake_memory_put_u64(&python->memory, frame + layout->frame_executable, code);
    fake_heap_set_executing(python, frame, true);
    fake_heap_set_unit(python, frame, UNIT_AT_CALL);
    fake_heap_set_current(python, tstate, frame);
    return frame;
}
