/* Records of the kernel engine become samples: how many, of which time, in which state. */
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/python.h"
#include "sampler/kernel/copy_memory.h"
#include "sampler/kernel/engine.h"
#include "sampler/native/native_copy.h"
#include "sampler/profile/quality.h"
#include "sampler/session/kernel_feed.h"
#include "sampler/session/target.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/test.h"

enum { PID = 4711, TID = 4712, RATE_HZ = 1000, MAX_TAKEN = 64 };

static const uint64_t PERIOD_NS = NS_PER_S / RATE_HZ;
static uint64_t begin_ns; /* of the session */

/* What the feed asked the target to count.  The functions below replace those of target.c and python.c. */
static struct {
    struct target_instants instants;
    bool is_read;     /* from the process */
    bool is_repeated; /* from the thread, with the windows of a copy */
    uint64_t word;
    uint64_t native_word; /* the first of the C stack; 0: no native stack */
} taken[MAX_TAKEN];
static size_t taken_count, listings, checks;
static bool is_ready;
static bool is_failing; /* what is taken cannot be read */
static uint32_t interpreters = 1;
static uint64_t clears, learnt_addr, learnt_word;
static const struct kernel_native the_native = { .ip = 7, .sp = 0x5000, .base = 0x6000 };
static struct thread the_thread;
static const remote_addr the_window = 0x2000;
static struct thread *const the_threads[] = { &the_thread };

struct world {
    struct kernel *kernel;
    struct kernel_feed *feed;
    struct sampler_options options;
    struct target target;
    struct quality quality;
};

enum err_code target_take(struct target *target, struct thread *thread,
                          struct copy_memory *copy, const struct native_copy *native,
                          const struct target_instants *instants)
{
    (void)target;
    assert_ptr_equal(thread, &the_thread);
    assert_true(taken_count < MAX_TAKEN);
    taken[taken_count].instants = *instants;
    taken[taken_count].is_read = false;
    taken[taken_count].word = 0;
    (void)!memory_read_u64(&copy->memory, the_thread.head.addr, &taken[taken_count].word);
    taken[taken_count].native_word = 0;
    if (native) {
        assert_int_equal(native->registers.ip, the_native.ip);
        assert_int_equal(native->stack.span_count, 1);
        memcpy(&taken[taken_count].native_word, native->stack.spans[0].bytes, sizeof(uint64_t));
    }
    taken[taken_count++].is_repeated = false;
    thread->is_placed = !is_failing;
    return ERR_OK;
}

enum err_code target_take_same(struct target *target, struct thread *thread,
                               struct copy_memory *copy, const struct target_instants *instants)
{
    (void)target;
    assert_true(thread->is_placed);
    assert_true(taken_count < MAX_TAKEN);
    taken[taken_count].instants = *instants;
    taken[taken_count].is_repeated = true;
    taken[taken_count].word = 0;
    (void)!memory_read_u64(&copy->memory, the_window, &taken[taken_count++].word);
    return ERR_OK;
}

enum err_code target_read_waiting(struct target *target, struct thread *thread,
                                  const struct target_instants *instants)
{
    (void)target;
    (void)thread;
    taken[taken_count].instants = *instants;
    taken[taken_count++].is_read = true;
    return ERR_OK;
}

bool target_thread_is_ready(const struct target *target, const struct thread *thread)
{
    (void)target;
    (void)thread;
    return is_ready;
}

void target_describe(const struct target *target, struct kernel_process *out)
{
    (void)target;
    memset(out, 0, sizeof *out);
}

void target_describe_thread(const struct target *target, const struct thread *thread,
                            struct kernel_thread *out)
{
    *out = (struct kernel_thread){ .tstate = thread->head.addr,
                                   .pid = (unsigned)target->process.pid };
}

enum err_code python_list_threads(struct python *python, bool *changed_out)
{
    (void)python;
    *changed_out = false;
    listings++;
    return ERR_OK;
}

struct thread *const *python_threads(const struct python *python, size_t *count_out)
{
    (void)python;
    *count_out = 1;
    return the_threads;
}

uint32_t python_interpreters(const struct python *python)
{
    (void)python;
    return interpreters;
}

uint64_t python_begin_copies(struct python *python)
{
    (void)python;
    return clears;
}

enum err_code python_learn_code(struct python *python, struct memory *copy, remote_addr addr)
{
    (void)python;
    learnt_addr = addr;
    return memory_read_u64(copy, addr, &learnt_word);
}

