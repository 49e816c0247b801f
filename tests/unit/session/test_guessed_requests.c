/* Requests that are guessed: which samples of threads and tasks are of one request, and how it is called. */
#include <stdio.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/cpython/asyncio/tasks.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/cpython/stack/stack.h"
#include "sampler/profile/context.h"
#include "sampler/session/fold/guessed_requests.h"
#include "sampler/session/fold/sampled_thread.h"
#include "tests/support/fake_memory.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

#define PACKAGES "/v/lib/python3.11/site-packages"
#define MS       NS_PER_MS

enum {
    RUN,
    WSGI,
    DISPATCH,
    QUICK,
    SLOW,
    HELPER,
    LOOP,
    ASGI,
    ENDPOINT,
    VIEW,
    LIFESPAN,
    WORKER,
    CODES
};
static const char *const codes[CODES][2] = {
    [RUN] = { "serve", "/app/serve.py" },
    [WSGI] = { "Flask.wsgi_app", PACKAGES "/flask/app.py" },
    [DISPATCH] = { "Flask.dispatch_request", PACKAGES "/flask/app.py" },
    [QUICK] = { "quick", "/app/views.py" },
    [SLOW] = { "slow", "/app/views.py" },
    [HELPER] = { "helper", "/app/views.py" },
    [LOOP] = { "Server.serve", PACKAGES "/uvicorn/server.py" },
    [ASGI] = { "FastAPI.__call__", PACKAGES "/fastapi/applications.py" },
    [ENDPOINT] = { "run_endpoint_function", PACKAGES "/fastapi/routing.py" },
    [VIEW] = { "page", "/app/views.py" },
    [LIFESPAN] = { "LifespanOn.main", PACKAGES "/uvicorn/lifespan/on.py" },
    [WORKER] = { "WorkerThread.run", PACKAGES "/anyio/_backends/_asyncio.py" },
};

enum { MOST_FRAMES = 8, TASKS = 4, VARIABLES_AT = 0x48, FUTURE = 0x90000 };

struct world {
    struct profile *profile;
    struct context_marks *marks;
    struct code_table codes;
    struct tasks tasks;
    struct task items[TASKS];
    uint32_t awaiters[TASKS];
    struct walk_frame task_frames[TASKS * MOST_FRAMES];
    struct layout layout;
    struct fake_memory memory;
    struct thread threads[2];
    struct sampled_thread sampled[2];
    struct walk_frame frames[2][MOST_FRAMES];
    struct guessed_requests *requests;
    uint64_t since_ns, now_ns; /* 0: since now */
    struct thread *listed[2];
    struct thread_list list;
};

static void begin(struct world *world)
{
    memset(world, 0, sizeof *world);
    world->profile = made_profile();
    world->layout.frame_variables = VARIABLES_AT;
    world->codes.strings = profile_strings(world->profile);
    pool_init(&world->codes.codes, sizeof(struct code), 0);
    for (uint32_t i = 0; i < CODES; i++) {
        struct code code = { .addr = 0x1000 + i };
        uint32_t id;
        assert_ok(strtab_intern(world->codes.strings, codes[i][0], strlen(codes[i][0]),
                                &code.name, NULL),
                  NULL);
        assert_ok(strtab_intern(world->codes.strings, codes[i][1], strlen(codes[i][1]),
                                &code.file, NULL),
                  NULL);
        assert_ok(pool_push(&world->codes.codes, &code, &id, NULL), NULL);
        assert_int_equal(id, i);
    }
    fake_memory_init(&world->memory);
    world->tasks.table.items = world->items;
    world->tasks.table.awaiters = world->awaiters;
    world->tasks.table.below = TASK_TABLE_WHOLE;
    world->tasks.frames = world->task_frames;
    world->list = (struct thread_list){ .items = world->listed, .count = 2 };
    world->tasks.threads = &world->list;
    idmap_init(&world->tasks.by_frame);
    idmap_init(&world->tasks.table.by_addr);
    idmap_init(&world->tasks.table.previous_by_addr);
    for (size_t i = 0; i < 2; i++) {
        world->listed[i] = &world->threads[i];
        world->threads[i].kept = &world->sampled[i];
        world->threads[i].stack.frames = world->frames[i];
    }
    assert_ok(context_marks_create(world->profile, CONTEXT_GUESSED, &world->marks, NULL), NULL);
    const struct guessed_process process = { .codes = &world->codes,
                                             .tasks = &world->tasks,
                                             .layout = &world->layout,
                                             .memory = &world->memory.memory };
    assert_ok(guessed_requests_create(world->marks, &process, &world->requests), NULL);
}

