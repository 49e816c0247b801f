#include "sampler/session/fold/wait_site.h"

#include <string.h>

#include "sampler/base/strtab.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/objects/code_bytecode.h"
#include "sampler/cpython/objects/loops.h"
#include "sampler/cpython/objects/opcodes.h"
#include "sampler/cpython/stack/leaf.h"
#include "sampler/cpython/stack/stack.h"
#include "sampler/process/memory.h"

/* Kinds of code objects, in code->wait_site; 0: not asked yet. */
enum code_site {
    PLAIN = 1,
    BOOTSTRAP, /* calls the function that a thread or a process is for */
    HELPER,    /* the code around it says more */
    CONDITION,
    WAITS, /* Condition.wait; around another one, until 3.10, Event.wait */
    GETS,
    EVENT,
    JOINS,
    SELECTOR,
    CHILD,
    CONNECTION,
    WORKER,
};

/* The first row that fits counts; name NULL: any; with a class: from 3.11 on, which names it. */
static const struct row {
    const char *file, *name;
    enum code_site site;
} rows[] = {
    { "/threading.py", "run", BOOTSTRAP },
    { "/threading.py", "_bootstrap", BOOTSTRAP },
    { "/threading.py", "_bootstrap_inner", BOOTSTRAP },
    { "/threading.py", "Event.wait", EVENT },
    { "/threading.py", "Barrier.wait", HELPER },
    { "/threading.py", "wait", WAITS },
    { "/threading.py", "wait_for", GETS },
    { "/threading.py", "join", JOINS },
    { "/threading.py", "_wait_for_tstate_lock", JOINS },
    { "/threading.py", "_shutdown", JOINS },
    { "/threading.py", NULL, HELPER },
    { "/queue.py", "get", GETS },
    { "/queue.py", "put", CONDITION },
    { "/queue.py", "join", CONDITION },
    { "/concurrent/futures/thread.py", "_worker", WORKER },
    { "/concurrent/futures/process.py", "_process_worker", WORKER },
    { "/concurrent/futures/process.py", "wait_result_broken_or_wakeup", WORKER },
    { "/concurrent/futures/_base.py", NULL, HELPER },
    { "/multiprocessing/pool.py", "worker", WORKER },
    { "/multiprocessing/pool.py", "_handle_tasks", WORKER },
    { "/multiprocessing/pool.py", "_handle_results", WORKER },
    { "/multiprocessing/pool.py", "_handle_workers", WORKER },
    { "/multiprocessing/pool.py", "_wait_for_updates", HELPER },
    { "/multiprocessing/pool.py", "wait", HELPER },
    { "/multiprocessing/pool.py", "get", HELPER },
    { "/multiprocessing/process.py", "run", BOOTSTRAP },
    { "/multiprocessing/process.py", "_bootstrap", BOOTSTRAP },
    { "/multiprocessing/queues.py", "get", GETS },
    { "/multiprocessing/queues.py", "_feed", WORKER },
    { "/multiprocessing/queues.py", NULL, CONDITION },
    { "/multiprocessing/resource_tracker.py", "main", WORKER },
    { "/multiprocessing/synchronize.py", "wait", CONDITION },
    { "/multiprocessing/synchronize.py", NULL, HELPER },
    { "/multiprocessing/connection.py", NULL, CONNECTION },
    { "/multiprocessing/popen_fork.py", NULL, CHILD },
    { "/loky/process_executor.py", "_process_worker", WORKER },
    { "/loky/process_executor.py", "wait_result_broken_or_wakeup", WORKER },
    { "/loky/backend/queues.py", "_feed", WORKER },
    { "/loky/backend/resource_tracker.py", "main", WORKER },
    { "/billiard/pool.py", "workloop", WORKER },
    { "/billiard/pool.py", "body", WORKER },
    { "/billiard/pool.py", NULL, HELPER },
    { "/billiard/queues.py", NULL, HELPER },
    { "/billiard/synchronize.py", NULL, HELPER },
    { "/billiard/connection.py", NULL, CONNECTION },
    { "/anyio/_backends/_asyncio.py", "run", WORKER },
    { "/ipykernel/iostream.py", "_watch_pipe_fd", WORKER },
    { "/IPython/core/history.py", "run", WORKER },
    { "/distributed/process.py", "monitor_parent", WORKER },
    { "/dask/local.py", "queue_get", JOINS },
    { "/selectors.py", NULL, SELECTOR },
    { "/subprocess.py", NULL, CHILD },
};

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), most = strlen(end);
    return length >= most && strcmp(text + length - most, end) == 0;
}

/* "get" of "Queue.get". */
static const char *last_name(const char *name)
{
    const char *const dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

unsigned wait_site_of_code(const char *name, const char *file)
{
    const char *const last = last_name(name);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const wanted = rows[i].name;
        if (ends_with(file, rows[i].file) &&
            (!wanted || strcmp(strchr(wanted, '.') ? name : last, wanted) == 0))
            return rows[i].site;
    }
    return PLAIN;
}

static enum code_site site_of(struct code *code, const struct strtab *strings)
{
    if (!code->wait_site)
        code->wait_site = (unsigned char)wait_site_of_code(
            strtab_get(strings, code->name).text, strtab_get(strings, code->file).text);
    return (enum code_site)code->wait_site;
}

