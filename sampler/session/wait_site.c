#include "sampler/session/wait_site.h"

#include <string.h>

#include "sampler/base/strtab.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/objects/opcodes.h"
#include "sampler/cpython/stack/leaf.h"
#include "sampler/cpython/stack/stack.h"
#include "sampler/process/memory.h"

/* What a code object is, in code->wait_site; 0: not asked yet. */
enum code_site {
    PLAIN = 1,
    HELPER, /* the code around it says more */
    CONDITION,
    SELECTOR,
    CHILD,
    CONNECTION,
    WORKER,
};

/* The first row that fits counts; name NULL: any. */
static const struct row {
    const char *file, *name;
    enum code_site site;
} rows[] = {
    { "/threading.py", "run", PLAIN },
    { "/threading.py", "_bootstrap", PLAIN },
    { "/threading.py", "_bootstrap_inner", PLAIN },
    { "/threading.py", "wait", CONDITION },
    { "/threading.py", "wait_for", CONDITION },
    { "/threading.py", "join", CONDITION },
    { "/threading.py", "_wait_for_tstate_lock", CONDITION },
    { "/threading.py", "_shutdown", CONDITION },
    { "/threading.py", NULL, HELPER },
    { "/queue.py", "get", CONDITION },
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
    { "/multiprocessing/queues.py", NULL, CONDITION },
    { "/multiprocessing/synchronize.py", "wait", CONDITION },
    { "/multiprocessing/synchronize.py", NULL, HELPER },
    { "/multiprocessing/connection.py", NULL, CONNECTION },
    { "/multiprocessing/popen_fork.py", NULL, CHILD },
    { "/anyio/_backends/_asyncio.py", "run", WORKER },
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
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (ends_with(file, rows[i].file) && (!rows[i].name || strcmp(last, rows[i].name) == 0))
            return rows[i].site;
    return PLAIN;
}

/* Names of C functions: "lock.acquire", "_thread.RLock.__enter__", "_queue.SimpleQueue.get". */
static void read_callee(const char *name, struct wait_site *site)
{
    const char *const last = last_name(name);
    const bool is_lock = strstr(name, "ock.") != NULL;
    if (is_lock && (strcmp(last, "acquire") == 0 || strcmp(last, "__enter__") == 0 ||
                    strcmp(last, "acquire_lock") == 0))
        site->lock = true;
    if (strstr(name, "SimpleQueue.get") || ends_with(name, "ThreadHandle.join"))
        site->condition = true;
}

static enum code_site site_of(struct code *code, const struct strtab *strings)
{
    if (!code->wait_site)
        code->wait_site = (unsigned char)wait_site_of_code(
            strtab_get(strings, code->name).text, strtab_get(strings, code->file).text);
    return (enum code_site)code->wait_site;
}

/* true: the frame around it says more. */
static bool take_frame(struct wait_site *site, enum code_site kind)
{
    switch (kind) {
    case PLAIN: return false;
    case HELPER: return true;
    case CONDITION: return site->condition = true;
    case SELECTOR: return site->selector = true;
    case CHILD: return site->child = true;
    case CONNECTION: return site->connection = true;
    case WORKER: site->worker = true; break;
    }
    return false;
}

enum { SETUP_WITH = 143 }; /* until 3.10 */

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

struct wait_site wait_site_of(const struct stack *stack, const struct leaf *leaf,
                              const struct code_table *codes, const struct strtab *strings,
                              bool may_lock)
{
    struct wait_site site = { .in_native = leaf->in_native };
    if (stack->certainty == STACK_TRUNCATED || !stack->count)
        return site;
    site.is_known = true;
    if (leaf->callee)
        read_callee(strtab_get(strings, leaf->callee).text, &site);
    const size_t end =
        stack->count > WAIT_SITE_MAX_FRAMES ? stack->count - WAIT_SITE_MAX_FRAMES : 0;
    for (size_t i = stack->count; i-- > end;) {
        struct code *const code = code_at(codes, stack->frames[i].code);
        if (!code->is_shim && !take_frame(&site, site_of(code, strings)))
            break;
    }
    if (may_lock && !site.condition && !site.lock)
        site.lock = enters_with(stack, codes);
    return site;
}
