/*
 * stopped - the reference: the stack of a thread that stands still.
 *
 *     stopped PID RATE SECONDS FILE
 *
 * Stops the main thread of PID about RATE times a second at random instants (ptrace), follows
 * the interpreter's own links from the frame that runs to the outermost one, lets it go on, and
 * writes folded stacks to FILE as `pyrometer record --collapsed` does.  How a moving stack is
 * read has no part in this: of the session only the layouts, the code objects and the location
 * tables are used.
 *
 * A thread on another processor stops some microseconds after it was asked to, or sooner when it
 * enters the kernel, so page faults and system calls would be seen too often.  So the thread has
 * one processor, and this program wakes up on the same one before all others: the thread stands
 * where the timer's interrupt met it.
 *
 * When it ends, however that comes about, the kernel lets the thread run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "sampler/base/clock.h"
#include "sampler/base/err.h"
#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"
#include "sampler/base/pool.h"
#include "sampler/base/strtab.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/objects/code_place.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/process/process.h"

enum {
    MAX_FRAMES = 1 << 16,
    MAX_THREADS = 1 << 16,
    OWNER_GENERATOR = 1,
    OWNER_INTERPRETER = 3,
    MAX_STEPS = 64
};

/* Between two samples; a program that is stopped again at once does nothing in between. */
static const double MIN_PAUSE_S = 30e-6;

/* A code object at one of its lines, below the node of its caller.  Node 0 is the root. */
struct node {
    uint32_t parent;
    code_id code;
    int32_t line;
    uint64_t self;
};

/* Frames seen before are likely to be there again: one call reads all of them. */
struct guesses {
    struct idmap index; /* by address */
    size_t count;
    struct memory_span spans[MEMORY_MAX_SPANS];
    unsigned char bytes[MEMORY_MAX_SPANS][LAYOUT_MAX_FRAME_BYTES];
};

struct reference {
    struct process process;
    struct guesses guesses;
    struct runtime runtime;
    struct strtab strings;
    struct code_table codes;
    struct pool nodes;
    struct idmap node_index;
    remote_addr tstate;
    uint64_t random;
    uint64_t samples, failed;
    double stopped_s;
    int signal; /* to be delivered when the thread goes on */
};

struct frame {
    code_id code;
    int32_t line;
    bool is_generator;
};

static enum err_code find_node(struct reference *r, uint32_t parent, struct frame frame,
                               uint32_t *out)
{
    const uint32_t hash =
        hash_mix((uint64_t)parent << 32 | frame.code, (uint64_t)(uint32_t)frame.line);
    for (struct idmap_slot *at = idmap_first(&r->node_index, hash); at;
         at = idmap_next(&r->node_index, at)) {
        const struct node *const node = pool_at(&r->nodes, at->id);
        if (node->parent == parent && node->code == frame.code && node->line == frame.line) {
            *out = at->id;
            return ERR_OK;
        }
    }
    const struct node node = { .parent = parent, .code = frame.code, .line = frame.line };
    const enum err_code rc = pool_push(&r->nodes, &node, out, NULL);
    return rc ? rc : idmap_add(&r->node_index, hash, *out, NULL);
}

static enum err_code running_frame(struct reference *r, remote_addr *out)
{
    struct memory *const memory = &r->process.memory.memory;
    const struct layout *const layout = &r->runtime.layout;
    remote_addr cframe;
    if (layout->tstate_current_frame)
        return memory_read_u64(memory, r->tstate + layout->tstate_current_frame, out);
    const enum err_code rc =
        memory_read_u64(memory, r->tstate + layout->tstate_cframe, &cframe);
    return rc ? rc : memory_read_u64(memory, cframe + layout->cframe_current_frame, out);
}

static enum err_code code_of(struct reference *r, remote_addr addr, code_id *out)
{
    *out = code_find(&r->codes, addr, 0);
    return *out != CODE_NONE ? ERR_OK : code_load(&r->codes, addr, 0, out);
}

static uint32_t find_guess(const struct guesses *g, remote_addr addr)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &g->index, hash_mix(addr, 0), g->spans[at->id].addr == addr);
    return at ? at->id : IDMAP_NONE;
}

static void drop_guesses(struct guesses *g)
{
    idmap_clear(&g->index);
    g->count = 0;
}

