#include "tests/support/sample_session.h"

#include <stdio.h>
#include <stdlib.h>

#include "sampler/base/clock.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

enum {
    STARTED_AT_S = 1769853600,
    MAX_DEPTH = 60,
    THREADS = 8,
    WINDOWS = 40,
    STEADY_WINDOWS = 10
};

struct made_frame {
    const char *file, *name;
    int32_t first_line, line;
};

static const char *const argv_small[] = { "python3", "/srv/app.py",
                                          "--name=<b>\xff\"quoted\"" };

static void add_frame(struct profile *profile, const struct made_frame *row, node_id *node)
{
    struct err err = { 0 };
    const function_id function = made_function(profile, row->name, row->file, row->first_line);
    frame_id frame = 0;
    assert_ok(profile_frame(profile, function, row->line, &frame, &err), &err);
    assert_ok(profile_node(profile, *node, frame, node, &err), &err);
}

/* A frame without a name ends the list. */
static node_id add_stack(struct profile *profile, const struct made_frame *frames)
{
    node_id node = 0;
    for (; frames->name; frames++)
        add_frame(profile, frames, &node);
    return node;
}

static thread_id add_thread(struct profile *profile, int32_t pid, int32_t tid, const char *name)
{
    struct profile_thread row = { .tid = tid,
                                  .ident = (uint64_t)tid,
                                  .is_main = pid == tid,
                                  .name = made_string(profile, name) };
    struct err err = { 0 };
    thread_id id = 0;
    assert_ok(
        profile_process(profile, pid, made_string(profile, "python3"), &row.process, &err),
        &err);
    assert_ok(profile_thread(profile, &row, &id, &err), &err);
    return id;
}

static void count(struct profile *profile, thread_id thread, state_bits state, node_id node,
                  uint32_t samples)
{
    struct quality *const quality = profile_quality(profile);
    struct err err = { 0 };
    assert_ok(profile_add(profile, thread, state, node, samples, &err), &err);
    quality->samples += samples;
    quality->exact += samples;
}

/* The callee of main at line 14. */
static void count_spot(struct profile *profile, node_id node, int32_t line, int32_t column,
                       const char *opcode, const char *base, uint32_t samples)
{
    struct err err = { 0 };
    struct profile_spot call = { .line = 14,
                                 .end_line = 14,
                                 .column = 8,
                                 .end_column = 19,
                                 .opcode = made_string(profile, "CALL_PY_EXACT_ARGS"),
                                 .base = made_string(profile, "CALL") };
    struct profile_spot spot = { .line = line,
                                 .end_line = line,
                                 .column = column,
                                 .end_column = column + 5,
                                 .opcode = made_string(profile, opcode),
                                 .base = made_string(profile, base) };
    spot_id id = 0;
    call.function = made_function(profile, "main", "/srv/app.py", 10);
    spot.function = made_function(profile, "parse", "/srv/app.py", 20);
    assert_ok(profile_spot(profile, &call, &id, &err), &err);
    spot.caller = id + 1;
    assert_ok(profile_spot(profile, &spot, &id, &err), &err);
    assert_ok(profile_add_spot(profile, node, id, samples, &err), &err);
}

static const struct made_frame parse[] = { { "/srv/app.py", "main", 10, 14 },
                                           { "/srv/app.py", "parse", 20, 22 },
                                           { 0 } };
static const struct made_frame parse_native[] = { { "/srv/app.py", "main", 10, 14 },
                                                  { "/srv/app.py", "parse", 20, 23 },
                                                  { "~", "<native> re.match", 0, 0 },
                                                  { 0 } };
static const struct made_frame recursion[] = {
    { "/srv/app.py", "main", 10, 15 },           { "/srv/lib/tree.py", "Tree.walk", 5, 9 },
    { "/srv/lib/tree.py", "Tree.walk", 5, 9 },   { "/srv/lib/tree.py", "Tree.walk", 5, 8 },
    { "/srv/lib/tree.py", "Tree.visit", 30, 0 }, { 0 }
};
static const struct made_frame collecting[] = { { "/srv/app.py", "main", 10, 15 },
                                                { "/srv/lib/tree.py", "Tree.walk", 5, 9 },
                                                { "~", "<GC>", 0, 0 },
                                                { 0 } };
