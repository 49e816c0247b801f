/* The names of the native code of this program, several times over, as if its libraries had many symbols. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/process/process.h"
#include "sampler/session/native/native_library.h"
#include "sampler/session/native/native_names.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

enum { PROCESSES = 8, LIBRARY_BYTES = NATIVE_NAMES_MAX_ALL_BYTES / 4 };
_Static_assert((int)LIBRARY_BYTES >= (int)NATIVE_NAMES_MAX_SYMBOL_BYTES,
               "a process reads one library");

static unsigned opened, updated;
static size_t library_bytes;

enum err_code __wrap_native_library_open(struct native_library *library, int pid, int root_fd,
                                         uid_t user, const struct image *image,
                                         struct deadline deadline);
size_t __wrap_native_library_bytes(const struct native_library *library);

enum err_code __wrap_native_library_open(struct native_library *library, int pid, int root_fd,
                                         uid_t user, const struct image *image,
                                         struct deadline deadline)
{
    (void)pid;
    (void)root_fd;
    (void)user;
    (void)image;
    (void)deadline;
    opened++;
    library->is_switcher = true; /* it was read */
    return ERR_OK;
}

size_t __wrap_native_library_bytes(const struct native_library *library)
{
    return library->is_switcher ? library_bytes : 0;
}

bool __wrap_perf_map_update(struct perf_map *map, const struct perf_map_process *process,
                            uint64_t now_ns);

bool __wrap_perf_map_update(struct perf_map *map, const struct perf_map_process *process,
                            uint64_t now_ns)
{
    (void)process;
    map->next_ns = now_ns + PERF_MAP_INTERVAL_NS;
    updated++;
    return false;
}

struct world {
    struct process process;
    struct unwinder unwinder;
    struct native_names_profile to;
};

/* Names a function of each image. */
static void name_all(const struct world *world, struct native_names *names)
{
    const struct images *const images = &world->unwinder.images;
    struct native_name name;
    for (size_t i = 0; i < images->count; i++) {
        const struct native_frame frame = { .pc = images->items[i].start,
                                            .image = images->items[i].id,
                                            .is_exact = true };
        assert_int_equal(native_names_find(names, &frame, clock_now_ns(), &name), ERR_OK);
    }
}

static void open_world(struct world *world)
{
    struct err err = { 0 };
    bool has_changed;
    *world = (struct world){ .to.profile = made_profile() };
    opened = updated = 0;
    assert_ok(process_open(&world->process, getpid(), &err), &err);
    assert_ok(unwinder_init(&world->unwinder, &world->process.memory.memory, getpid(), &err),
              &err);
    assert_int_equal(images_refresh(&world->unwinder.images, NS_PER_S, true, &has_changed),
                     ERR_OK);
}

static void close_world(struct world *world)
{
    unwinder_deinit(&world->unwinder);
    process_close(&world->process);
    profile_destroy(world->to.profile);
}

static void symbols_of_all_processes_are_bounded(void **state)
{
    static struct native_names names[PROCESSES + 1];
    struct world world;
    (void)state;
    library_bytes = LIBRARY_BYTES;
    open_world(&world);
    for (size_t i = 0; i <= PROCESSES; i++)
        native_names_init(&names[i], world.to, &world.process, &world.unwinder, 0);
    for (size_t i = 0; i < PROCESSES; i++)
        name_all(&world, &names[i]);
    assert_int_equal(opened, NATIVE_NAMES_MAX_ALL_BYTES / LIBRARY_BYTES);
    native_names_deinit(&names[0]);
    name_all(&world, &names[PROCESSES]);
    assert_int_equal(opened, NATIVE_NAMES_MAX_ALL_BYTES / LIBRARY_BYTES + 1);
    for (size_t i = 1; i <= PROCESSES; i++)
        native_names_deinit(&names[i]);
    close_world(&world);
}

static void nothing_is_read_beyond_the_share_of_time(void **state)
{
    struct native_names names;
    struct world world;
    void *const generated =
        mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_ptr_not_equal(generated, MAP_FAILED);
    library_bytes = 0;
    open_world(&world);
    native_names_init(&names, world.to, &world.process, &world.unwinder, 0);
    name_all(&world, &names);
    const unsigned libraries = opened;
    assert_true(libraries > 1);
    assert_int_equal(updated, 1);
    native_names_deinit(&names);
    native_names_init(&names, world.to, &world.process, &world.unwinder, 0);
    names.spent_ns = 2 * NATIVE_NAMES_FIRST_NS;
    name_all(&world, &names);
    assert_int_equal(opened, libraries);
    assert_int_equal(updated, 1);
    native_names_deinit(&names);
    close_world(&world);
    munmap(generated, 1);
}

TEST_GROUP(cmocka_unit_test(symbols_of_all_processes_are_bounded),
           cmocka_unit_test(nothing_is_read_beyond_the_share_of_time))
