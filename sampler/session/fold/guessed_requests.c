#include "sampler/session/fold/guessed_requests.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"
#include "sampler/base/vec.h"
#include "sampler/cpython/asyncio/tasks.h"
#include "sampler/cpython/contexts/contexts.h"
#include "sampler/profile/views/frameworks.h"
#include "sampler/session/fold/sampled_thread.h"

/* A thread that works for requests at all does so again within this time. */
static const uint64_t BUSY_NS = NS_PER_S;
/* A coroutine whose task is unknown is asked about again after this time, when the tasks have been read. */
static const uint64_t GRACE_NS = 25 * NS_PER_MS;
/* A coroutine that no reading of a part of the tasks has found for this long has ended. */
static const uint64_t FORGET_NS = 10 * NS_PER_S;
/* Samples come so much later than the readings of tasks. */
static const uint64_t LATE_NS = 20 * NS_PER_MS;
/* A request that is over is known for this long, for samples that come late. */
static const uint64_t KEEP_NS = NS_PER_S;
/* Variables of a frame that may be a future, requests that are asked whether they await it, and threads that are asked at a reading of tasks. */
enum { VARIABLES = 16, LINKS_MAX = 1024, WORKERS_MAX = 256, IDLES = 8 };

struct open_request {
    remote_addr entry;       /* the frame of the call */
    uint64_t from_ns, to_ns; /* UINT64_MAX: it goes on */
    remote_addr code, first_instr;
    bool is_async;
    uint64_t number, seen_ns;
    uint64_t reading;   /* of the tasks, that found it last */
    remote_addr task;   /* that works for it; 0: unknown */
    uint64_t task_ns;   /* when that was first seen: another one may be there later */
    remote_addr awaits; /* the object that the task waits for; 0: unknown */
    remote_addr view;   /* the code of the function that answers; 0: unknown */
    context_id bare, named;
};

struct guessed_requests {
    struct context_marks *marks;
    struct guessed_process process;
    struct idmap by_entry;
    struct open_request *items;
    size_t count, room, closed;
    uint64_t readings, busy_ns, forgot_ns;
    uint64_t idle_ns[IDLES]; /* readings of the tasks of which none ran */
    size_t idles;
};

/* Frames of a thread or a task, outermost first. */
struct frames {
    const struct walk_frame *items;
    size_t count;
};

enum { NOT_FOUND = -1 };

enum err_code guessed_requests_create(struct context_marks *marks,
                                      const struct guessed_process *process,
                                      struct guessed_requests **out)
{
    struct guessed_requests *const requests = calloc(1, sizeof *requests);
    if (!requests)
        return ERR_NOMEM;
    requests->marks = marks;
    requests->process = *process;
    idmap_init(&requests->by_entry);
    *out = requests;
    return ERR_OK;
}

void guessed_requests_destroy(struct guessed_requests *requests)
{
    if (!requests)
        return;
    idmap_deinit(&requests->by_entry);
    free(requests->items);
    free(requests);
}

/* Code objects keep their role, plus 1. */
static enum framework_role role_of(const struct guessed_requests *requests,
                                   const struct walk_frame *frame)
{
    struct code *const code = code_at(requests->process.codes, frame->code);
    const struct strtab *const strings = requests->process.codes->strings;
    size_t ignored;
    if (!code->framework)
        code->framework =
            (unsigned char)(1U + framework_role_of(strtab_get(strings, code->name),
                                                   strtab_get(strings, code->file), &ignored));
    return (enum framework_role)(code->framework - 1);
}

/* The outermost call that serves a request. */
static int find_entry(const struct guessed_requests *requests, struct frames frames)
{
    int entry = NOT_FOUND;
    for (size_t i = 0; i < frames.count; i++) {
        const enum framework_role role = role_of(requests, &frames.items[i]);
        if (role == FRAMEWORK_CONNECTION)
            return NOT_FOUND;
        if (entry == NOT_FOUND && framework_begins(role))
            entry = (int)i;
    }
    return entry;
}