static const struct made_frame hostile[] = {
    { "/usr/lib/python3.11/threading.py", "Thread.run", 900, 910 },
    { "/srv/</script><b>.py", "</script><img src=x onerror=alert(1)>", 30, 31 },
    { "/srv/semi;colon:.py", "line\nend;\x1b[31m\xe2\x80\xae\xe2\x80\xa8", 1, -7 },
    { 0 }
};
static const struct made_frame render[] = { { "/srv/app.py", "main", 10, 16 },
                                            { "/srv/view.py", "render", 40, 44 },
                                            { 0 } };
static const struct made_frame logging[] = { { "/srv/app.py", "main", 10, 17 },
                                             { "/srv/view.py", "log", 60, 61 },
                                             { 0 } };
static const struct made_frame module[] = {
    { "<frozen importlib._bootstrap>", "_find_and_load", 1, 2 },
    { "/usr/lib/python3/dist-packages/six.py", "<module>", 1, 100 },
    { 0 }
};

enum { HELD = STATE_ON_CPU | STATE_HAS_GIL, FREE = STATE_ON_CPU | STATE_IN_NATIVE };

static void fill_small(struct profile *profile)
{
    const thread_id main = add_thread(profile, 4711, 4711, "MainThread");
    const thread_id worker = add_thread(profile, 4711, 4713, "worker;\"1\" <b>");
    const thread_id child = add_thread(profile, 4720, 4720, "");
    const node_id parsing = add_stack(profile, parse);
    count(profile, main, HELD, parsing, 200);
    count(profile, main, HELD | STATE_HAS_EXCEPTION, parsing, 50);
    count(profile, main, FREE, add_stack(profile, parse_native), 100);
    count(profile, main, STATE_WAITS_GIL, add_stack(profile, recursion), 40);
    count(profile, worker, STATE_ALL_UNKNOWN, add_stack(profile, hostile), 10);
    count(profile, child, HELD | STATE_IN_GC, add_stack(profile, collecting), 60);
    count_spot(profile, parsing, 22, 4, "LOAD_ATTR_SLOT", "LOAD_ATTR", 150);
    count_spot(profile, parsing, 22, 12, "RETURN_VALUE", "RETURN_VALUE", 100);
    made_seal(profile, 1);
    count(profile, main, HELD, parsing, 50);
    count(profile, main, 0, add_stack(profile, recursion), 140);
    count(profile, main, HELD, add_stack(profile, render), 120);
    count(profile, worker, 0, add_stack(profile, hostile), 90);
    made_seal(profile, 2);
    made_seal(profile, 5); /* paused */
    count(profile, main, HELD, add_stack(profile, logging), 60);
    count(profile, main, HELD, add_stack(profile, module), 30);
    count(profile, child, STATE_UNKNOWN_ON_CPU, 0, 50);
    profile_quality(profile)->ticks = 600;
    profile_quality(profile)->missed_ticks = 3;
    made_seal(profile, 6);
}

/* At an instant within a second. */
static void seal_at(struct profile *profile, uint64_t now_ns)
{
    struct err err = { 0 };
    assert_ok(profile_seal(profile, now_ns, &err), &err);
}

static void fill_steady(struct profile *profile)
{
    const thread_id main = add_thread(profile, 4711, 4711, "MainThread");
    const thread_id worker = add_thread(profile, 4711, 4713, "worker");
    const thread_id child = add_thread(profile, 4720, 4720, "");
    for (uint64_t window = 1; window <= STEADY_WINDOWS; window++) {
        count(profile, main, HELD, add_stack(profile, parse), 30);
        count(profile, main, FREE, add_stack(profile, parse_native), 10);
        count(profile, main, 0, add_stack(profile, recursion), 18);
        count(profile, worker, 0, add_stack(profile, hostile), 10);
        count(profile, child, HELD | STATE_IN_GC, add_stack(profile, collecting), 6);
        count(profile, main, HELD, add_stack(profile, render), 12);
        count(profile, main, HELD, add_stack(profile, logging), 6);
        count(profile, main, HELD, add_stack(profile, module), 3);
        count(profile, child, STATE_UNKNOWN_ON_CPU, 0, 5);
        seal_at(profile, window * 6 * NS_PER_S / STEADY_WINDOWS);
    }
    profile_quality(profile)->ticks = 600;
}