/* true: the frame around it says more.  What is around a condition's wait says what that is for. */
static bool take_frame(struct wait_site *site, enum code_site kind)
{
    switch (kind) {
    case PLAIN:
    case BOOTSTRAP: return false;
    case HELPER: site->gets = site->event = false; return true;
    case CONDITION: site->gets = false; return site->condition = true;
    case WAITS:
        site->event = site->gets;
        site->gets = !site->condition;
        return site->condition = true;
    case EVENT: site->gets = false; return site->event = site->condition = true;
    case GETS: return site->gets = site->condition = true;
    case JOINS: site->gets = site->event = false; return site->joins = site->condition = true;
    case SELECTOR: return site->selector = true;
    case CHILD: return site->child = true;
    case CONNECTION: return site->connection = true;
    case WORKER: site->worker = true; break;
    }
    return false;
}

enum { SETUP_WITH = 143 }; /* until 3.10 */
/* Frames between the loop and the one that waits, and frames from that one outwards. */
enum { MAX_HELPERS = 1, MAX_OUTER_FRAMES = 64 };

/* Is it at the start of a `with`?  Until 3.13 that is an instruction, and calls no function with a name. */
static bool enters_with(const struct stack *stack, const struct code_table *codes)
{
    unsigned char opcode;
    if (memory_read(codes->memory, stack->frames[stack->count - 1].instr, &opcode,
                    sizeof opcode))
        return false;
    if (!codes->opcodes)
        return codes->layout->has_heap_frames && opcode == SETUP_WITH;
    const char *const name = codes->opcodes[opcode].name;
    return name && strcmp(name, "BEFORE_WITH") == 0;
}

/* Is frames[at] the function that the thread is for, or what calls it? */
static bool is_head(const struct stack *stack, const struct code_table *codes,
                    const struct strtab *strings, size_t at, bool is_main)
{
    if (site_of(code_at(codes, stack->frames[at].code), strings) == BOOTSTRAP)
        return true;
    while (at > 0) {
        struct code *const code = code_at(codes, stack->frames[--at].code);
        if (!code->is_shim)
            return site_of(code, strings) == BOOTSTRAP;
    }
    return !is_main;
}

/* The place of frames[at] in a loop. */
static enum loop_place loop_place_of(const struct stack *stack, const struct code_table *codes,
                                     size_t at)
{
    const struct walk_frame *const frame = &stack->frames[at];
    struct code *const code = code_at(codes, frame->code);
    const uint64_t unit = (frame->instr - code->instructions) / CODE_UNIT_BYTES;
    struct code_bytecode room = { 0 };
    struct bytecode bytecode;
    if (!codes->opcodes || frame->instr < code->instructions || unit >= code->units)
        return LOOP_UNKNOWN;
    if (code->loop_place == LOOP_UNKNOWN || code->loop_unit != unit) {
        code->loop_unit = (uint32_t)unit;
        code->loop_place = LOOP_UNKNOWN;
        if (code->units <= LOOPS_MAX_UNITS &&
            !code_bytecode_read(codes->memory, codes->layout, code, codes->opcodes, false,
                                &room, &bytecode))
            code->loop_place = (unsigned char)loops_find(&bytecode, (uint32_t)unit);
        code_bytecode_deinit(&room);
    }
    return (enum loop_place)code->loop_place;
}

/* Is the outermost loop of the thread that of frames[at], or of its caller, and does it get there what it works on? */
static bool gets_at_head(const struct stack *stack, const struct code_table *codes, size_t at)
{
    enum loop_place outermost = LOOP_NONE;
    size_t calls = 0, calls_to_loop = 0;
    if (at >= MAX_OUTER_FRAMES)
        return false;
    for (size_t i = at + 1; i-- > 0;) {
        if (code_at(codes, stack->frames[i].code)->is_shim)
            continue;
        const enum loop_place place = loop_place_of(stack, codes, i);
        if (place == LOOP_UNKNOWN)
            return false;
        if (place != LOOP_NONE) {
            outermost = place;
            calls_to_loop = calls;
        }
        calls++;
    }
    return outermost == LOOP_HEAD && calls_to_loop <= MAX_HELPERS;
}

struct wait_site wait_site_of(const struct stack *stack, const struct leaf *leaf,
                              const struct code_table *codes, const struct strtab *strings,
                              bool is_main, bool may_lock)
{
    struct wait_site site = { .in_native = leaf->in_native, .is_main = is_main };
    if (stack->certainty == STACK_TRUNCATED)
        return site;
    site.is_known = stack->count > 0;
    site.is_native = !site.is_known;
    if (site.is_native)
        return site;
    if (leaf->callee) {
        /* Names of C functions: "lock.acquire", "_thread.RLock.__enter__", "_queue.SimpleQueue.get". */
        const char *const name = strtab_get(strings, leaf->callee).text;
        const char *const last = last_name(name);
        const bool is_lock = strstr(name, "ock.") != NULL;
        if (is_lock && (strcmp(last, "acquire") == 0 || strcmp(last, "__enter__") == 0 ||
                        strcmp(last, "acquire_lock") == 0))
            site.lock = true;
        site.gets = strstr(name, "SimpleQueue.get") != NULL;
        site.joins =
            ends_with(name, "ThreadHandle.join") || ends_with(name, "_thread._shutdown");
        site.condition = site.gets || site.joins;
    }
    const size_t end =
        stack->count > WAIT_SITE_MAX_FRAMES ? stack->count - WAIT_SITE_MAX_FRAMES : 0;
    for (size_t i = stack->count; i-- > end;) {
        struct code *const code = code_at(codes, stack->frames[i].code);
        if (!code->is_shim && !take_frame(&site, site_of(code, strings))) {
            site.at_head = is_head(stack, codes, strings, i, is_main) ||
                           ((site.gets || site.event) && gets_at_head(stack, codes, i));
            break;
        }
    }
    if (may_lock && !site.condition && !site.lock)
        site.lock = enters_with(stack, codes);
    return site;
}