bool python_check_code(struct python *python, remote_addr addr)
{
    (void)python;
    (void)addr;
    checks++;
    return true;
}

/* A record with one span: the thread's state, of one word. */
static void put(struct world *world, struct kernel_record record, uint64_t word)
{
    const struct {
        struct kernel_span head;
        uint64_t word;
    } span = { { .addr = the_thread.head.addr, .bytes = sizeof word }, word };
    const bool has_stack = record.kind == KERNEL_TICK || record.kind == KERNEL_LEFT;
    record.pid = record.pid ? record.pid : PID;
    record.tid = record.tid ? record.tid : TID;
    record.instants = record.instants ? record.instants : 1;
    fake_kernel_put(world->kernel, &record, &span, has_stack ? sizeof span : 0);
}

/* A record that repeats the stack of the record of that time; its one span is a window, of one word. */
static void put_same(struct world *world, unsigned kind, uint64_t at_ns, uint64_t same_ns,
                     uint64_t word)
{
    struct kernel_record record = { .kind = kind,
                                    .pid = PID,
                                    .tid = TID,
                                    .instants = 1,
                                    .time_ns = begin_ns + at_ns,
                                    .same_ns = begin_ns + same_ns };
    const struct {
        struct kernel_span head;
        uint64_t word;
    } span = { { .addr = the_window, .bytes = sizeof word }, word };
    fake_kernel_put(world->kernel, &record, &span, sizeof span);
}

/* The same with its whole stack: a window and the thread's state, of one word each. */
static void put_whole(struct world *world, unsigned kind, uint64_t at_ns, uint64_t word)
{
    struct kernel_record record = {
        .kind = kind, .pid = PID, .tid = TID, .instants = 1, .time_ns = begin_ns + at_ns
    };
    const struct {
        struct kernel_span window;
        uint64_t zero;
        struct kernel_span head;
        uint64_t word;
    } spans = { { .addr = the_window, .bytes = sizeof word },
                0,
                { .addr = the_thread.head.addr, .bytes = sizeof word },
                word };
    fake_kernel_put(world->kernel, &record, &spans, sizeof spans);
}

static void drain(struct world *world)
{
    assert_int_equal(kernel_feed_drain(world->feed), ERR_OK);
}

static void flush(struct world *world, uint64_t at_ns)
{
    assert_int_equal(kernel_feed_flush(world->feed, &world->quality, begin_ns + at_ns), ERR_OK);
}

static struct world *create(void)
{
    static struct world world;
    struct err err = { 0 };
    memset(&world, 0, sizeof world);
    memset(&the_thread, 0, sizeof the_thread);
    the_thread.host_tid = TID;
    the_thread.head.addr = 0x1000;
    the_thread.is_main = true;
    world.target.process.pid = PID;
    world.target.options = &world.options;
    assert_ok(kernel_open(NULL, &world.kernel, &err), &err);
    assert_ok(kernel_start(world.kernel, RATE_HZ, &err), &err);
    assert_ok(kernel_feed_create(world.kernel, &world.feed, &err), &err);
    assert_ok(kernel_feed_add(world.feed, &world.target, &err), &err);
    kernel_feed_begin(world.feed);
    begin_ns = clock_now_ns();
    /* So that the thread is not taken for one that has slept since then. */
    put(&world, (struct kernel_record){ .kind = KERNEL_TICK, .time_ns = begin_ns }, 0);
    flush(&world, 0);
    world.quality = (struct quality){ 0 };
    taken_count = listings = 0;
    is_failing = false;
    return &world;
}

static void destroy(struct world *world)
{
    kernel_feed_destroy(world->feed);
    assert_int_equal(fake_kernel_threads(world->kernel), 0);
    kernel_stop(world->kernel);
    kernel_close(world->kernel);
}

static void leave(struct world *world, uint64_t at_ns, unsigned flags)
{
    put(world,
        (struct kernel_record){
            .kind = KERNEL_LEFT, .flags = flags, .time_ns = begin_ns + at_ns },
        at_ns);
}

static void come_back(struct world *world, uint64_t left_ns, uint64_t at_ns)
{
    put(world,
        (struct kernel_record){ .kind = KERNEL_RETURNED,
                                .time_ns = begin_ns + at_ns,
                                .left_ns = begin_ns + left_ns },
        0);
}

