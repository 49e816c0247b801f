/*
 * code_world - a simulated interpreter and a table of its code objects.
 *
 * Ownership: the caller's storage.
 */
#ifndef TESTS_UNIT_CPYTHON_MADE_CODE_WORLD_H
#define TESTS_UNIT_CPYTHON_MADE_CODE_WORLD_H

#include <stdbool.h>

#include "sampler/base/strtab.h"
#include "sampler/cpython/objects/code.h"
#include "tests/unit/cpython/made/fake_python.h"

struct code_world {
    struct fake_python python;
    struct strtab strings;
    struct code_table codes;
};

/* "Class.method" of /srv/app.py, from line 42 on: 10 units, 7 words. */
extern const struct fake_code CODE_WORLD_EXAMPLE;

void code_world_begin(struct code_world *world, unsigned minor);
void code_world_end(struct code_world *world);

/* Loads a code object; the test fails if that is impossible. */
code_id code_world_load(struct code_world *world, remote_addr addr);
bool code_world_check(struct code_world *world, code_id id);
const char *code_world_text(const struct code_world *world, str_id id);
const char *code_world_name(const struct code_world *world, code_id id);

#endif /* TESTS_UNIT_CPYTHON_MADE_CODE_WORLD_H */
