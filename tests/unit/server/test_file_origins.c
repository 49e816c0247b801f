#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/debug_lines.h"
#include "server/source/file_origins.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

/* Processes of two owners. */
enum { OWNER_SHIFT = 48 };
static const profile_origin FIRST = 1ull << OWNER_SHIFT | 1, SECOND = 1ull << OWNER_SHIFT | 2,
                            OTHERS = 2ull << OWNER_SHIFT | 3;

struct world {
    struct profile *profile;
    struct profile_snapshot snapshot;
    struct file_origins found;
};

static int setup(void **state)
{
    struct world *const world = calloc(1, sizeof *world);
    world->profile = made_profile();
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *const world = *state;
    profile_snapshot_release(&world->snapshot);
    profile_destroy(world->profile);
    free(world);
    return 0;
}

static function_id add(struct world *world, const char *name, const char *file,
                       profile_origin origin)
{
    const function_id id = made_function(world->profile, name, file, 1);
    profile_set_origin(world->profile, id, origin);
    return id;
}

static function_id add_native(struct world *world, const char *name, const char *library,
                              uint64_t entry)
{
    const function_id id = made_native_function(world->profile, name, library, NULL, 0);
    profile_set_origin(world->profile, id, FIRST);
    profile_set_entry(world->profile, id, entry);
    return id;
}

static enum err_code find(struct world *world, enum relay_want want,
                          const function_id *functions, size_t count)
{
    profile_snapshot_release(&world->snapshot);
    made_seal(world->profile, 1);
    world->snapshot = made_snapshot(world->profile);
    return file_origins_find(&world->snapshot, functions, count, want, &world->found, NULL);
}

static void assert_path(const struct world *world, const char *path)
{
    assert_int_equal(world->found.key.path.length, strlen(path));
    assert_memory_equal(world->found.key.path.text, path, strlen(path));
}

static void a_file_is_that_of_its_functions(void **state)
{
    struct world *const world = *state;
    const function_id functions[] = { add(world, "a", "/app.py", FIRST),
                                      add(world, "b", "/app.py", SECOND),
                                      add(world, "c", "/app.py", FIRST) };
    assert_int_equal(find(world, RELAY_TEXT, functions, 3), ERR_OK);
    assert_path(world, "/app.py");
    assert_int_equal(world->found.count, 2);
    assert_true(world->found.items[0] == FIRST && world->found.items[1] == SECOND);
    assert_int_equal(world->found.entry_count, 0);
    /* Whoever is asked for these finds the same. */
    assert_int_equal(world->found.request.count, 2);
    assert_int_equal(world->found.request.functions[0], functions[0]);
    assert_int_equal(world->found.request.functions[1], functions[1]);
}

static void many_origins_make_no_long_request(void **state)
{
    struct world *const world = *state;
    function_id functions[4 * SOURCE_MAX_PLACES];
    char name[16];
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) {
        snprintf(name, sizeof name, "f%u", i);
        functions[i] = add(world, name, "/app.py", FIRST + i);
    }
    assert_int_equal(
        find(world, RELAY_CHECKOUT, functions, sizeof functions / sizeof *functions), ERR_OK);
    assert_int_equal(world->found.count, FILE_ORIGINS_MAX);
    assert_int_equal(world->found.request.count, FILE_ORIGINS_MAX);
}

static void what_no_function_names_is_no_file(void **state)
{
    struct world *const world = *state;
    const function_id app = add(world, "a", "/app.py", FIRST);
    const function_id others[] = { app, add(world, "b", "/etc/shadow", FIRST) };
    const function_id unknown[] = { app, UINT32_MAX };
    assert_int_equal(find(world, RELAY_TEXT, others, 2), ERR_INVALID);
    assert_int_equal(find(world, RELAY_TEXT, unknown, 2), ERR_INVALID);
    assert_int_equal(find(world, RELAY_TEXT, &unknown[1], 1), ERR_INVALID);
    assert_int_equal(find(world, RELAY_TEXT, &app, 0), ERR_NOT_FOUND);
    assert_int_equal(find(world, RELAY_PLACES, &app, 1), ERR_INVALID);
    const function_id relative = add(world, "c", "app.py", FIRST);
    assert_int_equal(find(world, RELAY_TEXT, &relative, 1), ERR_INVALID);
    const function_id cell = add(world, "d", "In [4]", FIRST),
                      text = add(world, "e", "<string>", FIRST);
    assert_int_equal(find(world, RELAY_TEXT, &cell, 1), ERR_NOT_FOUND);
    assert_int_equal(find(world, RELAY_TEXT, &text, 1), ERR_NOT_FOUND);
}

