#include "sampler/foreign/call_graph.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"

enum { NO_STACK = -1, MAX_PARTS = 1 << 18, MAX_STEPS = 1 << 22 };
/* Part of all time below which a function is not shown below every caller's caller. */
static const double LEAST_PART = 1e-5;

struct call_graph_function {
    struct call_times times;  /* of all calls */
    struct call_times called; /* the sums of its callers' */
    uint64_t self_ns, given_ns;
    size_t first_call, call_count; /* those that it makes */
    size_t stack_count;
    double weight;  /* of all its stacks */
    double outside; /* own time of calls by no function of the graph */
    double reached; /* own time that was given to stacks */
    node_id most_node;
    uint64_t most_ns; /* the largest part of its own time, and where it is */
};

struct call_graph_call {
    frame_id caller, callee;
    struct call_times times;
};

/* A function below the stack of its caller. */
struct call_graph_stack {
    frame_id function;
    node_id node;
    int64_t caller; /* NO_STACK: it is the outermost one */
    double weight;  /* the total time of the function that is thought to be here */
};

void call_graph_deinit(struct call_graph *graph)
{
    free(graph->functions);
    free(graph->calls);
    free(graph->stacks);
    *graph = (struct call_graph){ .steps = 0 };
}

static bool reserve_function(struct call_graph *graph, frame_id function)
{
    const size_t count = (size_t)function + 1;
    if (!VEC_RESERVE(graph->functions, graph->function_room, count))
        return false;
    if (count > graph->function_count) {
        memset(graph->functions + graph->function_count, 0,
               (count - graph->function_count) * sizeof *graph->functions);
        graph->function_count = count;
    }
    return true;
}

static struct call_times without_debts(struct call_times times)
{
    return (struct call_times){ fmax(times.calls, 0), fmax(times.self, 0),
                                fmax(times.total, 0) };
}

enum err_code call_graph_function(struct call_graph *graph, frame_id function,
                                  struct call_times times, struct err *err)
{
    if (!reserve_function(graph, function))
        return err_nomem(err);
    struct call_graph_function *const row = &graph->functions[function];
    row->times = without_debts(times);
    row->self_ns = (uint64_t)llround(row->times.self * 1e9);
    return ERR_OK;
}

enum err_code call_graph_call(struct call_graph *graph, frame_id caller, frame_id callee,
                              struct call_times times, struct err *err)
{
    if (graph->call_count == CALL_GRAPH_MAX_CALLS)
        return err_set(err, ERR_LIMIT, "it has more than %d pairs of caller and callee",
                       CALL_GRAPH_MAX_CALLS);
    if (!reserve_function(graph, caller > callee ? caller : callee) ||
        !VEC_RESERVE(graph->calls, graph->call_room, graph->call_count + 1))
        return err_nomem(err);
    graph->calls[graph->call_count++] =
        (struct call_graph_call){ caller, callee, without_debts(times) };
    return ERR_OK;
}

static int compare_calls(const void *left, const void *right)
{
    const struct call_graph_call *const a = left, *const b = right;
    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    return (a->callee > b->callee) - (a->callee < b->callee);
}

/* Sorts calls by their callers, and finds what came from outside of the graph. */
static void link_calls(struct call_graph *graph)
{
    if (graph->call_count > 0)
        qsort(graph->calls, graph->call_count, sizeof *graph->calls, compare_calls);
    for (size_t i = graph->call_count; i-- > 0;) {
        const struct call_graph_call *const call = &graph->calls[i];
        struct call_times *const called = &graph->functions[call->callee].called;
        graph->functions[call->caller].first_call = i;
        graph->functions[call->caller].call_count++;
        called->calls += call->times.calls;
        called->self += call->times.self;
        /* The total time of a function has that of its own recursion once. */
        called->total += call->caller != call->callee ? call->times.total : 0;
    }
}

static enum err_code add_stack(struct call_graph *graph, struct gather *gather,
                               frame_id function, int64_t caller, double weight,
                               struct err *err)
{
    struct call_graph_function *const row = &graph->functions[function];
    const node_id parent = caller == NO_STACK ? 0 : graph->stacks[caller].node;
    struct call_graph_stack stack = { .function = function,
                                      .caller = caller,
                                      .weight = weight };
    if (!VEC_RESERVE(graph->stacks, graph->stack_room, graph->stack_count + 1))
        return err_nomem(err);
    const enum err_code rc = gather_child(gather, parent, function, &stack.node, err);
    row->weight += weight;
    graph->parts += row->call_count;
    if (row->stack_count++ == 0)
        row->most_node = stack.node;
    if (caller == NO_STACK)
        row->outside = fmax(row->times.self - row->called.self, 0);
    graph->stacks[graph->stack_count++] = stack;
    return rc;
}

static bool is_within(struct call_graph *graph, int64_t stack, frame_id function)
{
    while (stack != NO_STACK && graph->stacks[stack].function != function) {
        /* The search ends here, as if the function were there. */
        if (graph->steps >= MAX_STEPS)
            return true;
        graph->steps++;
        stack = graph->stacks[stack].caller;
    }
    return stack != NO_STACK;
}