static const struct made_frame parse_moved[] = { { "/srv/app.py", "main", 11, 15 },
                                                 { "/srv/app.py", "parse", 25, 27 },
                                                 { 0 } };
static const struct made_frame render_moved[] = { { "/srv/app.py", "main", 11, 17 },
                                                  { "/srv/view.py", "render", 41, 45 },
                                                  { 0 } };
static const struct made_frame cached[] = { { "/srv/app.py", "main", 11, 18 },
                                            { "/srv/cache.py", "cache.<locals>.get", 3, 4 },
                                            { 0 } };

static void fill_changed(struct profile *profile)
{
    const thread_id main = add_thread(profile, 4800, 4800, "MainThread");
    for (uint64_t window = 1; window <= STEADY_WINDOWS; window++) {
        count(profile, main, HELD, add_stack(profile, parse_moved), 90);
        count(profile, main, HELD, add_stack(profile, render_moved), 10);
        count(profile, main, HELD, add_stack(profile, cached), 8);
        count(profile, main, HELD, add_stack(profile, recursion), 42);
        if (window == 1)
            count(profile, main, HELD, add_stack(profile, module), 2);
        seal_at(profile, window * 15 * NS_PER_S / STEADY_WINDOWS);
    }
    profile_quality(profile)->ticks = 1502;
}

#define PYTHON "@/usr/bin/python3"
#define LIBC   "@/usr/lib/libc.so.6"
#define NUMPY  "@/srv/site-packages/numpy/core/_multiarray_umath.so"
#define BLAS   "@/srv/site-packages/numpy.libs/libopenblas64_p-r0.3.23.so"
#define START  "_start" PYTHON ";_PyEval_EvalFrameDefault" PYTHON ";main;"
#define MATMUL START "Model.fit;PyObject_Vectorcall" PYTHON ";"
#define THREAD "clone3" LIBC ";start_thread" LIBC ";blas_thread_server" BLAS

/* In a second. */
static const struct native_row {
    const char *stack;
    uint32_t count;
    state_bits state;
    bool is_worker;
} native_rows[] = {
    { MATMUL "DOUBLE_matmul" NUMPY ";cblas_dgemm" BLAS ";dgemm_kernel" BLAS, 100, FREE, false },
    { MATMUL "DOUBLE_matmul" NUMPY ";memcpy" LIBC, 30, FREE, false },
    { START "list_sort" PYTHON ";key;unicode_upper" PYTHON, 40, HELD, false },
    { START "map_next(Iter*)" NUMPY ";_PyEval_EvalFrameDefault" PYTHON
            ";callback;epoll_wait" LIBC,
      20, 0, false },
    { START "std::vector<int>::push_back(int const&)@/srv/</script>.so;<GC>", 10, HELD, false },
    { "_start" PYTHON ";Py_FinalizeEx" PYTHON, 15, HELD, false },
    { THREAD ";dgemm_kernel" BLAS, 90, STATE_ON_CPU, true },
    { THREAD ";pthread_cond_wait" LIBC, 60, 0, true },
};

/* Debug information says where it is. */
static node_id source_node(struct profile *profile)
{
    const function_id function =
        made_native_function(profile, "scan", &NUMPY[1], "scan.c", 210);
    struct err err = { 0 };
    frame_id frame = 0;
    node_id node = made_node(profile, START "Model.load");
    assert_ok(profile_frame(profile, function, 217, &frame, &err), &err);
    assert_ok(profile_node(profile, node, frame, &node, &err), &err);
    return node;
}