/* The function of the program that the framework has called; NULL: it has called none. */
static const struct code *find_view(const struct guessed_requests *requests,
                                    struct frames frames)
{
    const struct strtab *const strings = requests->process.codes->strings;
    enum framework_role role = FRAMEWORK_NONE;
    size_t caller = frames.count, length = 0;
    while (caller-- > 0) {
        role = role_of(requests, &frames.items[caller]);
        if (framework_dispatches(role) || role == FRAMEWORK_PREPARE)
            break;
    }
    if (caller >= frames.count || role == FRAMEWORK_PREPARE)
        return NULL;
    const struct code *const code = code_at(requests->process.codes, frames.items[caller].code);
    const struct strtab_string folder = strtab_get(strings, code->file);
    (void)framework_role_of(strtab_get(strings, code->name), folder, &length);
    for (size_t i = caller + 1; i < frames.count; i++) {
        const struct code *const called =
            code_at(requests->process.codes, frames.items[i].code);
        const struct strtab_string name = strtab_get(strings, called->name);
        if (!called->is_shim &&
            framework_may_call(name, strtab_get(strings, called->file), folder.text, length))
            return called;
    }
    return NULL;
}

/* The request of a frame at an instant, or one that was found there shortly after: engines report samples later than tasks. */
static struct open_request *find_request(const struct guessed_requests *requests,
                                         remote_addr entry, uint64_t now_ns)
{
    const uint32_t hash = hash_mix(entry, 0);
    struct open_request *found = NULL, *later = NULL;
    for (const struct idmap_slot *at = idmap_first(&requests->by_entry, hash); at;
         at = idmap_next(&requests->by_entry, at)) {
        struct open_request *const request = &requests->items[at->id];
        if (request->entry != entry)
            continue;
        if (now_ns < request->from_ns)
            later = later && later->from_ns < request->from_ns ? later : request;
        else if (now_ns < request->to_ns && (!found || found->from_ns <= request->from_ns))
            found = request;
    }
    return found || !later || later->from_ns - now_ns > LATE_NS ? found : later;
}

static void close_request(struct guessed_requests *requests, struct open_request *request,
                          uint64_t now_ns)
{
    requests->closed += request->to_ns == UINT64_MAX;
    request->to_ns = now_ns;
}

/* Gives back the room of requests that have been over for a while. */
static void forget_closed(struct guessed_requests *requests, uint64_t now_ns)
{
    size_t kept = 0;
    idmap_clear(&requests->by_entry);
    requests->closed = 0;
    for (size_t i = 0; i < requests->count; i++) {
        const struct open_request *const request = &requests->items[i];
        const bool is_over = request->to_ns != UINT64_MAX;
        if ((is_over && request->to_ns + KEEP_NS < now_ns) ||
            idmap_add(&requests->by_entry, hash_mix(request->entry, 0), (uint32_t)kept, NULL))
            continue;
        requests->closed += is_over;
        requests->items[kept++] = *request;
    }
    requests->count = kept;
}

/* NULL: there are too many, or no memory. */
static struct open_request *begin_request(struct guessed_requests *requests,
                                          const struct walk_frame *frame, uint64_t now_ns)
{
    enum { FEW = 64 };
    if (requests->count >= FEW && requests->closed > requests->count / 2 &&
        now_ns > requests->forgot_ns + KEEP_NS) {
        requests->forgot_ns = now_ns;
        forget_closed(requests, now_ns);
    }
    if (requests->count >= GUESSED_REQUESTS_MAX ||
        !VEC_RESERVE(requests->items, requests->room, requests->count + 1) ||
        idmap_add(&requests->by_entry, hash_mix(frame->addr, 0), (uint32_t)requests->count,
                  NULL))
        return NULL;
    struct open_request *const request = &requests->items[requests->count++];
    *request =
        (struct open_request){ .entry = frame->addr,
                               .code = code_at(requests->process.codes, frame->code)->addr,
                               .first_instr = frame->instr,
                               .is_async = framework_is_async(role_of(requests, frame)),
                               .from_ns = now_ns,
                               .to_ns = UINT64_MAX,
                               .number = context_marks_number(requests->marks) };
    return request;
}