static void end(struct world *world)
{
    guessed_requests_destroy(world->requests);
    context_marks_destroy(world->marks);
    idmap_deinit(&world->tasks.by_frame);
    idmap_deinit(&world->tasks.table.by_addr);
    pool_deinit(&world->codes.codes);
    fake_memory_deinit(&world->memory);
    profile_destroy(world->profile);
}

/* A frame of a code at an instruction of it. */
struct at {
    unsigned code;
    remote_addr addr;
    unsigned instr;
};

static size_t put_frames(struct walk_frame *out, const struct at *frames, size_t count,
                         bool is_off_chunk)
{
    for (size_t i = 0; i < count; i++)
        out[i] =
            (struct walk_frame){ .addr = frames[i].addr,
                                 .instr = 0x100000 * (frames[i].code + 1U) + frames[i].instr,
                                 .code = frames[i].code,
                                 .is_off_chunk = is_off_chunk };
    return count;
}

static context_id sample_at(struct world *world, unsigned thread, const struct at *frames,
                            size_t count, bool is_off_chunk)
{
    world->now_ns += MS;
    world->threads[thread].stack.count =
        put_frames(world->frames[thread], frames, count, is_off_chunk);
    return guessed_requests_of_thread(world->requests, &world->threads[thread],
                                      world->since_ns ? world->since_ns : world->now_ns,
                                      world->now_ns);
}
#define SAMPLE(world, thread, ...)                               \
    sample_at(world, thread, (const struct at[]){ __VA_ARGS__ }, \
              sizeof((const struct at[]){ __VA_ARGS__ }) / sizeof(struct at), false)
#define SAMPLE_OFF_CHUNK(world, thread, ...)                     \
    sample_at(world, thread, (const struct at[]){ __VA_ARGS__ }, \
              sizeof((const struct at[]){ __VA_ARGS__ }) / sizeof(struct at), true)

/* The value of a context, without the digits of the session; "": none. */
static void expect_name(struct world *world, context_id context, const char *expected)
{
    made_seal(world->profile, 1);
    struct profile_snapshot snapshot = made_snapshot(world->profile);
    const node_id node = context_marks_node(world->marks, context, 0);
    made_seal(world->profile, 2);
    profile_snapshot_release(&snapshot);
    snapshot = made_snapshot(world->profile);
    const function_id function =
        profile_frame_at(&snapshot, profile_node_at(&snapshot, node).frame).function;
    struct context_text text;
    assert_true(context_of_function(&snapshot, function, &text));
    const size_t length = context_guessed_length(&text);
    if (*expected) {
        assert_int_not_equal(length, 0);
        const size_t skipped = CONTEXT_GUESSED_PREFIX + 1;
        assert_int_equal(text.value_length - skipped, strlen(expected));
        assert_memory_equal(text.value + skipped, expected, strlen(expected));
    } else {
        assert_int_equal(text.mark, CONTEXT_MARK_UNSET);
    }
    profile_snapshot_release(&snapshot);
}

static void one_call_of_an_application_is_one_request(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    const struct at run = { RUN, 0x10, 1 }, call = { WSGI, 0x20, 5 },
                    dispatch = { DISPATCH, 0x30, 3 };
    expect_name(&world, SAMPLE(&world, 0, run), "");
    const context_id bare = SAMPLE(&world, 0, run, call);
    expect_name(&world, bare, "1");
    const context_id first =
        SAMPLE(&world, 0, run, call, dispatch, { SLOW, 0x40, 1 }, { HELPER, 0x50, 1 });
    expect_name(&world, first, "1 slow");
    assert_int_equal(SAMPLE(&world, 0, run, call, dispatch, { SLOW, 0x40, 9 }), first);
    /* The framework goes on after that. */
    assert_int_equal(SAMPLE(&world, 0, run, { WSGI, 0x20, 8 }), first);
    assert_true(guessed_requests_are_busy(world.requests, world.now_ns));
    /* Another thread. */
    expect_name(&world,
                SAMPLE(&world, 1, run, { WSGI, 0x2020, 5 }, dispatch, { QUICK, 0x40, 1 }),
                "2 quick");
    /* It was away. */
    expect_name(&world, SAMPLE(&world, 0, run), "");
    expect_name(&world, SAMPLE(&world, 0, run, call, dispatch, { SLOW, 0x40, 1 }), "3 slow");
    /* It is before what it was at first. */
    expect_name(&world, SAMPLE(&world, 0, run, { WSGI, 0x20, 2 }), "4");
    /* It has called another function. */
    expect_name(&world, SAMPLE(&world, 0, run, call, dispatch, { SLOW, 0x40, 1 }), "4 slow");
    expect_name(&world, SAMPLE(&world, 0, run, call, dispatch, { QUICK, 0x40, 1 }), "5 quick");
    /* It lies elsewhere. */
    expect_name(&world, SAMPLE(&world, 0, run, { WSGI, 0x28, 5 }), "6");
    end(&world);
}