static void functions_of_several_owners_have_no_file(void **state)
{
    struct world *const world = *state;
    const function_id functions[] = { add(world, "a", "/app.py", FIRST),
                                      add(world, "b", "/app.py", OTHERS),
                                      add(world, "c", "/app.py", PROFILE_ORIGIN_SEVERAL),
                                      add(world, "d", "/app.py", PROFILE_ORIGIN_NONE) };
    assert_int_equal(find(world, RELAY_TEXT, functions, 1), ERR_OK);
    assert_int_equal(find(world, RELAY_TEXT, functions, 2), ERR_PERM);
    assert_int_equal(find(world, RELAY_TEXT, &functions[2], 1), ERR_PERM);
    assert_int_equal(find(world, RELAY_TEXT, &functions[3], 1), ERR_NOT_FOUND);
}

static bool has_one_owner(struct world *world)
{
    const function_id none = 0;
    (void)find(world, RELAY_TEXT, &none, 0);
    return file_origins_have_one_owner(&world->snapshot);
}

static void a_session_of_several_owners_is_known(void **state)
{
    struct world *const world = *state;
    assert_true(has_one_owner(world));
    add(world, "a", "/app.py", FIRST);
    add(world, "b", "/other.py", SECOND);
    add(world, "c", "~", PROFILE_ORIGIN_NONE);
    assert_true(has_one_owner(world));
    const function_id id = add(world, "d", "/third.py", OTHERS);
    assert_false(has_one_owner(world));
    profile_set_origin(world->profile, id, PROFILE_ORIGIN_SEVERAL);
    assert_false(has_one_owner(world));
}

static void native_functions_are_of_one_library(void **state)
{
    struct world *const world = *state;
    if (!debug_lines_are_supported())
        skip();
    const function_id functions[] = { add_native(world, "a", "/lib/x.so", 4096),
                                      add_native(world, "b", "/lib/x.so", 8192),
                                      add_native(world, "c", "/lib/y.so", 4096),
                                      add_native(world, "d", "/lib/x.so", 0) };
    assert_int_equal(find(world, RELAY_PLACES, functions, 2), ERR_OK);
    assert_path(world, "/lib/x.so");
    assert_int_equal(world->found.entry_count, 2);
    assert_true(world->found.entries[0] == 4096 && world->found.entries[1] == 8192);
    assert_int_equal(world->found.request.count, 2);
    assert_int_equal(find(world, RELAY_PLACES, functions, 3), ERR_INVALID);
    assert_int_equal(find(world, RELAY_NATIVE_TEXT, functions, 1), ERR_OK);
    assert_int_equal(find(world, RELAY_NATIVE_TEXT, functions, 2), ERR_NOT_FOUND);
    assert_int_equal(find(world, RELAY_TEXT, functions, 1), ERR_NOT_FOUND);
    assert_int_equal(find(world, RELAY_CHECKOUT, functions, 1), ERR_NOT_FOUND);
    assert_int_equal(find(world, RELAY_PLACES, &functions[3], 1), ERR_NOT_FOUND);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

TEST_GROUP(WITH_WORLD(a_file_is_that_of_its_functions),
           WITH_WORLD(many_origins_make_no_long_request),
           WITH_WORLD(what_no_function_names_is_no_file),
           WITH_WORLD(functions_of_several_owners_have_no_file),
           WITH_WORLD(a_session_of_several_owners_is_known),
           WITH_WORLD(native_functions_are_of_one_library))