static void an_instant_of_a_running_thread_is_one_sample(void **state)
{
    struct world *const world = create();
    (void)state;
    put(world, (struct kernel_record){ .kind = KERNEL_TICK, .time_ns = begin_ns }, 42);
    drain(world);
    assert_int_equal(taken_count, 1);
    assert_int_equal(taken[0].instants.times, 1);
    assert_int_equal(taken[0].instants.until_ns, begin_ns);
    assert_int_equal(taken[0].instants.runs, VALUE_YES);
    assert_int_equal(taken[0].instants.runnable, VALUE_NO);
    assert_int_equal(taken[0].word, 42);
    destroy(world);
}

/* A record with a native part too, whose C stack is one word; damaged: it is not whole. */
static void put_native(struct world *world, unsigned kind, uint64_t at_ns, uint64_t word,
                       bool is_damaged)
{
    struct {
        struct kernel_record record;
        struct kernel_span head;
        uint64_t state;
        struct kernel_native native;
        struct kernel_span stack_head;
        uint64_t word;
    } all = {
        .record = { .kind = kind,
                    .pid = PID,
                    .tid = TID,
                    .instants = 1,
                    .time_ns = begin_ns + at_ns,
                    .bytes = sizeof all.head + sizeof all.state,
                    .native_bytes = sizeof all.native + sizeof all.stack_head + sizeof word },
        .head = { .addr = the_thread.head.addr, .bytes = sizeof all.state },
        .state = at_ns,
        .native = the_native,
        .stack_head = { .addr = the_native.sp, .bytes = is_damaged ? 9 : sizeof word },
        .word = word,
    };
    fake_kernel_put_bytes(world->kernel, &all, sizeof all);
}

static void a_native_stack_comes_with_the_samples_of_its_record(void **state)
{
    struct world *const world = create();
    (void)state;
    put_native(world, KERNEL_TICK, 0, 42, false);
    put(world, (struct kernel_record){ .kind = KERNEL_TICK, .time_ns = begin_ns }, 1);
    put_native(world, KERNEL_LEFT, 7, 43, false);
    fake_kernel_set_left_ns(world->kernel, begin_ns + 7);
    flush(world, 7 + 20 * PERIOD_NS);
    come_back(world, 7, 7 + 50 * PERIOD_NS);
    drain(world);
    assert_int_equal(taken_count, 4);
    assert_int_equal(taken[0].native_word, 42);
    assert_int_equal(taken[1].native_word, 0);
    assert_int_equal(taken[2].native_word, 43);
    assert_int_equal(taken[3].native_word, 43);
    assert_int_equal(taken[3].word, 7);
    destroy(world);
}

static void a_damaged_native_stack_fails_the_sample(void **state)
{
    struct world *const world = create();
    (void)state;
    put_native(world, KERNEL_TICK, 0, 42, true);
    flush(world, PERIOD_NS);
    assert_int_equal(taken_count, 0);
    assert_int_equal(world->quality.failed_corrupt, 1);
    destroy(world);
}

static void a_late_instant_is_as_many_samples_as_it_stands_for(void **state)
{
    struct world *const world = create();
    (void)state;
    put(world,
        (struct kernel_record){
            .kind = KERNEL_TICK, .time_ns = begin_ns + 9 * PERIOD_NS, .instants = 7 },
        42);
    /* Of these, the first was before the session. */
    put(world,
        (struct kernel_record){
            .kind = KERNEL_TICK, .time_ns = begin_ns + 5 * PERIOD_NS, .instants = 7 },
        42);
    drain(world);
    assert_int_equal(taken_count, 2);
    assert_int_equal(taken[0].instants.times, 7);
    assert_int_equal(taken[1].instants.times, 6);
    destroy(world);
}

static void an_absence_counts_once_for_every_period_of_it(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags <= KERNEL_RUNNABLE; flags += KERNEL_RUNNABLE) {
        struct world *const world = create();
        leave(world, 7, flags);
        come_back(world, 7, 7 + 50 * PERIOD_NS);
        drain(world);
        assert_int_equal(taken_count, 1);
        assert_in_range(taken[0].instants.times, 50, 51);
        assert_int_equal(taken[0].instants.since_ns, begin_ns + 7);
        assert_int_equal(taken[0].instants.until_ns, begin_ns + 7 + 50 * PERIOD_NS);
        assert_int_equal(taken[0].instants.runs, flags ? VALUE_YES : VALUE_NO);
        assert_int_equal(taken[0].instants.runnable, flags ? VALUE_YES : VALUE_NO);
        assert_int_equal(taken[0].word, 7);
        destroy(world);
    }
}

