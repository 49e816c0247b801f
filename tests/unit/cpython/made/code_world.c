#include "tests/unit/cpython/made/code_world.h"

#include <string.h>

#include "tests/support/test.h"

const struct fake_code CODE_WORLD_EXAMPLE = {
    .name = "Class.method", .file = "/srv/app.py", .first_line = 42, .units = 10, .words = 7
};

void code_world_begin(struct code_world *world, unsigned minor)
{
    memset(world, 0, sizeof *world);
    fake_python_init(&world->python, minor);
    assert_int_equal(strtab_init(&world->strings, NULL), ERR_OK);
    code_table_init(&world->codes, &world->python.memory.memory, &world->python.runtime.layout,
                    &world->strings);
}

void code_world_end(struct code_world *world)
{
    code_table_deinit(&world->codes);
    strtab_deinit(&world->strings);
    fake_python_deinit(&world->python);
}

code_id code_world_load(struct code_world *world, remote_addr addr)
{
    code_id id = CODE_NONE;
    assert_int_equal(code_load(&world->codes, addr, 0, &id), ERR_OK);
    return id;
}

bool code_world_check(struct code_world *world, code_id id)
{
    return code_check(&world->codes, &id, 1);
}

const char *code_world_text(const struct code_world *world, str_id id)
{
    return strtab_get(&world->strings, id).text;
}

const char *code_world_name(const struct code_world *world, code_id id)
{
    return code_world_text(world, code_at(&world->codes, id)->name);
}