static void name_request(struct guessed_requests *requests, struct open_request *request,
                         const struct code *view)
{
    if (!view || request->named)
        return;
    request->named =
        context_marks_guessed(requests->marks, request->number,
                              strtab_get(requests->process.codes->strings, view->name).text);
}

/* Another task, or another coroutine of a task with the same memory, works for another request. */
static bool is_of_task(const struct open_request *request, const struct task *task)
{
    return !task || !request->task ||
           (request->task == task->addr && request->task_ns == task->seen_ns);
}

/* A coroutine that no task is known to work for is over if there was a reading since then of which no task ran: it would have waited in one. */
static bool was_away(const struct guessed_requests *requests,
                     const struct open_request *request, uint64_t now_ns)
{
    for (size_t i = 0; i < IDLES && request->is_async && !request->task; i++)
        if (request->seen_ns < requests->idle_ns[i] && requests->idle_ns[i] <= now_ns)
            return true;
    return false;
}

/* Is a call with this view function another one than that of the request?  is_whole: the frames are those of a task that waits, so a function
 * that they lack has returned. */
static bool has_other_view(const struct open_request *request, const struct code *view,
                           bool is_whole, uint64_t now_ns)
{
    if (!view)
        return is_whole && request->view && !request->task;
    return request->view ? request->view != view->addr : now_ns < request->from_ns;
}

/* The request of the call that is one of the frames.  task: that works for it; NULL: unknown, or none.  goes_on: what has been read of its
 * thread does not end it.  NULL: it is unknown. */
static struct open_request *request_at(struct guessed_requests *requests, struct frames frames,
                                       int entry, const struct task *task, bool goes_on,
                                       uint64_t now_ns)
{
    const struct walk_frame *const frame = &frames.items[entry];
    const struct code *const view = find_view(requests, frames);
    const bool is_whole = task && task->frame_count && !task->is_truncated;
    struct open_request *request = find_request(requests, frame->addr, now_ns);
    struct open_request *const before = request;
    uint64_t to_ns = UINT64_MAX;
    if (request && (!goes_on || !is_of_task(request, task) ||
                    (!is_whole && was_away(requests, request, now_ns)) ||
                    frame->instr < request->first_instr ||
                    request->code != code_at(requests->process.codes, frame->code)->addr ||
                    has_other_view(request, view, is_whole, now_ns))) {
        if (now_ns < before->from_ns)
            to_ns = before->from_ns;
        else
            close_request(requests, before, now_ns);
        request = NULL;
    }
    if (!request)
        request = begin_request(requests, frame, now_ns);
    if (!request)
        return NULL;
    if (to_ns != UINT64_MAX)
        close_request(requests, request, to_ns);
    request->seen_ns = now_ns;
    name_request(requests, request, view);
    if (view)
        request->view = view->addr;
    if (task) {
        request->task = task->addr;
        request->task_ns = task->seen_ns;
        request->awaits = task->is_running || task->is_moving ? 0 : task->awaits;
        request->reading = requests->readings;
    }
    return request;
}

static context_id context_of(struct guessed_requests *requests, struct open_request *request)
{
    if (!request->named && !request->bare)
        request->bare = context_marks_guessed(requests->marks, request->number, "");
    return request->named ? request->named : request->bare;
}

static context_id context_of_none(const struct guessed_requests *requests)
{
    struct context_value none = { .kind = CONTEXT_UNSET };
    return context_marks_find(requests->marks, &none);
}

static struct frames frames_of_task(const struct guessed_requests *requests,
                                    const struct task *task)
{
    return (struct frames){ requests->process.tasks->frames + task->first_frame,
                            task->frame_count };
}

/* The task or the nearest one that awaits it, directly or not, whose own frames serve a request.  NULL: there is none. */
static const struct task *find_serving_task(const struct guessed_requests *requests,
                                            const struct task *task, int *entry)
{
    const struct tasks *const all = requests->process.tasks;
    for (size_t i = 0; i < GUESSED_AWAITERS_MAX; i++) {
        *entry = find_entry(requests, frames_of_task(requests, task));
        if (*entry != NOT_FOUND)
            return task;
        if (!task->awaiter_count)
            return NULL;
        task = &all->table.items[all->table.awaiters[task->first_awaiter]];
    }
    return NULL;
}