static void a_stack_that_is_cut_says_nothing(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    const struct at run = { RUN, 0x10, 1 }, call = { WSGI, 0x20, 5 };
    const context_id first = SAMPLE(&world, 0, run, call);
    world.threads[0].stack.certainty = STACK_TRUNCATED;
    assert_int_equal(SAMPLE(&world, 0, run), 0);
    world.threads[0].stack.certainty = STACK_EXACT;
    assert_int_equal(SAMPLE(&world, 0, run, call), first);
    end(&world);
}

/* The task number i waits in these frames, and was first seen then. */
static struct task *put_task(struct world *world, unsigned i, uint64_t seen_ns,
                             const struct at *frames, size_t count)
{
    struct task *const task = &world->items[i];
    *task = (struct task){ .addr = 0x70000 + i * 0x100,
                           .seen_ns = seen_ns,
                           .since_ns = seen_ns,
                           .is_read = true,
                           .first_frame = i * MOST_FRAMES };
    task->frame_count =
        (uint32_t)put_frames(world->task_frames + i * MOST_FRAMES, frames, count, true);
    task->frame = frames[0].addr;
    return task;
}

static void take_tasks(struct world *world, size_t count)
{
    world->tasks.table.count = count;
    idmap_clear(&world->tasks.by_frame);
    idmap_clear(&world->tasks.table.by_addr);
    for (uint32_t i = 0; i < count; i++) {
        assert_ok(
            idmap_add(&world->tasks.by_frame, hash_mix(world->items[i].frame, 0), i, NULL),
            NULL);
        assert_ok(
            idmap_add(&world->tasks.table.by_addr, hash_mix(world->items[i].addr, 0), i, NULL),
            NULL);
    }
    world->now_ns += 10 * MS;
    guessed_requests_take_tasks(world->requests, world->now_ns);
}

static context_id of_task(struct world *world, unsigned i)
{
    return guessed_requests_of_task(world->requests, &world->items[i], world->now_ns);
}

static const struct at asgi = { ASGI, 0x500, 4 }, endpoint = { ENDPOINT, 0x600, 2 },
                       page = { VIEW, 0x700, 1 };

static void a_coroutine_is_a_request_while_a_task_has_it(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    const struct at frames[] = { asgi, endpoint, page };
    const struct at loop = { LOOP, 0x10, 1 };
    expect_name(&world, SAMPLE_OFF_CHUNK(&world, 0, loop, asgi), "1");
    put_task(&world, 0, 1, frames, 3);
    take_tasks(&world, 1);
    const context_id first = of_task(&world, 0);
    expect_name(&world, first, "1 page");
    /* It runs again. */
    assert_int_equal(SAMPLE_OFF_CHUNK(&world, 0, loop, asgi, endpoint, page), first);
    take_tasks(&world, 1);
    assert_int_equal(of_task(&world, 0), first);
    /* Another task has the same memory. */
    put_task(&world, 0, 2, frames, 3);
    take_tasks(&world, 1);
    expect_name(&world, of_task(&world, 0), "2 page");
    /* A task that runs keeps its request, and one that is gone does not. */
    world.items[0].is_running = true;
    world.items[0].frame_count = 0;
    take_tasks(&world, 1);
    world.items[0].is_running = false;
    put_task(&world, 0, 2, frames, 3);
    take_tasks(&world, 1);
    expect_name(&world, of_task(&world, 0), "2 page");
    take_tasks(&world, 0);
    put_task(&world, 0, 2, frames, 3);
    take_tasks(&world, 1);
    expect_name(&world, of_task(&world, 0), "3 page");
    end(&world);
}

