/* Stops a real Python program again and again: its native and Python frames make one stack. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/python_tick.h"
#include "sampler/native/native_copy.h"
#include "sampler/session/fold/fold_native.h"
#include "sampler/session/fold/sampled_thread.h"
#include "sampler/session/fold/thread_cpu.h"
#include "sampler/session/origins.h"
#include "sampler/session/target.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"
#include "tests/unit/native/stopped_thread.h"

enum { SKIPPED = 77, TEXT_BYTES = 1 << 14, MAX_BYTES = 4 << 20 };

struct world {
    struct stopped_thread victim;
    struct native_copy copy;
    struct profile *profile;
    struct thread_cpus cpus;
    struct origins origins;
    struct session_options options;
    struct target *target;
};

static void begin(struct world *world, char *const argv[])
{
    struct err err = { 0 };
    memset(world, 0, sizeof *world);
    if (!stopped_thread_start(&world->victim, argv)) {
        printf("skipped: ptrace is not permitted\n");
        exit(SKIPPED);
    }
    world->options =
        (struct session_options){ .native = SESSION_NATIVE_FULL, .all_threads = true };
    world->profile = made_profile();
    thread_cpus_init(&world->cpus, world->profile);
    origins_init(&world->origins);
    assert_ok(target_open(world->victim.pid, RUNTIME_THOROUGH, SESSION_MODE_WALL, NULL,
                          profile_strings(world->profile), &world->target, &err),
              &err);
    assert_ok(target_join(world->target, world->profile, &world->cpus, &world->origins, NULL,
                          &world->options, &err),
              &err);
}

static void end(struct world *world)
{
    target_close(world->target);
    origins_deinit(&world->origins);
    thread_cpus_deinit(&world->cpus);
    profile_destroy(world->profile);
    stopped_thread_end(&world->victim);
}

static enum err_code count(void *context, struct thread *thread, enum err_code failure)
{
    struct world *const world = context;
    struct thread_reading *const reading = reading_of(thread);
    reading->thread = thread;
    reading->failure = failure;
    reading->state = python_thread_state(world->target->python, thread);
    reading->now_ns = clock_now_ns();
    reading->times = 1;
    reading->is_stopped = true;
    reading->runs = VALUE_YES;
    return fold_reading(&world->target->fold, reading);
}

/* The thread has been stopped. */
static void sample_stopped(struct world *world)
{
    size_t threads;
    world->copy = (struct native_copy){ .registers = world->victim.registers,
                                        .stack = world->victim.stack };
    assert_int_equal(python_choose(world->target->python, true), ERR_OK);
    struct thread *const *const all = python_chosen(world->target->python, &threads);
    assert_int_equal(threads, 1);
    all[0]->stack.copy.is_still = true;
    reading_of(all[0])->native = &world->copy;
    assert_int_equal(python_sample(world->target->python, all, 1, count, world), ERR_OK);
    all[0]->stack.copy.is_still = false;
    reading_of(all[0])->native = NULL;
}

static void sample(struct world *world, unsigned after_us)
{
    stopped_thread_stop(&world->victim, after_us);
    sample_stopped(world);
    stopped_thread_resume(&world->victim);
}

/* "LIBRARY!FUNCTION;...", the outermost function first; marks and Python code have no library. */
static void write_stack(const struct profile_snapshot *snapshot, node_id node,
                        char text[TEXT_BYTES])
{
    char rest[TEXT_BYTES];
    *text = 0;
    for (; node; node = profile_node_at(snapshot, node).parent) {
        const struct profile_frame frame =
            profile_frame_at(snapshot, profile_node_at(snapshot, node).frame);
        const struct profile_function function = profile_function_at(snapshot, frame.function);
        const struct profile_library library = profile_library_at(snapshot, function.library);
        const char *const path = profile_string(snapshot, library.path).text;
        memcpy(rest, text, TEXT_BYTES);
        snprintf(text, TEXT_BYTES, "%s%s%s;%.12000s",
                 library.flags & PROFILE_LIBRARY_INTERPRETER ? "python"
                 : function.library && strrchr(path, '/')    ? strrchr(path, '/') + 1
                                                             : "",
                 function.library ? "!" : "", profile_string(snapshot, function.name).text,
                 rest);
    }
}