static void a_thread_that_stays_away_is_counted_at_every_flush(void **state)
{
    struct world *const world = create();
    (void)state;
    leave(world, 7, 0);
    fake_kernel_set_left_ns(world->kernel, begin_ns + 7);
    flush(world, 7 + 20 * PERIOD_NS);
    flush(world, 7 + 30 * PERIOD_NS);
    come_back(world, 7, 7 + 50 * PERIOD_NS);
    fake_kernel_set_left_ns(world->kernel, 0);
    flush(world, 7 + 60 * PERIOD_NS);
    assert_int_equal(taken_count, 3);
    assert_in_range(taken[0].instants.times, 20, 21);
    assert_in_range(taken[1].instants.times, 10, 11);
    assert_in_range(taken[2].instants.times, 20, 21);
    destroy(world);
}

static void an_absence_whose_beginning_was_lost_is_missed(void **state)
{
    struct world *const world = create();
    (void)state;
    fake_kernel_set_counts(world->kernel, &(struct kernel_counts){ .lost = 5 });
    come_back(world, 7, 7 + 50 * PERIOD_NS);
    leave(world, 100 * PERIOD_NS, 0);
    come_back(world, 100 * PERIOD_NS, 120 * PERIOD_NS);
    drain(world);
    flush(world, 121 * PERIOD_NS);
    assert_int_equal(taken_count, 1);
    assert_in_range(taken[0].instants.times, 20, 21);
    assert_in_range(world->quality.missed_ticks, 5 + 50, 5 + 51);
    destroy(world);
}

static void an_absence_before_the_first_record_is_missed_once(void **state)
{
    struct world *const world = create();
    struct err err = { 0 };
    (void)state;
    kernel_feed_remove(world->feed, &world->target);
    assert_ok(kernel_feed_add(world->feed, &world->target, &err), &err);
    come_back(world, 20 * PERIOD_NS, 80 * PERIOD_NS);
    flush(world, 80 * PERIOD_NS);
    assert_int_equal(taken_count, 0);
    assert_in_range(world->quality.missed_ticks, 60, 81);
    destroy(world);
}

static void times_that_go_backwards_count_nothing(void **state)
{
    struct world *const world = create();
    (void)state;
    leave(world, 100 * PERIOD_NS, 0);
    fake_kernel_set_left_ns(world->kernel, begin_ns + 100 * PERIOD_NS);
    flush(world, 90 * PERIOD_NS); /* before it left */
    flush(world, 130 * PERIOD_NS);
    come_back(world, 100 * PERIOD_NS, 120 * PERIOD_NS); /* before what has been counted */
    drain(world);
    come_back(world, 140 * PERIOD_NS, 120 * PERIOD_NS); /* before it left */
    flush(world, 150 * PERIOD_NS);
    assert_int_equal(taken_count, 1);
    assert_in_range(taken[0].instants.times, 30, 31);
    assert_int_equal(world->quality.missed_ticks, 0);
    assert_int_equal(world->quality.failed_corrupt, 1);
    destroy(world);
}

static void records_of_others_count_nothing(void **state)
{
    struct world *const world = create();
    (void)state;
    put(world,
        (struct kernel_record){ .kind = KERNEL_TICK, .tid = TID + 1, .time_ns = begin_ns }, 1);
    put(world,
        (struct kernel_record){ .kind = KERNEL_TICK, .pid = PID + 1, .time_ns = begin_ns }, 1);
    put(world, (struct kernel_record){ .kind = KERNEL_UNKNOWN, .pid = PID + 1, .tid = TID }, 0);
    drain(world);
    assert_int_equal(taken_count, 0);
    assert_int_equal(listings, 0);
    destroy(world);
}

static void an_unknown_thread_calls_for_a_listing(void **state)
{
    struct world *const world = create();
    (void)state;
    put(world, (struct kernel_record){ .kind = KERNEL_UNKNOWN, .tid = TID + 1 }, 0);
    drain(world);
    assert_int_equal(listings, 1);
    drain(world);
    assert_int_equal(listings, 1);
    destroy(world);
}

static void threads_of_several_interpreters_are_listed_at_each_drain(void **state)
{
    struct world *const world = create();
    (void)state;
    drain(world);
    assert_int_equal(listings, 0);
    interpreters = 2;
    drain(world);
    drain(world);
    assert_int_equal(listings, 2);
    interpreters = 1;
    destroy(world);
}

