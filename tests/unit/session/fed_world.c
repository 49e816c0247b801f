#define _GNU_SOURCE
#include "tests/unit/session/fed_world.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/python_copies.h"
#include "sampler/kernel/copy_memory.h"
#include "sampler/kernel/engine.h"
#include "sampler/native/native_copy.h"
#include "sampler/profile/quality.h"
#include "sampler/session/kernel/kernel_describe.h"
#include "sampler/session/kernel/kernel_feed.h"
#include "sampler/session/kernel/kernel_reading.h"
#include "sampler/session/target.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/test.h"

uint64_t begin_ns;
struct fed_sample taken[MAX_TAKEN];
size_t taken_count, listings, checks;
uint32_t unknown_running, unknown_waiting, unknown_either;
struct kernel_instants last_unknown;
bool is_ready, is_failing;
uint32_t interpreters = 1;
uint64_t clears, learnt_addr, learnt_word;
struct thread the_thread, the_visit;
const struct kernel_native the_native = { .ip = 7, .sp = 0x5000, .base = 0x6000 };

static struct thread *const the_threads[] = { &the_thread };

enum err_code kernel_reading_take(struct target *target, struct thread *thread,
                                  struct copy_memory *copy, const struct native_copy *native,
                                  const struct kernel_instants *instants)
{
    (void)target;
    assert_true(thread == &the_thread || thread == &the_visit);
    assert_true(taken_count < MAX_TAKEN);
    taken[taken_count].instants = *instants;
    taken[taken_count].tstate = thread->head.addr;
    taken[taken_count].is_read = false;
    taken[taken_count].word = 0;
    (void)!memory_read_u64(&copy->memory, the_thread.head.addr, &taken[taken_count].word);
    taken[taken_count].tail_word = 0;
    if (copy->tail_ns)
        (void)!memory_read_u64(&copy->memory, FED_TAIL, &taken[taken_count].tail_word);
    taken[taken_count].tail_ns = copy->tail_ns;
    taken[taken_count].tail_from = copy->tail_from;
    taken[taken_count].native_word = taken[taken_count].base_word = 0;
    if (native) {
        assert_int_equal(native->registers.ip, the_native.ip);
        const struct native_stack *const stack = &native->stack;
        const struct native_span *const last = &stack->spans[stack->span_count - 1];
        assert_in_range(stack->span_count, 1, 2);
        memcpy(&taken[taken_count].native_word, stack->spans[0].bytes, sizeof(uint64_t));
        if (last->addr + last->count == stack->base)
            memcpy(&taken[taken_count].base_word, last->bytes + last->count - sizeof(uint64_t),
                   sizeof(uint64_t));
    }
    taken[taken_count++].is_repeated = false;
    thread->stack.is_placed = !is_failing;
    return ERR_OK;
}

enum err_code kernel_reading_take_same(struct target *target, struct thread *thread,
                                       struct copy_memory *copy,
                                       const struct kernel_instants *instants)
{
    (void)target;
    assert_true(thread->stack.is_placed);
    assert_true(taken_count < MAX_TAKEN);
    taken[taken_count].instants = *instants;
    taken[taken_count].tstate = thread->head.addr;
    taken[taken_count].is_repeated = true;
    taken[taken_count].word = 0;
    (void)!memory_read_u64(&copy->memory, FED_WINDOW, &taken[taken_count++].word);
    return ERR_OK;
}

enum err_code fold_unattributed(struct fold *fold, enum measure measure, uint32_t times,
                                uint64_t now_ns)
{
    (void)fold;
    (void)measure;
    (void)times;
    (void)now_ns;
    return ERR_OK;
}

enum err_code kernel_reading_take_unknown(struct target *target, struct thread *thread,
                                          const struct kernel_instants *instants)
{
    (void)target;
    assert_ptr_equal(thread, &the_thread);
    assert_true(instants->since_ns <= instants->until_ns);
    last_unknown = *instants;
    *(instants->runs == VALUE_YES  ? &unknown_running
      : instants->runs == VALUE_NO ? &unknown_waiting
                                   : &unknown_either) += instants->times;
    return ERR_OK;
}

