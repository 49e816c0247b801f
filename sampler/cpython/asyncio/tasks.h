/*
 * tasks - the asyncio tasks of a process, where each of them waits, and which tasks await it.
 *
 * A reading takes time, so tasks may move during it.  All bytes are read again at the end; a task that
 * has moved is marked and has no frames.
 *
 * Only tasks of type _asyncio.Task are found, not those of trio, curio or classes written in Python.
 *
 * Ownership: the caller's storage; tasks_deinit accepts a zeroed one.  Names are interned into the
 * caller's strtab.
 * Threads: none.
 * A reading of more than TASKS_MAX_READ tasks follows the frames of those that await others, and of a random part
 * of the rest, which stands for all of the rest; also for tasks that have no room in the table.
 *
 * Limits: TASKS_MAX_READ tasks with frames, TASKS_MAX_FRAMES frames of all tasks; table.is_cut says that a
 * task lacks what no other stands for.
 */
#ifndef SAMPLER_CPYTHON_ASYNCIO_TASKS_H
#define SAMPLER_CPYTHON_ASYNCIO_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/base/random.h"
#include "sampler/base/strtab.h"
#include "sampler/cpython/asyncio/coroutine.h"
#include "sampler/cpython/asyncio/task_lists.h"
#include "sampler/cpython/asyncio/task_sets.h"
#include "sampler/cpython/asyncio/task_table.h"
#include "sampler/cpython/threads/threads.h"

enum { TASKS_MAX_READ = 1 << 13, TASKS_MAX_FRAMES = 1 << 17 };

struct tasks {
    const struct layout *layout;
    const struct thread_list *threads;
    struct predicted_reads reads;
    struct coroutines coroutines;
    struct coroutine_chain chain; /* scratch */
    struct task_table table;
    struct task_lists lists; /* 3.14 and later */
    struct task_sets sets;   /* until 3.13 */
    bool is_found;           /* lists or sets */
    uint64_t searched_ns;
    struct walk_frame *frames;
    size_t frame_count;
    struct idmap by_frame;
    struct random random;
    /* Tasks that await no other, and how many of them those that have been read stand for. */
    uint64_t wanted, covered;
    uint64_t cost_ns; /* CPU time of the last reading */
};

/* The arguments must outlive the tasks. */
void tasks_init(struct tasks *tasks, int pid, struct memory *memory,
                const struct runtime *runtime, const struct thread_list *threads,
                struct code_table *codes, struct strtab *strings);
void tasks_deinit(struct tasks *tasks);
/* Forgets all tasks; needed when the code table has been cleared. */
void tasks_clear(struct tasks *tasks);

/* Reads all tasks.  A process that does not use asyncio has none. */
MUST_CHECK enum err_code tasks_read(struct tasks *tasks, uint64_t now_ns);

/* The place of the coroutine in a task; known once tasks have been read. */
uint32_t tasks_coroutine_place(const struct tasks *tasks);

/* The thread that runs the task's event loop; NULL: unknown. */
const struct thread *tasks_thread(const struct tasks *tasks, const struct task *task);

/* The task whose outermost frame is at `frame`; NULL: none. */
struct task *tasks_of_frame(const struct tasks *tasks, remote_addr frame);

#endif /* SAMPLER_CPYTHON_ASYNCIO_TASKS_H */