/* Every prefix of a record, and a record with each of its bytes changed: nothing but the copy's words may
 * become a sample. */
static void damaged_records_are_counted_and_harmless(void **state)
{
    struct {
        struct kernel_record record;
        struct kernel_span span;
        uint64_t word;
    } good = { { .kind = KERNEL_TICK,
                 .pid = PID,
                 .tid = TID,
                 .instants = 1,
                 .bytes = sizeof(struct kernel_span) + sizeof(uint64_t) },
               { .addr = 0x1000, .bytes = sizeof(uint64_t) },
               42 };
    (void)state;
    for (size_t bytes = 0; bytes < sizeof good; bytes++) {
        struct world *const world = create();
        fake_kernel_put_bytes(world->kernel, &good, bytes);
        flush(world, 0);
        assert_int_equal(taken_count, 0);
        assert_int_equal(world->quality.failed_corrupt, 1);
        destroy(world);
    }
    for (size_t at = 0; at < sizeof good; at++) {
        struct world *const world = create();
        unsigned char bytes[sizeof good];
        good.record.time_ns = begin_ns;
        memcpy(bytes, &good, sizeof good);
        bytes[at] ^= 0xff;
        fake_kernel_put_bytes(world->kernel, bytes, sizeof bytes);
        flush(world, 0);
        assert_in_range(taken_count + world->quality.failed_corrupt, 0, 1);
        destroy(world);
    }
}

static void a_copy_that_makes_no_sense_fails_as_often_as_it_would_count(void **state)
{
    struct world *const world = create();
    const struct kernel_span span = { .addr = 0x1000, .bytes = 64 };
    struct kernel_record record = {
        .kind = KERNEL_LEFT, .pid = PID, .tid = TID, .time_ns = begin_ns
    };
    (void)state;
    fake_kernel_put(world->kernel, &record, &span, sizeof span);
    come_back(world, 0, 30 * PERIOD_NS);
    flush(world, 31 * PERIOD_NS);
    assert_int_equal(taken_count, 0);
    assert_in_range(world->quality.failed_corrupt, 30, 31);
    destroy(world);
}

static void what_happened_in_a_pause_is_not_counted(void **state)
{
    struct world *const world = create();
    (void)state;
    put(world, (struct kernel_record){ .kind = KERNEL_TICK, .time_ns = begin_ns }, 42);
    leave(world, 1, 0);
    come_back(world, 1, 50 * PERIOD_NS);
    kernel_feed_skip(world->feed);
    flush(world, 51 * PERIOD_NS);
    drain(world);
    flush(world, 51 * PERIOD_NS);
    assert_int_equal(taken_count, 0);
    assert_int_equal(world->quality.missed_ticks, 0);
    destroy(world);
}

static void a_record_of_before_the_session_is_not_counted(void **state)
{
    struct world *const world = create();
    (void)state;
    kernel_feed_begin(world->feed);
    leave(world, 0, 0);
    put(world, (struct kernel_record){ .kind = KERNEL_TICK, .time_ns = begin_ns }, 42);
    drain(world);
    assert_int_equal(taken_count, 0);
    destroy(world);
}

static void a_thread_that_left_before_the_session_counts_from_its_begin_on(void **state)
{
    struct world *const world = create();
    (void)state;
    kernel_feed_begin(world->feed);
    const uint64_t until_ns = clock_now_ns() + 50 * PERIOD_NS;
    leave(world, 0, 0);
    come_back(world, 0, until_ns - begin_ns);
    drain(world);
    assert_int_equal(taken_count, 1);
    assert_true(taken[0].instants.since_ns > begin_ns);
    assert_true(taken[0].instants.until_ns == until_ns);
    destroy(world);
}

static void a_thread_that_sleeps_counts_from_its_listing_on(void **state)
{
    struct world *const world = create();
    struct err err = { 0 };
    (void)state;
    kernel_feed_remove(world->feed, &world->target);
    while (clock_now_ns() < begin_ns + 20 * PERIOD_NS)
        continue;
    const uint64_t listed_ns = clock_now_ns();
    assert_ok(kernel_feed_add(world->feed, &world->target, &err), &err);
    flush(world, listed_ns - begin_ns + 10000 * PERIOD_NS);
    assert_int_equal(taken_count, 1);
    assert_true(taken[0].is_read);
    assert_in_range(taken[0].instants.times, 9000, 10001);
    destroy(world);
}