enum err_code kernel_reading_wait(struct target *target, struct thread *thread,
                                  struct native_copies *copies,
                                  const struct kernel_instants *instants)
{
    (void)target, (void)thread, (void)copies;
    taken[taken_count].instants = *instants;
    taken[taken_count++].is_read = true;
    return ERR_OK;
}

bool kernel_reading_is_ready(const struct target *target, const struct thread *thread,
                             struct system_call *call_out)
{
    *call_out = (struct system_call){ 0 };
    (void)target;
    (void)thread;
    return is_ready;
}

void kernel_describe_process(const struct target *target, struct kernel_process *out)
{
    memset(out, 0, sizeof *out);
    out->wants_native = target->fold.native_stacks != NULL;
}

void kernel_describe_context(const struct target *target, struct kernel_context *out)
{
    (void)target;
    memset(out, 0, sizeof *out);
}

void python_search_context(struct python *python, uint64_t now_ns)
{
    (void)python;
    (void)now_ns;
}

void kernel_describe_thread(const struct target *target, const struct thread *thread,
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

size_t python_unknown_threads(const struct python *python)
{
    (void)python;
    return the_thread.host_tid == 0;
}

struct thread *python_main(const struct python *python)
{
    (void)python;
    return the_threads[0];
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

bool python_lends_states(const struct python *python)
{
    (void)python;
    return false;
}

size_t python_searched_interpreters(const struct python *python, remote_addr *out, size_t max)
{
    (void)python;
    assert_in_range(interpreters, 0, max);
    for (uint32_t i = 1; i < interpreters; i++)
        out[i - 1] = 0x9000 + i;
    return interpreters ? interpreters - 1 : 0;
}

struct thread *python_visit(struct python *python, struct thread *thread, remote_addr tstate,
                            remote_addr interp)
{
    (void)python;
    assert_ptr_equal(thread, &the_thread);
    the_visit.head = (struct thread_head){ .addr = tstate, .interp = interp };
    return &the_visit;
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
void fed_put(struct fed_world *world, struct kernel_record record, uint64_t word)
{
    const struct {
        struct kernel_span head;
        uint64_t word;
    } span = { { .addr = the_thread.head.addr, .bytes = sizeof word }, word };
    const bool has_stack = record.kind != KERNEL_RETURNED && record.kind != KERNEL_UNKNOWN;
    record.pid = record.pid ? record.pid : PID;
    record.tid = record.tid ? record.tid : TID;
    record.instants = record.instants ? record.instants : 1;
    fake_kernel_put(world->kernel, &record, &span, has_stack ? sizeof span : 0);
}

/* A record that repeats the stack of the record of that time; its one span is a window, of one word. */
void fed_put_same(struct fed_world *world, unsigned kind, uint64_t at_ns, uint64_t same_ns,
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
    } span = { { .addr = FED_WINDOW, .bytes = sizeof word }, word };
    fake_kernel_put(world->kernel, &record, &span, sizeof span);
}

/* Puts a record with its whole stack: a window and the thread's state, of one word each. */
void fed_put_whole(struct fed_world *world, unsigned kind, uint64_t at_ns, uint64_t word)
{
    struct kernel_record record = {
        .kind = kind, .pid = PID, .tid = TID, .instants = 1, .time_ns = begin_ns + at_ns
    };
    const struct {
        struct kernel_span window;
        uint64_t zero;
        struct kernel_span head;
        uint64_t word;
    } spans = { { .addr = FED_WINDOW, .bytes = sizeof word },
                0,
                { .addr = the_thread.head.addr, .bytes = sizeof word },
                word };
    fake_kernel_put(world->kernel, &record, &spans, sizeof spans);
}

void fed_put_tail(struct fed_world *world, unsigned kind, uint64_t at_ns, uint64_t word)
{
    const struct {
        struct kernel_span head;
        uint64_t state;
        struct kernel_span tail;
        uint64_t word;
    } spans = { { .addr = the_thread.head.addr, .bytes = sizeof word },
                at_ns,
                { .addr = FED_TAIL, .bytes = sizeof word },
                word };
    struct kernel_record record = { .kind = kind,
                                    .pid = PID,
                                    .tid = TID,
                                    .instants = 1,
                                    .time_ns = begin_ns + at_ns,
                                    .tail_at = sizeof spans / 2 };
    fake_kernel_put(world->kernel, &record, &spans, sizeof spans);
}

void fed_put_same_tail(struct fed_world *world, unsigned kind, uint64_t at_ns, uint64_t tail_ns)
{
    const struct {
        struct kernel_span head;
        uint64_t state;
    } span = { { .addr = the_thread.head.addr, .bytes = sizeof(uint64_t) }, at_ns };
    struct kernel_record record = { .kind = kind,
                                    .pid = PID,
                                    .tid = TID,
                                    .instants = 1,
                                    .time_ns = begin_ns + at_ns,
                                    .tail_at = sizeof span,
                                    .tail_ns = begin_ns + tail_ns };
    fake_kernel_put(world->kernel, &record, &span, sizeof span);
}

void fed_drain(struct fed_world *world)
{
    assert_int_equal(kernel_feed_drain(world->feed), ERR_OK);
}

void fed_flush(struct fed_world *world, uint64_t at_ns)
{
    assert_int_equal(kernel_feed_flush(world->feed, &world->quality, begin_ns + at_ns, false),
                     ERR_OK);
}

struct fed_world *fed_create(void)
{
    return fed_create_of(0);
}

struct fed_world *fed_create_of(measure_set measures)
{
    static struct fed_world world;
    struct err err = { 0 };
    memset(&world, 0, sizeof world);
    memset(&the_thread, 0, sizeof the_thread);
    the_thread.host_tid = TID;
    the_thread.head.addr = 0x1000;
    the_thread.is_main = true;
    world.target.process.pid = PID;
    /* It never ends. */
    world.target.process.pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    assert_true(world.target.process.pidfd >= 0);
    world.target.options = &world.options;
    assert_ok(kernel_open(NULL, &world.kernel, &err), &err);
    assert_ok(kernel_start(world.kernel, RATE_HZ, KERNEL_EVENT_TIME, &err), &err);
    assert_ok(kernel_feed_create(world.kernel, measures, NULL, &world.feed, &err), &err);
    assert_ok(kernel_feed_add(world.feed, &world.target, &err), &err);
    kernel_feed_begin(world.feed);
    begin_ns = clock_now_ns();
    /* So that the thread is not taken for one that has slept since then. */
    fed_put(&world, (struct kernel_record){ .kind = KERNEL_TICK, .time_ns = begin_ns }, 0);
    fed_flush(&world, 0);
    world.quality = (struct quality){ 0 };
    taken_count = listings = 0;
    unknown_running = unknown_waiting = unknown_either = 0;
    is_failing = false;
    return &world;
}

void fed_destroy(struct fed_world *world)
{
    kernel_feed_destroy(world->feed);
    assert_int_equal(fake_kernel_threads(world->kernel), 0);
    kernel_stop(world->kernel);
    kernel_close(world->kernel);
    close(world->target.process.pidfd);
}

void fed_leave(struct fed_world *world, uint64_t at_ns, unsigned flags)
{
    fed_put(world,
            (struct kernel_record){
                .kind = KERNEL_LEFT, .flags = flags, .time_ns = begin_ns + at_ns },
            at_ns);
}

void fed_come_back(struct fed_world *world, uint64_t left_ns, uint64_t at_ns)
{
    fed_put(world,
            (struct kernel_record){ .kind = KERNEL_RETURNED,
                                    .time_ns = begin_ns + at_ns,
                                    .left_ns = begin_ns + left_ns },
            0);
}

/* A record with a native part too, whose C stack is one word; damaged: it is not whole. */
void fed_put_native(struct fed_world *world, unsigned kind, uint64_t at_ns, uint64_t word,
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