/* The request of a task.  NULL: it is none, or *is_known is false. */
static struct open_request *request_of_task(struct guessed_requests *requests,
                                            const struct task *task, uint64_t now_ns,
                                            bool *is_known)
{
    int entry;
    const struct task *const serving = find_serving_task(requests, task, &entry);
    *is_known = true;
    if (!serving)
        return NULL;
    const struct frames frames = frames_of_task(requests, serving);
    struct open_request *const request =
        request_at(requests, frames, entry, serving, true, now_ns);
    *is_known = request != NULL;
    return request;
}

context_id guessed_requests_of_task(struct guessed_requests *requests, const struct task *task,
                                    uint64_t now_ns)
{
    bool is_known;
    struct open_request *const request = request_of_task(requests, task, now_ns, &is_known);
    return request ? context_of(requests, request) : is_known ? context_of_none(requests) : 0;
}

/* The innermost task that a stack runs; NULL: it runs none that was known then. */
static const struct task *find_running_task(const struct guessed_requests *requests,
                                            struct frames frames, uint64_t now_ns)
{
    const struct tasks *const all = requests->process.tasks;
    const struct task *task = NULL;
    for (size_t i = frames.count; i-- > 0 && !task && all;)
        task = frames.items[i].is_off_chunk ? tasks_of_frame(all, frames.items[i].addr) : NULL;
    return task && task->seen_ns < now_ns + LATE_NS ? task : NULL;
}

/* The request whose task awaits a future that is a variable of the frame.  NULL: there is none. */
static struct open_request *find_awaiting(const struct guessed_requests *requests,
                                          remote_addr worker)
{
    uint64_t variables[VARIABLES];
    const size_t count = requests->count < LINKS_MAX ? requests->count : LINKS_MAX;
    if (!count || memory_read(requests->process.memory,
                              worker + requests->process.layout->frame_variables, variables,
                              sizeof variables))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        struct open_request *const request = &requests->items[i];
        for (size_t k = 0; k < VARIABLES && request->to_ns == UINT64_MAX && request->awaits;
             k++)
            /* The lowest bits of a name of an object on the stack may say how it is counted. */
            if ((variables[k] & ~UINT64_C(7)) == request->awaits)
                return request;
    }
    return NULL;
}

/* The work of a thread whose own frames serve no request: a task, or what a task awaits. */
static context_id context_of_other(struct guessed_requests *requests,
                                   const struct thread *thread, uint64_t since_ns,
                                   uint64_t now_ns)
{
    struct sampled_thread *const sampled = sampled_thread_of(thread);
    const struct frames frames = { thread->stack.frames, thread->stack.count };
    const struct task *const task = find_running_task(requests, frames, now_ns);
    struct open_request *request = NULL;
    bool is_known = true;
    size_t worker = 0;
    if (task)
        request = request_of_task(requests, task, now_ns, &is_known);
    while (worker < frames.count &&
           role_of(requests, &frames.items[worker]) != FRAMEWORK_WORKER)
        worker++;
    const bool works = !task && worker + 1 < frames.count;
    sampled->worker_frame = worker < frames.count ? frames.items[worker].addr : 0;
    if (works)
        request = find_awaiting(requests, sampled->worker_frame);
    if (request) {
        requests->busy_ns = now_ns;
        request->seen_ns = now_ns;
        name_request(requests, request, works ? find_view(requests, frames) : NULL);
        return context_of(requests, request);
    }
    /* The request that it was found to work for while it waited there; it may be over by now. */
    if (works && since_ns <= sampled->worker_seen_ns && sampled->worker_seen_ns <= now_ns) {
        const struct code *const view = find_view(requests, frames);
        return context_marks_guessed(
            requests->marks, sampled->worker_number,
            view ? strtab_get(requests->process.codes->strings, view->name).text : "");
    }
    return is_known ? context_of_none(requests) : 0;
}

