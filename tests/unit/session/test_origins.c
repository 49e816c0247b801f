#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/process/process.h"
#include "sampler/session/origins.h"
#include "tests/support/test.h"

enum { OTHER = 65534 };

static const char mapped = 1;

struct world {
    struct origins origins;
    struct process own, other; /* both are this process, opened twice */
};

static int setup(void **state)
{
    struct world *const world = calloc(1, sizeof *world);
    struct err err = { 0 };
    origins_init(&world->origins);
    assert_ok(process_open(&world->own, getpid(), &err), &err);
    assert_ok(process_open(&world->other, getpid(), &err), &err);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *const world = *state;
    process_close(&world->own);
    process_close(&world->other);
    origins_deinit(&world->origins);
    free(world);
    return 0;
}

static profile_origin add(struct world *world, struct process *process)
{
    return origins_add(&world->origins, process, (uint64_t)(uintptr_t)&mapped);
}

static void a_process_is_found_until_it_ends(void **state)
{
    struct world *const world = *state;
    struct session_origin found;
    struct err err = { 0 };
    const profile_origin first = add(world, &world->own), second = add(world, &world->other);
    assert_true(first != second && first != PROFILE_ORIGIN_SEVERAL);
    assert_int_equal(session_origin_owner(first), session_origin_owner(second));
    assert_int_equal(world->origins.owner_count, 1);
    assert_ok(origins_find(&world->origins, first, &found, &err), &err);
    assert_int_equal(found.pid, getpid());
    assert_int_equal(found.owner.uid, getuid());
    assert_true(found.pidfd >= 0 && found.pidfd != world->own.pidfd);
    session_origin_close(&found);
    origins_end(&world->origins, first);
    assert_int_equal(origins_find(&world->origins, first, &found, NULL), ERR_GONE);
    assert_ok(origins_find(&world->origins, second, &found, &err), &err);
    session_origin_close(&found);
    /* Origins that stand for none are never found. */
    origins_end(&world->origins, PROFILE_ORIGIN_NONE);
    origins_end(&world->origins, PROFILE_ORIGIN_SEVERAL);
    assert_int_equal(origins_find(&world->origins, PROFILE_ORIGIN_SEVERAL, &found, NULL),
                     ERR_GONE);
}

static void descriptors_that_are_kept_outlive_the_process(void **state)
{
    struct world *const world = *state;
    struct session_origin found;
    struct process gone;
    struct err err = { 0 };
    assert_ok(process_open(&gone, getpid(), &err), &err);
    const profile_origin number = add(world, &gone);
    const int pidfd = gone.pidfd, space_fd = gone.space_fd;
    origins_keep(&world->origins, PROFILE_ORIGIN_SEVERAL, &gone);
    assert_int_equal(gone.pidfd, pidfd);
    origins_keep(&world->origins, number, &gone);
    process_close(&gone);
    assert_true(fcntl(pidfd, F_GETFD) >= 0 && fcntl(space_fd, F_GETFD) >= 0);
    assert_ok(origins_find(&world->origins, number, &found, &err), &err);
    session_origin_close(&found);
    origins_end(&world->origins, number);
    assert_true(fcntl(pidfd, F_GETFD) < 0 && fcntl(space_fd, F_GETFD) < 0);
}

static void numbers_of_sessions_differ(void **state)
{
    struct world *const world = *state;
    struct origins session;
    origins_init(&session);
    const profile_origin here = add(world, &world->own);
    const profile_origin there =
        origins_add(&session, &world->own, (uint64_t)(uintptr_t)&mapped);
    assert_true(here != there);
    origins_deinit(&session);
}

static void a_function_of_several_owners_has_none(void **state)
{
    struct world *const world = *state;
    struct origins *const origins = &world->origins;
    const profile_origin first = add(world, &world->own), second = add(world, &world->other);
    const profile_origin foreign = (profile_origin)7 << 48 | 1;
    assert_true(origins_join(origins, PROFILE_ORIGIN_NONE, first) == first);
    assert_true(origins_join(origins, first, first) == first);
    /* The first process stays the origin while it exists. */
    assert_true(origins_join(origins, first, second) == first);
    assert_true(origins_join(origins, first, foreign) == PROFILE_ORIGIN_SEVERAL);
    assert_true(origins_join(origins, PROFILE_ORIGIN_SEVERAL, first) == PROFILE_ORIGIN_SEVERAL);
    assert_true(origins_join(origins, PROFILE_ORIGIN_NONE, PROFILE_ORIGIN_SEVERAL) ==
                PROFILE_ORIGIN_SEVERAL);
    assert_true(origins_join(origins, first, PROFILE_ORIGIN_SEVERAL) == PROFILE_ORIGIN_SEVERAL);
    origins_end(origins, first);
    assert_true(origins_join(origins, first, second) == second);
    /* The owner of a process that has ended is still known. */
    assert_true(origins_join(origins, first, foreign) == PROFILE_ORIGIN_SEVERAL);
}

static void who_is_of_several_users_is_not_known(void **state)
{
    struct world *const world = *state;
    struct owner owner;
    struct err err = { 0 };
    if (geteuid() != 0)
        skip();
    assert_int_equal(seteuid(OTHER), 0);
    assert_int_equal(owner_read(getpid(), &owner, &err), ERR_PERM);
    assert_int_equal(seteuid(0), 0);
    assert_ok(owner_read(getpid(), &owner, &err), &err);
    assert_int_equal(owner.uid, 0);
    assert_true(owner.mounts != 0 && owner.root_inode != 0);
    assert_int_equal(owner_read(2000000001, &owner, NULL), ERR_GONE);
    /* Nothing is known about a process that has ended. */
    const pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    struct process child;
    assert_ok(process_open(&child, pid, &err), &err);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_true(add(world, &child) == PROFILE_ORIGIN_SEVERAL);
    process_close(&child);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

TEST_GROUP(WITH_WORLD(a_process_is_found_until_it_ends),
           WITH_WORLD(descriptors_that_are_kept_outlive_the_process),
           WITH_WORLD(numbers_of_sessions_differ),
           WITH_WORLD(a_function_of_several_owners_has_none),
           WITH_WORLD(who_is_of_several_users_is_not_known))
