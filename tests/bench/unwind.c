/*
 * unwind - what native stacks of a running program cost, and how many of them are complete.
 *
 *     unwind PID [STOPS [THREAD]]
 *
 * Stops a thread of the process (its main thread, unless one is named) STOPS times, 2,000 if not given, and
 * unwinds each stack twice: the second time all rules are known.
 */
#include "sampler/native/unwind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/process/maps.h"
#include "sampler/process/process.h"
#include "sampler/process/stopper.h"

enum { MAX_FRAMES = 1024, COPY_BYTES = 128 << 10, PAGE = 4096 };

struct costs {
    uint64_t stacks, frames, complete, with_gaps, copied_bytes;
    uint64_t first_ns, max_ns, all_ns, warm_ns;
    uint64_t ends[NATIVE_ENDS_COUNT];
};

struct bench {
    int32_t tid;
    struct stopper stopper;
    struct process process;
    struct unwinder unwinder;
    struct costs costs;
    unsigned char bytes[COPY_BYTES + PAGE];
    struct native_frame frames[MAX_FRAMES];
    remote_addr start_stack;
};

static remote_addr end_of_main_stack(int pid)
{
    struct maps maps;
    remote_addr end = 0;
    if (maps_read(&maps, pid, NULL))
        return 0;
    for (size_t i = 0; i < maps.count; i++)
        if (strcmp(maps.items[i].path, "[stack]") == 0)
            end = maps.items[i].end;
    maps_deinit(&maps);
    return end;
}

/* Copies what is mapped above the stack pointer, page by page. */
static void copy_stack(struct bench *bench, remote_addr start, remote_addr thread_pointer,
                       struct native_stack *stack)
{
    struct memory_span spans[COPY_BYTES / PAGE];
    size_t arrived = 0, to_page = PAGE - start % PAGE;
    remote_addr at = start;
    for (size_t i = 0; i < COPY_BYTES / PAGE; i++, at += to_page, to_page = PAGE)
        spans[i] = (struct memory_span){ at, bench->bytes + (at - start), to_page };
    (void)!memory_readv(&bench->process.memory.memory, spans, COPY_BYTES / PAGE, &arrived);
    *stack = (struct native_stack){
        .spans = { { start, bench->bytes, arrived } },
        .span_count = 1,
        .base = start < thread_pointer && thread_pointer < bench->start_stack
                    ? thread_pointer
                    : bench->start_stack,
    };
    bench->costs.copied_bytes += arrived;
}

static uint64_t timed_walk(struct bench *bench, const struct native_registers *registers,
                           const struct native_stack *stack, struct native_walk *walk)
{
    const uint64_t began_ns = clock_now_ns();
    unwinder_walk(&bench->unwinder, registers, stack, NULL, 0, began_ns, walk);
    return clock_now_ns() - began_ns;
}

static void print_broken(const struct bench *bench, const struct native_walk *walk)
{
    const struct native_frame *const last = &walk->frames[walk->count - 1];
    const struct image *const image =
        images_find(&bench->unwinder.images, last->pc - !last->is_exact);
    printf("  %s after %zu frames at %s+%#llx\n", native_end_text(walk->end), walk->count,
           image ? image->path : "?",
           (unsigned long long)(last->pc - (image ? image->load_bias : 0)));
}

static void measure(struct bench *bench, const struct native_registers *registers,
                    remote_addr thread_pointer)
{
    struct native_walk walk = { .frames = bench->frames, .room = MAX_FRAMES };
    struct native_stack stack;
    struct costs *const costs = &bench->costs;
    copy_stack(bench, registers->sp - MACHINE_RED_ZONE_BYTES, thread_pointer, &stack);
    const uint64_t ns = timed_walk(bench, registers, &stack, &walk);
    costs->warm_ns += timed_walk(bench, registers, &stack, &walk);
    costs->all_ns += ns;
    costs->max_ns = ns > costs->max_ns ? ns : costs->max_ns;
    costs->first_ns = costs->stacks ? costs->first_ns : ns;
    costs->stacks++;
    costs->frames += walk.count;
    costs->ends[walk.end]++;
    costs->with_gaps += walk.gaps > 0;
    if (walk.end != NATIVE_COMPLETE && costs->stacks - costs->ends[NATIVE_COMPLETE] <= 10)
        print_broken(bench, &walk);
}

static void stop_once(struct bench *bench)
{
    struct native_registers registers;
    remote_addr thread_pointer;
    if (!stopper_stop(&bench->stopper, &bench->process, &bench->tid, 1,
                      clock_now_ns() + 100 * NS_PER_MS) &&
        stopper_holds(&bench->stopper, bench->tid) &&
        !machine_read_registers(bench->tid, &registers, &thread_pointer))
        measure(bench, &registers, thread_pointer);
    stopper_resume(&bench->stopper);
}

static void print_costs(const struct bench *bench)
{
    const struct costs *const costs = &bench->costs;
    const double stacks = costs->stacks ? (double)costs->stacks : 1;
    printf("%llu stacks of %.1f frames, %.1f KiB copied\n", (unsigned long long)costs->stacks,
           (double)costs->frames / stacks, (double)costs->copied_bytes / stacks / 1024);
    for (size_t i = 0; i < NATIVE_ENDS_COUNT; i++)
        if (costs->ends[i])
            printf("%6.2f %% %s\n", 100 * (double)costs->ends[i] / stacks,
                   native_end_text((enum native_end)i));
    printf("first stack %.0f us, slowest %.0f us, mean %.1f us, warm %.2f us\n",
           (double)costs->first_ns / 1e3, (double)costs->max_ns / 1e3,
           (double)costs->all_ns / stacks / 1e3, (double)costs->warm_ns / stacks / 1e3);
    printf("%.0f KiB; %llu of %llu rules were read from tables, %llu corrupt; %zu rules\n",
           (double)unwinder_bytes(&bench->unwinder) / 1024,
           (unsigned long long)bench->unwinder.misses,
           (unsigned long long)bench->unwinder.lookups,
           (unsigned long long)bench->unwinder.corrupt, bench->unwinder.rules.count);
}

int main(int argc, char **argv)
{
    static struct bench bench;
    struct err err = { 0 };
    const struct timespec pause = { .tv_nsec = 500000 };
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: unwind PID [STOPS [THREAD]]\n");
        return 2;
    }
    const int pid = atoi(argv[1]), stops = argc > 2 ? atoi(argv[2]) : 2000;
    bench.tid = argc > 3 ? atoi(argv[3]) : pid;
    bench.start_stack = end_of_main_stack(pid);
    if (process_open(&bench.process, pid, &err)) {
        fprintf(stderr, "unwind: %s\n", err.message);
        return 1;
    }
    stopper_init(&bench.stopper);
    if (unwinder_init(&bench.unwinder, &bench.process.memory.memory, pid, &err)) {
        fprintf(stderr, "unwind: %s\n", err.message);
        return 1;
    }
    for (int i = 0; i < stops; i++) {
        nanosleep(&pause, NULL);
        stop_once(&bench);
    }
    print_costs(&bench);
    stopper_deinit(&bench.stopper);
    unwinder_deinit(&bench.unwinder);
    process_close(&bench.process);
    return 0;
}