static void end_call(struct guessed_requests *requests, struct sampled_thread *sampled,
                     uint64_t now_ns)
{
    struct open_request *const request =
        sampled->request_entry ? find_request(requests, sampled->request_entry, now_ns) : NULL;
    if (request && !request->is_async)
        close_request(requests, request, now_ns);
    sampled->request_entry = 0;
}

context_id guessed_requests_of_thread(struct guessed_requests *requests,
                                      const struct thread *thread, uint64_t since_ns,
                                      uint64_t now_ns)
{
    struct sampled_thread *const sampled = sampled_thread_of(thread);
    const struct frames frames = { thread->stack.frames, thread->stack.count };
    const int entry = find_entry(requests, frames);
    if (entry == NOT_FOUND) {
        /* Frames that are missing may be those of a request. */
        if (thread->stack.certainty == STACK_TRUNCATED)
            return 0;
        end_call(requests, sampled, now_ns);
        return context_of_other(requests, thread, since_ns, now_ns);
    }
    const struct walk_frame *const frame = &frames.items[entry];
    const bool is_async = framework_is_async(role_of(requests, frame));
    const struct task *const task =
        is_async ? find_running_task(requests, frames, now_ns) : NULL;
    const bool goes_on = is_async || sampled->request_entry == frame->addr;
    if (sampled->request_entry != frame->addr)
        end_call(requests, sampled, now_ns);
    struct open_request *const request =
        request_at(requests, frames, entry, task, goes_on, now_ns);
    sampled->request_entry = request && !is_async ? frame->addr : 0;
    requests->busy_ns = now_ns;
    return request ? context_of(requests, request) : 0;
}

/* Does a coroutine that the last reading has not found in a waiting task go on? */
static bool goes_on_unseen(const struct guessed_requests *requests,
                           const struct open_request *request, uint64_t now_ns)
{
    const struct task_table *const table = &requests->process.tasks->table;
    const struct task *const task =
        request->task ? task_table_find(table, request->task) : NULL;
    const uint64_t age_ns = now_ns - request->seen_ns;
    if (table->below < TASK_TABLE_WHOLE || table->is_cut ||
        requests->process.tasks->covered < requests->process.tasks->wanted)
        return age_ns < FORGET_NS;
    if (task && is_of_task(request, task))
        return task->is_running || task->is_moving || !task->is_read || task->is_truncated;
    return !request->task && age_ns < GRACE_NS;
}

void guessed_requests_take_tasks(struct guessed_requests *requests, uint64_t now_ns)
{
    const struct tasks *const all = requests->process.tasks;
    bool ignored;
    bool runs = all->table.below < TASK_TABLE_WHOLE || all->table.is_cut;
    requests->readings++;
    for (size_t i = 0; i < all->table.count; i++) {
        const struct task *const task = &all->table.items[i];
        runs = runs || task->is_running || task->is_moving;
        if (task->frame_count)
            (void)request_of_task(requests, task, now_ns, &ignored);
    }
    if (!runs)
        requests->idle_ns[requests->idles++ % IDLES] = now_ns;
    for (size_t i = 0; i < requests->count; i++) {
        struct open_request *const request = &requests->items[i];
        if (request->to_ns == UINT64_MAX && request->is_async &&
            request->reading != requests->readings &&
            !goes_on_unseen(requests, request, now_ns))
            close_request(requests, request, now_ns);
    }
    for (size_t i = 0; all->threads && i < all->threads->count && i < WORKERS_MAX; i++) {
        struct sampled_thread *const sampled = sampled_thread_of(all->threads->items[i]);
        const struct open_request *const request =
            sampled && sampled->worker_frame ? find_awaiting(requests, sampled->worker_frame)
                                             : NULL;
        if (!request)
            continue;
        sampled->worker_number = request->number;
        sampled->worker_seen_ns = now_ns;
    }
}

bool guessed_requests_are_busy(const struct guessed_requests *requests, uint64_t now_ns)
{
    return requests->busy_ns && now_ns - requests->busy_ns < BUSY_NS;
}