static void a_coroutine_that_no_task_waits_in_is_over(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    const struct at loop = { LOOP, 0x10, 1 };
    const context_id first = SAMPLE_OFF_CHUNK(&world, 0, loop, asgi, endpoint, page);
    expect_name(&world, first, "1 page");
    /* A task runs, perhaps in it. */
    put_task(&world, 0, 1, &loop, 1)->is_running = true;
    take_tasks(&world, 1);
    assert_int_equal(SAMPLE_OFF_CHUNK(&world, 0, loop, asgi, endpoint, page), first);
    take_tasks(&world, 0);
    expect_name(&world, SAMPLE_OFF_CHUNK(&world, 0, loop, asgi, endpoint, page), "2 page");
    end(&world);
}

static void tasks_and_threads_of_a_request_belong_to_it(void **state)
{
    struct world world;
    uint64_t variables[16] = { 1, 2, FUTURE | 1 };
    (void)state;
    begin(&world);
    const struct at frames[] = { asgi, endpoint }, inner[] = { { HELPER, 0x900, 1 } };
    const struct at worker = { WORKER, 0xa000, 7 };
    put_task(&world, 0, 1, frames, 2)->awaits = FUTURE;
    struct task *const child = put_task(&world, 1, 1, inner, 1);
    child->awaiter_count = 1;
    child->first_awaiter = 0;
    world.awaiters[0] = 0;
    put_task(&world, 2, 1, inner, 1)->addr++;
    take_tasks(&world, 3);
    const context_id first = of_task(&world, 0);
    expect_name(&world, first, "1");
    assert_int_equal(of_task(&world, 1), first);
    expect_name(&world, of_task(&world, 2), "");
    /* The thread has a future that the task awaits. */
    fake_memory_map(&world.memory, 0xa000 + VARIABLES_AT, sizeof variables);
    fake_memory_put(&world.memory, 0xa000 + VARIABLES_AT, variables, sizeof variables);
    const context_id named = SAMPLE(&world, 1, worker, { SLOW, 0xb000, 1 });
    expect_name(&world, named, "1 slow");
    assert_int_equal(of_task(&world, 0), named);
    /* It waits for work. */
    expect_name(&world, SAMPLE(&world, 1, worker), "");
    /* The tasks were read while it worked for another request, of which a sample comes when that is over. */
    const struct at other[] = { { ASGI, 0x580, 4 }, endpoint };
    world.since_ns = world.now_ns;
    put_task(&world, 0, 2, other, 2)->awaits = FUTURE;
    take_tasks(&world, 1);
    expect_name(&world, of_task(&world, 0), "2");
    memset(variables, 0, sizeof variables);
    fake_memory_put(&world.memory, 0xa000 + VARIABLES_AT, variables, sizeof variables);
    take_tasks(&world, 0);
    expect_name(&world, SAMPLE(&world, 1, worker, { SLOW, 0xb000, 1 }), "2 slow");
    world.since_ns = world.now_ns;
    expect_name(&world, SAMPLE(&world, 1, worker, { SLOW, 0xb000, 1 }), "");
    end(&world);
}

static void what_lasts_as_long_as_a_connection_is_no_request(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    const struct at frames[] = { { LIFESPAN, 0x400, 1 }, asgi };
    put_task(&world, 0, 1, frames, 2);
    take_tasks(&world, 1);
    expect_name(&world, of_task(&world, 0), "");
    end(&world);
}

static void requests_at_a_time_are_bounded(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    for (unsigned i = 0; i < GUESSED_REQUESTS_MAX; i++)
        assert_int_not_equal(
            SAMPLE_OFF_CHUNK(&world, 0, { ASGI, 0x100000 + 0x10 * (remote_addr)i, 4 }), 0);
    assert_int_equal(SAMPLE_OFF_CHUNK(&world, 0, asgi), 0);
    /* No task has them. */
    world.now_ns += NS_PER_S;
    take_tasks(&world, 0);
    world.now_ns += 2 * NS_PER_S;
    assert_int_not_equal(SAMPLE_OFF_CHUNK(&world, 0, asgi), 0);
    end(&world);
}

TEST_GROUP(cmocka_unit_test(one_call_of_an_application_is_one_request),
           cmocka_unit_test(a_stack_that_is_cut_says_nothing),
           cmocka_unit_test(a_coroutine_is_a_request_while_a_task_has_it),
           cmocka_unit_test(a_coroutine_that_no_task_waits_in_is_over),
           cmocka_unit_test(tasks_and_threads_of_a_request_belong_to_it),
           cmocka_unit_test(what_lasts_as_long_as_a_connection_is_no_request),
           cmocka_unit_test(requests_at_a_time_are_bounded))