/* On a busy host a thread may get no processor for a while. */
static void a_thread_that_has_not_run_yet_may_be_ready(void **state)
{
    (void)state;
    for (int ready = 0; ready <= 1; ready++) {
        struct world *const world = create();
        struct err err = { 0 };
        is_ready = ready;
        kernel_feed_remove(world->feed, &world->target);
        assert_ok(kernel_feed_add(world->feed, &world->target, &err), &err);
        flush(world, clock_now_ns() - begin_ns + 100 * PERIOD_NS);
        assert_int_equal(taken_count, 1);
        assert_int_equal(taken[0].instants.runs, ready ? VALUE_YES : VALUE_NO);
        assert_int_equal(taken[0].instants.runnable, ready ? VALUE_YES : VALUE_NO);
        is_ready = false;
        destroy(world);
    }
}

/* A description begins with the code object; the rest is read from the process, which is gone here. */
static void a_code_object_is_learnt_from_its_description(void **state)
{
    struct world *const world = create();
    const struct kernel_record record = { .kind = KERNEL_CODE, .pid = PID, .tid = TID };
    const struct {
        struct kernel_span head;
        uint64_t word;
    } span = { { .addr = 0x5000, .bytes = sizeof span.word }, 42 };
    struct kernel_record copy = record;
    (void)state;
    fake_kernel_put(world->kernel, &copy, &span, sizeof span);
    drain(world);
    assert_int_equal(learnt_addr, 0x5000);
    assert_int_equal(learnt_word, 42);
    assert_int_equal(checks, 0);
    assert_int_equal(taken_count, 0);
    /* Also while nothing is counted: it is described only once. */
    learnt_addr = 0;
    copy = record;
    fake_kernel_put(world->kernel, &copy, &span, sizeof span);
    kernel_feed_skip(world->feed);
    assert_int_equal(learnt_addr, 0x5000);
    /* Of a process that is no target. */
    learnt_addr = 0;
    copy = record;
    copy.pid = PID + 1;
    fake_kernel_put(world->kernel, &copy, &span, sizeof span);
    drain(world);
    assert_int_equal(learnt_addr, 0);
    destroy(world);
}

static void a_stack_that_was_counted_is_repeated_from_the_thread(void **state)
{
    struct world *const world = create();
    (void)state;
    put_whole(world, KERNEL_TICK, 5, 42);
    put_same(world, KERNEL_TICK, 10, 5, 1);
    put_same(world, KERNEL_LEFT, 20, 5, 2);
    come_back(world, 20, 20 + 50 * PERIOD_NS);
    put_same(world, KERNEL_TICK, 60 * PERIOD_NS, 5, 3);
    drain(world);
    assert_int_equal(taken_count, 4);
    assert_false(taken[0].is_repeated);
    for (size_t i = 1; i < taken_count; i++) {
        assert_true(taken[i].is_repeated);
        assert_int_equal(taken[i].word, i);
    }
    assert_in_range(taken[2].instants.times, 50, 51);
    assert_int_equal(taken[2].instants.since_ns, begin_ns + 20);
    assert_int_equal(taken[2].instants.runs, VALUE_NO);
    assert_int_equal(taken[3].instants.runs, VALUE_YES);
    assert_int_equal(fake_kernel_forgets(world->kernel), 0);
    destroy(world);
}

/* Nobody has counted the record that it repeats, because the absence was short. */
static void a_stack_that_was_kept_is_counted_when_it_is_repeated(void **state)
{
    struct world *const world = create();
    (void)state;
    put_whole(world, KERNEL_LEFT, 5, 42);
    put_same(world, KERNEL_LEFT, 10, 5, 1);
    put_same(world, KERNEL_TICK, 20, 5, 2);
    put_same(world, KERNEL_TICK, 30, 5, 3);
    drain(world);
    assert_int_equal(taken_count, 2);
    assert_false(taken[0].is_repeated);
    assert_int_equal(taken[0].word, 42);
    assert_true(taken[1].is_repeated);
    assert_int_equal(taken[1].word, 3);
    destroy(world);
}