static enum err_code add_guess(struct guesses *g, remote_addr addr, size_t bytes)
{
    if (g->count == MEMORY_MAX_SPANS)
        drop_guesses(g);
    g->spans[g->count] = (struct memory_span){ addr, g->bytes[g->count], bytes };
    return idmap_add(&g->index, hash_mix(addr, 0), (uint32_t)g->count++, NULL);
}

/* Guesses that are no longer mapped were wrong, now and later. */
static void read_guesses(struct reference *r)
{
    struct guesses *const g = &r->guesses;
    for (size_t at = 0; at < g->count; at++) {
        size_t bytes = 0;
        if (!memory_readv(&r->process.memory.memory, g->spans + at, g->count - at, &bytes))
            return;
        for (; at < g->count && bytes >= g->spans[at].bytes; at++)
            bytes -= g->spans[at].bytes;
        if (at < g->count)
            g->spans[at].bytes = 0;
    }
}

/* The bytes of a frame, guessed or read now. */
static enum err_code frame_bytes(struct reference *r, remote_addr addr, unsigned char *out)
{
    struct guesses *const g = &r->guesses;
    const size_t bytes = r->runtime.layout.frame_bytes;
    const uint32_t guess = find_guess(g, addr);
    if (guess != IDMAP_NONE && g->spans[guess].bytes) {
        memcpy(out, g->bytes[guess], bytes);
        return ERR_OK;
    }
    const enum err_code rc = memory_read(&r->process.memory.memory, addr, out, bytes);
    return !rc && guess == IDMAP_NONE ? add_guess(g, addr, bytes) : rc;
}

/* One frame with code; *has_code_out is false for those the interpreter has for itself. */
static enum err_code read_frame(struct reference *r, remote_addr addr, struct frame *out,
                                bool *has_code_out, remote_addr *previous_out)
{
    const struct layout *const layout = &r->runtime.layout;
    unsigned char bytes[LAYOUT_MAX_FRAME_BYTES];
    enum err_code rc = frame_bytes(r, addr, bytes);
    if (rc)
        return rc;
    const remote_addr code = field_u64(bytes, layout->frame_executable) & ~(uint64_t)7;
    *previous_out = field_u64(bytes, layout->frame_previous);
    *has_code_out = code && (LAYOUT_MINOR(layout->version) < 12 ||
                             bytes[layout->frame_owner] < OWNER_INTERPRETER);
    if (!*has_code_out)
        return ERR_OK;
    rc = code_of(r, code, &out->code);
    if (rc)
        return rc;
    const struct code_place *const place =
        code_place(&r->codes, out->code, field_u64(bytes, layout->frame_instr));
    if (!place)
        return ERR_NOMEM;
    out->line = place->location.line;
    out->is_generator = bytes[layout->frame_owner] == OWNER_GENERATOR;
    return ERR_OK;
}

static enum err_code read_stack(struct reference *r, struct frame *frames, size_t *count_out)
{
    remote_addr addr;
    size_t count = 0;
    enum err_code rc = running_frame(r, &addr);
    read_guesses(r);
    for (size_t i = 0; !rc && addr; i++) {
        bool has_code;
        if (i == MAX_FRAMES)
            return ERR_LIMIT;
        rc = read_frame(r, addr, &frames[count], &has_code, &addr);
        count += !rc && has_code;
    }
    *count_out = count;
    return rc;
}

/* Lets the thread execute one instruction.  A signal that comes meanwhile is kept for later. */
static bool step(struct reference *r)
{
    int status;
    if (ptrace(PTRACE_SINGLESTEP, r->process.pid, NULL, NULL) ||
        waitpid(r->process.pid, &status, __WALL) != r->process.pid || !WIFSTOPPED(status))
        return false;
    if (WSTOPSIG(status) != SIGTRAP)
        r->signal = WSTOPSIG(status);
    return true;
}

/* In the few instructions in which the interpreter passes from one frame to another its links may
 * not hold: the thread is taken past them. */
static enum err_code read_settled_stack(struct reference *r, struct frame *frames,
                                        size_t *count_out)
{
    enum err_code rc = ERR_OK;
    for (int i = 0; i < MAX_STEPS; i++) {
        rc = read_stack(r, frames, count_out);
        const bool hangs = !rc && *count_out && frames[*count_out - 1].is_generator;
        if (rc == ERR_NOMEM || (!rc && !hangs) || !step(r))
            break;
    }
    return rc;
}