/* Every stack begins with native frames, and then has what the interpreter executes first. */
static void check_stacks(struct world *world)
{
    struct err err = { 0 };
    char text[TEXT_BYTES];
    assert_ok(thread_cpus_flush(&world->cpus, clock_now_ns()), &err);
    assert_ok(profile_seal(world->profile, NS_PER_S, &err), &err);
    struct profile_snapshot snapshot = made_snapshot(world->profile);
    struct view view = made_view(&snapshot, &(struct view_query){ .since = 0 });
    for (size_t i = 0; i < view.count; i++) {
        write_stack(&snapshot, view.node[i], text);
        if (getenv("PYROMETER_STACKS") && made_self(&view, view.node[i]))
            print_message("%llu %s\n", (unsigned long long)made_self(&view, view.node[i]),
                          text);
        if (!made_self(&view, view.node[i]) || strstr(text, "<native stack>"))
            continue;
        assert_null(strstr(text, "!_start;"));
        const char *const first = strstr(text, ";<module>;");
        assert_non_null(first);
        const char *const caller = strstr(text, "python!");
        assert_true(caller && caller < first);
    }
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
}

static void check(char *python, const char *version, unsigned stops)
{
    char *const argv[] = { python, (char[]){ TEST_SOURCE_DIR "/unit/native/busy.py" }, NULL };
    struct world *const world = malloc(sizeof *world);
    assert_non_null(world);
    begin(world, argv);
    for (unsigned i = 0; i < stops; i++)
        sample(world, 200 + (unsigned)rand() % 2000);
    check_stacks(world);
    const struct quality *const quality = profile_quality(world->profile);
    print_message("Python %s: %llu of %llu stacks complete, %llu mismatched\n", version,
                  (unsigned long long)quality->native_complete,
                  (unsigned long long)quality->samples,
                  (unsigned long long)quality->native_mismatched);
    assert_true(fold_native_bytes(world->target->fold.native_stacks) < MAX_BYTES);
    assert_true(quality->samples > stops / 2);
    assert_true(quality->native_complete * 20 >= quality->samples * 19);
    assert_true(quality->native_entries >= quality->samples);
    assert_true(quality->native_placed * 20 >= quality->native_entries * 19);
    assert_int_equal(quality->native_none, 0);
    end(world);
    free(world);
}

static const char *const versions[] = { "3.8",  "3.9",  "3.10", "3.11",
                                        "3.12", "3.13", "3.14", "3.15" };

static bool find_python(const char *version, char path[512])
{
    snprintf(path, 512, "%s/../.pythons/bin/python%s", TEST_SOURCE_DIR, version);
    return access(path, X_OK) == 0;
}

static void native_and_python_frames_make_one_stack(void **state)
{
    const char *const stops = getenv("PYROMETER_STOPS");
    const char *const only = getenv("PYROMETER_ONLY_PYTHONS");
    char python[512];
    unsigned tried = 0;
    (void)state;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        if (!find_python(versions[i], python) || (only && !strstr(only, versions[i])))
            continue;
        check(python, versions[i], stops ? (unsigned)atoi(stops) : 25);
        tried++;
    }
    if (!tried)
        skip();
}

/* Counts a sample of a thread that has been stopped; returns how many stacks were complete so far. */
static uint64_t count_complete(struct world *world)
{
    struct err err = { 0 };
    sample_stopped(world);
    assert_ok(thread_cpus_flush(&world->cpus, clock_now_ns()), &err);
    return profile_quality(world->profile)->native_complete;
}

static void callers_count_even_if_the_registers_are_the_same(void **state)
{
    char python[512];
    size_t version = sizeof versions / sizeof *versions;
    (void)state;
    while (version && !find_python(versions[version - 1], python))
        version--;
    if (!version)
        skip();
    char *const argv[] = { python, (char[]){ TEST_SOURCE_DIR "/unit/native/busy.py" }, NULL };
    struct world *const world = malloc(sizeof *world);
    assert_non_null(world);
    begin(world, argv);
    stopped_thread_stop(&world->victim, 1000);
    for (unsigned i = 0; !count_complete(world) && i < 100; i++) {
        stopped_thread_resume(&world->victim);
        stopped_thread_stop(&world->victim, 1000);
    }
    assert_int_equal(count_complete(world), 2);
    /* The instant is the same, without callers. Zeros would be the end of a stack. */
    memset(world->victim.bytes, 0xff, STOPPED_MAX_BYTES);
    assert_int_equal(count_complete(world), 2);
    stopped_thread_resume(&world->victim);
    end(world);
    free(world);
}

TEST_GROUP(cmocka_unit_test(native_and_python_frames_make_one_stack),
           cmocka_unit_test(callers_count_even_if_the_registers_are_the_same))