/* Puts what the functions of stacks called below them, from one of the stacks on.  Each function gets one stack at least. */
static enum err_code expand_stacks(struct call_graph *graph, struct gather *gather,
                                   size_t *first, double least, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (; *first < graph->stack_count && !rc; ++*first) {
        const struct call_graph_stack stack = graph->stacks[*first];
        const struct call_graph_function *const row = &graph->functions[stack.function];
        for (size_t i = 0; i < row->call_count && !rc; i++) {
            const struct call_graph_call *const call = &graph->calls[row->first_call + i];
            const struct call_graph_function *const callee = &graph->functions[call->callee];
            const double total = row->times.total;
            const double weight =
                total > 0 ? stack.weight * fmin(call->times.total / total, 1) : 0;
            const bool is_wanted = weight >= least &&
                                   graph->stack_count < CALL_GRAPH_MAX_STACKS &&
                                   graph->parts + callee->call_count < MAX_PARTS;
            if (callee->stack_count == 0 ||
                (is_wanted && !is_within(graph, (int64_t)*first, call->callee)))
                rc = add_stack(graph, gather, call->callee, (int64_t)*first, weight, err);
        }
    }
    return rc;
}

/* Functions that were called from outside begin stacks; then those that no stack has, which are of a cycle without a beginning. */
static enum err_code find_stacks(struct call_graph *graph, struct gather *gather,
                                 struct err *err)
{
    double all = 0;
    size_t first = 0;
    enum err_code rc = ERR_OK;
    for (int turn = 0; turn < 2; turn++) {
        for (frame_id i = 0; i < graph->function_count && !rc; i++) {
            const struct call_graph_function *const row = &graph->functions[i];
            const bool is_there =
                row->times.calls > 0 || row->self_ns > 0 || row->call_count > 0;
            const bool is_outermost =
                turn > 0 || row->called.calls <= 0 || row->times.calls > row->called.calls;
            if (!is_there || !is_outermost || row->stack_count > 0)
                continue;
            const double weight = fmax(row->times.total - row->called.total, row->times.self);
            all += weight;
            rc = add_stack(graph, gather, i, NO_STACK, weight, err);
            if (!rc && turn > 0)
                rc = expand_stacks(graph, gather, &first, all * LEAST_PART, err);
        }
        if (!rc)
            rc = expand_stacks(graph, gather, &first, all * LEAST_PART, err);
    }
    return rc;
}

/* Gives a stack its part of the own time of a function; parts of whole nanoseconds add up to the time. */
static enum err_code give_time(struct call_graph *graph, struct gather *gather,
                               thread_id thread, frame_id function, node_id node, double part,
                               struct err *err)
{
    struct call_graph_function *const row = &graph->functions[function];
    const double all = row->called.self + row->outside;
    if (part <= 0 || all <= 0)
        return ERR_OK;
    row->reached += part;
    uint64_t to_ns = (uint64_t)llround((double)row->self_ns * fmin(row->reached / all, 1));
    to_ns = to_ns > row->self_ns ? row->self_ns : to_ns;
    const uint64_t ns = to_ns > row->given_ns ? to_ns - row->given_ns : 0;
    row->given_ns += ns;
    if (ns > row->most_ns) {
        row->most_ns = ns;
        row->most_node = node;
    }
    return gather_sample(gather, thread, STATE_ALL_UNKNOWN, node, ns, 0, err);
}

enum err_code call_graph_gather(struct call_graph *graph, struct gather *gather,
                                thread_id thread, struct err *err)
{
    link_calls(graph);
    enum err_code rc = find_stacks(graph, gather, err);
    for (size_t i = 0; i < graph->stack_count && !rc; i++) {
        const struct call_graph_stack *const stack = &graph->stacks[i];
        const struct call_graph_function *const row = &graph->functions[stack->function];
        const double part =
            row->weight > 0 ? stack->weight / row->weight : 1 / (double)row->stack_count;
        if (stack->caller == NO_STACK)
            rc = give_time(graph, gather, thread, stack->function, stack->node, row->outside,
                           err);
        for (size_t j = 0; j < row->call_count && !rc; j++) {
            const struct call_graph_call *const call = &graph->calls[row->first_call + j];
            node_id node = 0;
            if (call->times.self <= 0)
                continue;
            rc = gather_child(gather, stack->node, call->callee, &node, err);
            if (!rc)
                rc = give_time(graph, gather, thread, call->callee, node,
                               call->times.self * part, err);
        }
    }
    /* The rest: of rounding, and of a function whose callers have none of its time. */
    for (size_t i = 0; i < graph->function_count && !rc; i++) {
        const struct call_graph_function *const row = &graph->functions[i];
        rc = gather_sample(gather, thread, STATE_ALL_UNKNOWN, row->most_node,
                           row->self_ns - row->given_ns, 0, err);
    }
    return rc;
}