static enum err_code count_stack(struct reference *r, struct frame *frames)
{
    size_t count;
    uint32_t node = 0;
    enum err_code rc = read_settled_stack(r, frames, &count);
    if (rc == ERR_NOMEM)
        return rc;
    if (rc) {
        r->failed++;
        return ERR_OK;
    }
    while (count > 0 && !rc)
        rc = find_node(r, node, frames[--count], &node);
    if (!rc) {
        ((struct node *)pool_at(&r->nodes, node))->self++;
        r->samples++;
    }
    return rc;
}

/* Stops the thread, reads its stack, and lets it run.  ERR_GONE: it has ended. */
static enum err_code read_stopped(struct reference *r, struct frame *frames)
{
    const int pid = r->process.pid;
    int status;
    const uint64_t began_ns = clock_now_ns();
    if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL))
        return ERR_GONE;
    for (;;) {
        if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
            return ERR_GONE;
        if (status >> 16 == PTRACE_EVENT_STOP)
            break;
        /* A signal on its way to the program comes first. */
        ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)WSTOPSIG(status));
    }
    const enum err_code rc = count_stack(r, frames);
    if (ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)r->signal))
        return ERR_GONE;
    r->signal = 0;
    r->stopped_s += (double)(clock_now_ns() - began_ns) / (double)NS_PER_S;
    return rc;
}

static double random_fraction(struct reference *r)
{
    r->random ^= r->random >> 12;
    r->random ^= r->random << 25;
    r->random ^= r->random >> 27;
    return (double)(r->random * 0x2545f4914f6cdd1du >> 11) / 9007199254740992.0;
}

