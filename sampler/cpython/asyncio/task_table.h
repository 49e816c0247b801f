/*
 * task_table - the asyncio tasks of a reading, with their names, and which of them awaits which.
 *
 * The table remembers the tasks of the reading before, so that a name is read once, and the caller can
 * see since when a task waits.
 *
 * Ownership: the caller's storage; task_table_deinit accepts a zeroed one.  Names are interned into
 * the caller's strtab.
 * Threads: none.
 * The table keeps a part of more than TASKS_MAX tasks, and the number of all.  The part is chosen at random by
 * address, so it is nearly the same in TASK_TABLE_SAME readings, and then another one.
 *
 * Limits: TASKS_MAX tasks and TASKS_MAX_EDGES edges; is_cut says that there may be more that no other stands for.
 */
#ifndef SAMPLER_CPYTHON_ASYNCIO_TASK_TABLE_H
#define SAMPLER_CPYTHON_ASYNCIO_TASK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"
#include "sampler/base/random.h"
#include "sampler/base/strtab.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/process/memory.h"

enum { TASKS_MAX = 1 << 16, TASKS_MAX_EDGES = 1 << 17, TASK_TABLE_SAME = 16 };

struct task {
    remote_addr addr, coroutine, name_object;
    remote_addr frame;  /* its outermost frame */
    remote_addr awaits; /* a future, a task, or another object; 0: unknown */
    uint64_t ident;     /* of the thread that runs its event loop; 0: unknown */
    str_id name;        /* 0: the program has not named it */
    uint64_t number;    /* of an unnamed task: 3 for "Task-3"; 0: unknown */
    bool is_running;
    bool is_moving;    /* changed while it was read, and has no frames */
    bool is_awaiter;   /* awaits a task of the table */
    bool is_in_circle; /* each task that it awaits, directly or not, awaits it in turn */
    bool is_read;      /* its frames were asked for */
    bool is_truncated; /* its innermost frames are missing */
    uint32_t times; /* tasks, itself included, that it stands for; 0: another stands for it */
    uint32_t first_frame, frame_count;
    uint32_t depth; /* frames, when they were last read */
    uint32_t first_awaiter, awaiter_count;
    uint64_t seen_ns;  /* the first reading that found it */
    uint64_t since_ns; /* the first reading that found it where it still waits */
    uint32_t context;  /* for the caller, read at context_ns; both stay likewise */
    uint64_t context_ns;
    uint32_t tag; /* for the caller; stays while readings find the task with this name */
};

struct task_edge {
    uint32_t task, awaiter;
};

struct task_table {
    struct memory *memory;
    const struct layout *layout;
    struct strtab *strings;
    struct object_bytes scratch;
    struct task *items, *previous; /* of this reading, and of the one before it */
    size_t count;
    struct task_edge *edges;
    size_t edge_count;
    uint32_t *awaiters;
    remote_addr *members; /* scratch for TASKS_MAX members of a set */
    struct idmap by_addr, previous_by_addr;
    uint64_t read_ns;
    bool is_cut;
    /* Tasks are chosen whose address has a hash below `below`, by a secret number. */
    struct random random;
    uint64_t secret, below, readings;
    bool
        checks_names; /* set by the caller: reads all names again: a task may have the memory of one before it */
    uint64_t found, chosen; /* how many there were, and how many of them are chosen */
};

/* All are chosen. */
#define TASK_TABLE_WHOLE (UINT64_C(1) << 32)

/* The arguments must outlive the table. */
void task_table_init(struct task_table *table, struct memory *memory,
                     const struct layout *layout, struct strtab *strings);
void task_table_deinit(struct task_table *table);
/* Forgets all tasks. */
void task_table_clear(struct task_table *table);

/* Begins a reading: its tasks become the previous ones. */
MUST_CHECK enum err_code task_table_begin(struct task_table *table, uint64_t now_ns);
/* Counts a task that has been found, and says whether it is chosen.  The choice may get narrower then, and forget tasks of the
 * table. */
bool task_table_wants(struct task_table *table, remote_addr addr);
/* Says of an address that stands for a task whether it is chosen, without counting it. */
static inline bool task_table_chooses(const struct task_table *table, remote_addr addr)
{
    return hash_mix(addr, table->secret) < table->below;
}
/* How many tasks each one of the table stands for. */
static inline double task_table_scale(const struct task_table *table)
{
    return table->chosen ? (double)table->found / (double)table->chosen : 1;
}
/* Adds a task of which addr, coroutine, name_object and ident are set.  *out NULL: the table has it
 * already, or is full. */
MUST_CHECK enum err_code task_table_add(struct task_table *table, const struct task *found,
                                        struct task **out);
MUST_CHECK enum err_code task_table_add_edge(struct task_table *table, const struct task *task,
                                             const struct task *awaiter);
/* Sorts the edges by task; each task knows its range of awaiters, and whether it waits in a circle. */
MUST_CHECK enum err_code task_table_sort_edges(struct task_table *table);

/* The task at addr, of this reading or of the one before it; NULL: none. */
struct task *task_table_find(const struct task_table *table, remote_addr addr);
const struct task *task_table_find_previous(const struct task_table *table, remote_addr addr);

#endif /* SAMPLER_CPYTHON_ASYNCIO_TASK_TABLE_H */