static void a_stack_that_was_lost_is_missed_where_it_is_repeated(void **state)
{
    struct world *const world = create();
    (void)state;
    put_whole(world, KERNEL_TICK, 5, 42);
    put_same(world, KERNEL_TICK, 20, 10, 1); /* of a record that did not arrive */
    put_same(world, KERNEL_TICK, 30, 5, 1);  /* the older one is no longer right either */
    put_same(world, KERNEL_LEFT, 40, 5, 1);
    come_back(world, 40, 40 + 50 * PERIOD_NS);
    put_whole(world, KERNEL_TICK, 60 * PERIOD_NS, 43);
    put_same(world, KERNEL_TICK, 61 * PERIOD_NS, 60 * PERIOD_NS, 1);
    flush(world, 62 * PERIOD_NS);
    assert_int_equal(taken_count, 3);
    assert_int_equal(taken[1].word, 43);
    assert_true(taken[2].is_repeated);
    assert_in_range(world->quality.missed_ticks, 2 + 50, 2 + 51);
    assert_int_equal(fake_kernel_forgets(world->kernel), 3);
    destroy(world);
}

static void repeated_stacks_of_unknown_threads_count_nothing(void **state)
{
    struct world *const world = create();
    struct err err = { 0 };
    (void)state;
    put_whole(world, KERNEL_TICK, 5, 42);
    drain(world);
    kernel_feed_remove(world->feed, &world->target);
    put_same(world, KERNEL_TICK, 10, 5, 1);
    drain(world);
    /* The engine begins again with a thread that comes again; older records may still arrive. */
    assert_ok(kernel_feed_add(world->feed, &world->target, &err), &err);
    put_same(world, KERNEL_TICK, 20, 5, 1);
    flush(world, PERIOD_NS);
    assert_int_equal(taken_count, 1);
    assert_int_equal(world->quality.missed_ticks, 1);
    destroy(world);
}

/* What could not be read may be readable later: a code object may be known by then. */
static void a_stack_that_failed_is_read_again_when_it_is_repeated(void **state)
{
    struct world *const world = create();
    (void)state;
    is_failing = true;
    put_whole(world, KERNEL_TICK, 5, 42);
    put_same(world, KERNEL_TICK, 10, 5, 1);
    drain(world);
    is_failing = false;
    put_same(world, KERNEL_TICK, 20, 5, 1);
    put_same(world, KERNEL_TICK, 30, 5, 1);
    drain(world);
    assert_int_equal(taken_count, 4);
    for (size_t i = 0; i < 3; i++) {
        assert_false(taken[i].is_repeated);
        assert_int_equal(taken[i].word, 42);
    }
    assert_true(taken[3].is_repeated);
    destroy(world);
}

static void a_stack_that_was_cleared_is_missed_where_it_is_repeated(void **state)
{
    struct world *const world = create();
    (void)state;
    put_whole(world, KERNEL_TICK, 5, 42);
    put_whole(world, KERNEL_TICK, 6, 42);
    drain(world);
    the_thread.is_placed = false;
    put_same(world, KERNEL_TICK, 10, 6, 1);
    flush(world, PERIOD_NS);
    assert_int_equal(taken_count, 2);
    assert_int_equal(world->quality.missed_ticks, 1);
    assert_int_equal(fake_kernel_forgets(world->kernel), 1);
    destroy(world);
}

static void a_stack_of_a_pause_is_known_after_it(void **state)
{
    struct world *const world = create();
    (void)state;
    put_whole(world, KERNEL_TICK, 5, 42);
    put_same(world, KERNEL_TICK, 10, 5, 1);
    kernel_feed_skip(world->feed);
    put_same(world, KERNEL_TICK, NS_PER_S, 5, 1);
    drain(world);
    assert_int_equal(taken_count, 1);
    assert_int_equal(taken[0].word, 42);
    assert_int_equal(fake_kernel_forgets(world->kernel), 0);
    destroy(world);
}

/* Windows that are larger than the stack that they belong to. */
static void a_repeated_stack_that_makes_no_sense_is_missed(void **state)
{
    struct world *const world = create();
    (void)state;
    put(world,
        (struct kernel_record){ .kind = KERNEL_LEFT, .time_ns = begin_ns + 5, .same_ns = 0 },
        42);
    unsigned char zeros[256] = { 0 };
    struct kernel_record record = { .kind = KERNEL_LEFT,
                                    .pid = PID,
                                    .tid = TID,
                                    .time_ns = begin_ns + 10,
                                    .same_ns = begin_ns + 5 };
    fake_kernel_put(world->kernel, &record, zeros, sizeof zeros);
    come_back(world, 10, 10 + 50 * PERIOD_NS);
    flush(world, 60 * PERIOD_NS);
    assert_int_equal(taken_count, 0);
    assert_in_range(world->quality.missed_ticks, 50, 51);
    destroy(world);
}