static void fill_native(struct profile *profile)
{
    const thread_id main = add_thread(profile, 4711, 4711, "MainThread");
    const thread_id worker = add_thread(profile, 4711, 4712, "");
    for (uint64_t second = 1; second <= 4; second++) {
        for (size_t i = 0; i < sizeof native_rows / sizeof *native_rows; i++) {
            const struct native_row *const row = &native_rows[i];
            count(profile, row->is_worker ? worker : main, row->state,
                  made_node(profile, row->stack), row->count);
        }
        count(profile, main, HELD, source_node(profile), 25);
        made_seal(profile, second);
    }
}

static void fill_hostile(struct profile *profile)
{
    static const struct made_frame stack[] = { { "/" SAMPLE_HOSTILE "/" SAMPLE_HOSTILE,
                                                 SAMPLE_HOSTILE, 1, 1 },
                                               { "~", SAMPLE_HOSTILE, 0, 0 },
                                               { 0 } };
    const thread_id thread = add_thread(profile, 4711, 4711, SAMPLE_HOSTILE);
    count(profile, thread, HELD, add_stack(profile, stack), 10);
    count(profile, thread, 0, made_node(profile, SAMPLE_HOSTILE "@/lib/" SAMPLE_HOSTILE), 10);
    made_seal(profile, 1);
}

static void fill_nothing(struct profile *profile)
{
    (void)profile;
}

static void describe(struct sample_session *session)
{
    session->target = (struct session_target){ .pid = 4711,
                                               .argc = 3,
                                               .argv = argv_small,
                                               .executable = "/usr/bin/python3.11",
                                               .python = "3.11.2",
                                               .validated = true };
    session->options = (struct session_options){
        .pids = { 4711 },
        .pid_count = 1,
        .rate_hz = 100,
        .all_threads = true,
        .engine = SESSION_ENGINE_REMOTE,
    };
    session->snapshot = made_snapshot(session->profile);
    session->info = (struct session_info){
        .id = "1",
        .epoch = "0123456789abcdef",
        .run = "0123456789abcde0",
        .status = { .state = SESSION_ENDED,
                    .reason = "the duration is over",
                    .started_at_ns = STARTED_AT_S * NS_PER_S,
                    .ended_at_ns = (STARTED_AT_S + 6) * NS_PER_S,
                    .elapsed_ns = session->snapshot.end_ns,
                    .rate_hz = 100 },
        .target = &session->target,
        .options = &session->options,
        .snapshot = &session->snapshot,
    };
    session->source = (struct report_source){ .snapshot = &session->snapshot,
                                              .query = &session->everything,
                                              .session = &session->info };
    struct err err = { 0 };
    assert_ok(report_header_init(&session->header, &session->source, &err), &err);
    session->source.header = &session->header;
}

static struct sample_session *make(void (*fill)(struct profile *profile))
{
    struct sample_session *const session = calloc(1, sizeof *session);
    assert_non_null(session);
    session->profile = made_profile();
    fill(session->profile);
    describe(session);
    return session;
}

struct sample_session *sample_session_small(void)
{
    return make(fill_small);
}

struct sample_session *sample_session_steady(void)
{
    return make(fill_steady);
}

struct sample_session *sample_session_changed(void)
{
    return make(fill_changed);
}

struct sample_session *sample_session_native(void)
{
    return make(fill_native);
}

struct sample_session *sample_session_empty(void)
{
    return make(fill_nothing);
}

struct sample_session *sample_session_of(struct profile *profile)
{
    struct sample_session *const session = sample_session_empty();
    struct err err = { 0 };
    report_header_deinit(&session->header);
    profile_snapshot_release(&session->snapshot);
    profile_destroy(session->profile);
    session->profile = profile;
    session->snapshot = made_snapshot(profile);
    session->source.header = NULL;
    assert_ok(report_header_init(&session->header, &session->source, &err), &err);
    session->source.header = &session->header;
    return session;
}