/* Pauses of random length are unrelated to any rhythm of the program. */
static void pause_for(struct reference *r, uint64_t *due_ns, double mean_s)
{
    const double pauses = -log(1 - random_fraction(r)) * (double)NS_PER_S;
    const uint64_t now_ns = clock_now_ns();
    *due_ns += (uint64_t)(pauses * mean_s);
    if (*due_ns < now_ns)
        *due_ns = now_ns + (uint64_t)(pauses * MIN_PAUSE_S);
    const struct timespec due = clock_timespec(*due_ns);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

/* The thread cannot go anywhere else while this program has its only processor. */
static enum err_code share_processor(int pid, struct err *err)
{
    const struct sched_param first = { .sched_priority = 1 };
    cpu_set_t cpus;
    if (sched_getaffinity(pid, sizeof cpus, &cpus))
        return err_sys(err, errno, "cannot read the processors of process %d", pid);
    if (CPU_COUNT(&cpus) != 1)
        return err_set(err, ERR_UNSUPPORTED, "process %d must have one processor: taskset -pc",
                       pid);
    if (sched_setaffinity(0, sizeof cpus, &cpus))
        return err_sys(err, errno, "cannot use the processor of process %d", pid);
    return sched_setscheduler(0, SCHED_FIFO, &first)
               ? err_sys(err, errno, "cannot run before process %d", pid)
               : ERR_OK;
}

static enum err_code sample(struct reference *r, double rate, double seconds, struct err *err)
{
    struct frame *const frames = calloc(MAX_FRAMES, sizeof *frames);
    enum err_code rc = ERR_OK;
    if (!frames)
        return err_nomem(err);
    if (ptrace(PTRACE_SEIZE, r->process.pid, NULL, NULL)) {
        free(frames);
        return err_sys(err, errno, "cannot stop process %d", r->process.pid);
    }
    uint64_t due_ns = clock_now_ns();
    const uint64_t end_ns = due_ns + (uint64_t)(seconds * (double)NS_PER_S);
    while (!rc && clock_now_ns() < end_ns) {
        pause_for(r, &due_ns, 1 / rate);
        rc = read_stopped(r, frames);
    }
    free(frames);
    if (rc == ERR_GONE)
        return ERR_OK;
    return rc ? err_set(err, rc, "%s", err_text(rc)) : ERR_OK;
}

/* The main thread: the one whose native id is that of the process. */
static enum err_code find_thread(struct reference *r, struct err *err)
{
    struct memory *const memory = &r->process.memory.memory;
    const struct layout *const layout = &r->runtime.layout;
    remote_addr interp, tstate = 0;
    uint64_t tid = 0;
    enum err_code rc =
        memory_read_u64(memory, r->runtime.addr + layout->runtime_interpreters_head, &interp);
    /* The main interpreter is the oldest and thus the last one. */
    for (remote_addr next = interp; !rc && next;
         rc = memory_read_u64(memory, interp + layout->interp_next, &next))
        interp = next;
    if (!rc)
        rc = memory_read_u64(memory, interp + layout->interp_threads_head, &tstate);
    for (size_t i = 0; !rc && tstate && i < MAX_THREADS; i++) {
        rc = memory_read_u64(memory, tstate + layout->tstate_native_thread_id, &tid);
        if (!rc && (int)tid == r->process.pid) {
            r->tstate = tstate;
            return ERR_OK;
        }
        if (!rc)
            rc = memory_read_u64(memory, tstate + layout->tstate_next, &tstate);
    }
    return err_set(err, rc ? rc : ERR_NOT_FOUND, "no main thread in process %d",
                   r->process.pid);
}

static const char *base_name(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void write_stack(const struct reference *r, FILE *file, uint32_t id)
{
    uint32_t path[MAX_FRAMES];
    size_t depth = 0;
    const uint64_t self = ((const struct node *)pool_at(&r->nodes, id))->self;
    for (; id; id = ((const struct node *)pool_at(&r->nodes, id))->parent)
        path[depth++] = id;
    fprintf(file, "tid:%d", r->process.pid);
    while (depth > 0) {
        const struct node *const node = pool_at(&r->nodes, path[--depth]);
        const struct code *const code = code_at(&r->codes, node->code);
        fprintf(file, ";%s:%s:%d", base_name(strtab_get(&r->strings, code->file).text),
                strtab_get(&r->strings, code->name).text, (int)node->line);
    }
    fprintf(file, " %llu\n", (unsigned long long)self);
}

static enum err_code write_file(const struct reference *r, const char *path, struct err *err)
{
    FILE *const file = fopen(path, "w");
    if (!file)
        return err_sys(err, errno, "cannot write %s", path);
    for (uint32_t id = 0; id < r->nodes.count; id++)
        if (((const struct node *)pool_at(&r->nodes, id))->self)
            write_stack(r, file, id);
    return fclose(file) ? err_sys(err, errno, "cannot write %s", path) : ERR_OK;
}

static enum err_code attach(struct reference *r, int pid, struct err *err)
{
    const struct node root = { 0 };
    uint32_t id;
    enum err_code rc = process_open(&r->process, pid, err);
    if (!rc)
        rc = runtime_find(&r->process, RUNTIME_THOROUGH, &r->runtime, err);
    if (!rc)
        rc = find_thread(r, err);
    if (!rc)
        rc = strtab_init(&r->strings, err);
    if (rc)
        return rc;
    code_table_init(&r->codes, &r->process.memory.memory, &r->runtime.layout, &r->strings);
    pool_init(&r->nodes, sizeof(struct node), 0);
    idmap_init(&r->node_index);
    idmap_init(&r->guesses.index);
    return pool_push(&r->nodes, &root, &id, err);
}

int main(int argc, char **argv)
{
    static struct reference r;
    struct err err = { 0 };
    if (argc != 5) {
        fprintf(stderr, "usage: stopped PID RATE SECONDS FILE\n");
        return 2;
    }
    const double seconds = atof(argv[3]);
    r.random = clock_now_ns() | 1;
    enum err_code rc = attach(&r, atoi(argv[1]), &err);
    if (!rc)
        rc = share_processor(r.process.pid, &err);
    if (!rc)
        rc = sample(&r, atof(argv[2]), seconds, &err);
    if (!rc)
        rc = write_file(&r, argv[4], &err);
    if (rc) {
        fprintf(stderr, "stopped: %s\n", err.message);
        return 1;
    }
    fprintf(stderr, "stopped: %llu samples, %llu failed, %.3f s of %.3f s stopped\n",
            (unsigned long long)r.samples, (unsigned long long)r.failed, r.stopped_s, seconds);
    return 0;
}