static void a_call_brings_the_next_drain_forward(void **state)
{
    struct world *const world = create();
    const uint64_t until_ns = clock_now_ns() + 1000 * NS_PER_S;
    (void)state;
    const uint64_t before_ns = clock_now_ns();
    drain(world);
    const uint64_t after_ns = clock_now_ns();
    assert_true(kernel_feed_wait(world->feed, until_ns) == until_ns);
    fake_kernel_call(world->kernel);
    const uint64_t soon_ns = kernel_feed_wait(world->feed, until_ns);
    assert_true(soon_ns >= before_ns && soon_ns <= after_ns + 20 * NS_PER_MS);
    fake_kernel_call(world->kernel);
    assert_true(kernel_feed_wait(world->feed, before_ns + 1) == before_ns + 1);
    assert_true(kernel_feed_wait(world->feed, until_ns) == until_ns);
    destroy(world);
}

static void drains_are_rarer_once_a_session_is_not_young(void **state)
{
    struct world *const world = create();
    (void)state;
    const double first_hz = kernel_feed_drain_hz(world->feed, begin_ns);
    assert_true(kernel_feed_drain_hz(world->feed, begin_ns + NS_PER_S) < first_hz);
    destroy(world);
}

static void what_was_cleared_is_described_again(void **state)
{
    struct world *const world = create();
    (void)state;
    const size_t before = fake_kernel_descriptions(world->kernel);
    drain(world);
    assert_int_equal(fake_kernel_descriptions(world->kernel), before);
    clears++;
    drain(world);
    drain(world);
    assert_int_equal(fake_kernel_descriptions(world->kernel), before + 1);
    destroy(world);
}

TEST_MAIN(cmocka_unit_test(a_late_instant_is_as_many_samples_as_it_stands_for),
          cmocka_unit_test(a_thread_that_has_not_run_yet_may_be_ready),
          cmocka_unit_test(a_code_object_is_learnt_from_its_description),
          cmocka_unit_test(what_was_cleared_is_described_again),
          cmocka_unit_test(a_stack_that_was_counted_is_repeated_from_the_thread),
          cmocka_unit_test(a_stack_that_was_kept_is_counted_when_it_is_repeated),
          cmocka_unit_test(a_stack_that_was_lost_is_missed_where_it_is_repeated),
          cmocka_unit_test(repeated_stacks_of_unknown_threads_count_nothing),
          cmocka_unit_test(a_stack_that_failed_is_read_again_when_it_is_repeated),
          cmocka_unit_test(a_stack_that_was_cleared_is_missed_where_it_is_repeated),
          cmocka_unit_test(a_stack_of_a_pause_is_known_after_it),
          cmocka_unit_test(a_repeated_stack_that_makes_no_sense_is_missed),
          cmocka_unit_test(a_call_brings_the_next_drain_forward),
          cmocka_unit_test(drains_are_rarer_once_a_session_is_not_young),
          cmocka_unit_test(an_instant_of_a_running_thread_is_one_sample),
          cmocka_unit_test(a_native_stack_comes_with_the_samples_of_its_record),
          cmocka_unit_test(a_damaged_native_stack_fails_the_sample),
          cmocka_unit_test(an_absence_counts_once_for_every_period_of_it),
          cmocka_unit_test(a_thread_that_stays_away_is_counted_at_every_flush),
          cmocka_unit_test(an_absence_whose_beginning_was_lost_is_missed),
          cmocka_unit_test(an_absence_before_the_first_record_is_missed_once),
          cmocka_unit_test(times_that_go_backwards_count_nothing),
          cmocka_unit_test(records_of_others_count_nothing),
          cmocka_unit_test(an_unknown_thread_calls_for_a_listing),
          cmocka_unit_test(threads_of_several_interpreters_are_listed_at_each_drain),
          cmocka_unit_test(damaged_records_are_counted_and_harmless),
          cmocka_unit_test(a_copy_that_makes_no_sense_fails_as_often_as_it_would_count),
          cmocka_unit_test(what_happened_in_a_pause_is_not_counted),
          cmocka_unit_test(a_record_of_before_the_session_is_not_counted),
          cmocka_unit_test(a_thread_that_left_before_the_session_counts_from_its_begin_on),
          cmocka_unit_test(a_thread_that_sleeps_counts_from_its_listing_on))