struct sample_session *sample_session_hostile(void)
{
    static const char *const argv[] = { SAMPLE_HOSTILE, SAMPLE_HOSTILE };
    struct sample_session *const session = make(fill_hostile);
    session->target.argv = argv;
    session->target.argc = 2;
    session->target.executable = session->target.python = SAMPLE_HOSTILE;
    session->target.reason = session->target.pod = session->info.host = SAMPLE_HOSTILE;
    snprintf(session->target.service.name, SESSION_SERVICE_BYTES, "%s", SAMPLE_HOSTILE);
    snprintf(session->info.words.note, SESSION_MAX_NOTE, "%s", SAMPLE_HOSTILE);
    return session;
}

/* Random numbers that are the same with every library. */
static uint32_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Small numbers far more often than large ones, as programs come back to the same stacks. */
static uint32_t hot(uint64_t *state)
{
    const uint64_t a = next(state) & 0xffff, b = next(state) & 0xffff, c = next(state) & 0xffff;
    return (uint32_t)(a * b * c >> 24);
}

/* Some thousand functions in some hundred files, each of a few lines. */
static frame_id big_frame(struct profile *profile, uint32_t number)
{
    char name[48], file[64];
    const uint32_t line = number % 7;
    const uint32_t function = number / 7 % 4999;
    frame_id frame = 0;
    struct err err = { 0 };
    snprintf(name, sizeof name, "Class%u.method_%u", function % 97, function);
    snprintf(file, sizeof file, "/srv/big/package%u/module_%u.py", function % 13,
             function % 211);
    const function_id id = made_function(profile, name, file, (int32_t)(function * 10 + 1));
    assert_ok(profile_frame(profile, id, (int32_t)(function * 10 + 2 + line), &frame, &err),
              &err);
    return frame;
}

struct sample_session *sample_session_big(uint32_t nodes, uint64_t samples)
{
    struct sample_session *const session = calloc(1, sizeof *session);
    node_id *const deep = calloc((size_t)nodes + 1, sizeof *deep);
    unsigned char *const depth = calloc((size_t)nodes + 1, 1); /* by node */
    uint64_t state = 1, left = samples;
    thread_id threads[THREADS];
    uint32_t made = 1;
    assert_non_null(session);
    assert_non_null(deep);
    assert_non_null(depth);
    struct profile *const profile = session->profile = made_profile();
    for (int i = 0; i < THREADS; i++)
        threads[i] = add_thread(profile, 4711, 4711 + i, i > 0 ? "worker" : "MainThread");
    /* Adds branches of up to MAX_DEPTH frames at random nodes. */
    while (made < nodes) {
        node_id node = deep[next(&state) % made];
        const uint32_t end = depth[node] + 1 + next(&state) % MAX_DEPTH;
        while (depth[node] < end && depth[node] < MAX_DEPTH && made < nodes) {
            struct err err = { 0 };
            const node_id above = node;
            assert_ok(
                profile_node(profile, above, big_frame(profile, next(&state)), &node, &err),
                &err);
            depth[node] = (unsigned char)(depth[above] + 1);
            if (node == made)
                deep[made++] = node;
        }
    }
    for (int window = 1; window <= WINDOWS; window++) {
        const uint64_t here = window < WINDOWS ? samples / WINDOWS : left;
        const uint64_t cells = nodes / 25 < here ? nodes / 25 + 1 : here;
        for (uint64_t i = 0; i < cells; i++) {
            static const state_bits states[] = { HELD, FREE, STATE_WAITS_GIL, 0 };
            const uint64_t each = here / cells + (i < here % cells);
            count(profile, threads[next(&state) % THREADS], states[next(&state) % 4],
                  deep[hot(&state) % made], (uint32_t)each);
        }
        left -= here;
        profile_quality(profile)->ticks = samples / THREADS;
        made_seal(profile, (uint64_t)window * 30);
    }
    free(deep);
    free(depth);
    describe(session);
    return session;
}

void sample_session_destroy(struct sample_session *session)
{
    report_header_deinit(&session->header);
    profile_snapshot_release(&session->snapshot);
    profile_destroy(session->profile);
    free(session);
}
