/*
 * thread_world - a simulated interpreter with threads, and the list that is read of them.
 *
 * Ownership: the caller's storage.
 * Limits: THREAD_WORLD_STATES.
 */
#ifndef TESTS_UNIT_CPYTHON_MADE_THREAD_WORLD_H
#define TESTS_UNIT_CPYTHON_MADE_THREAD_WORLD_H

#include "sampler/cpython/threads/threads.h"
#include "tests/unit/cpython/made/fake_python.h"

enum { THREAD_WORLD_STATES = 8 };

struct thread_world {
    struct fake_python python;
    remote_addr interp;
    struct fake_thread *states[THREAD_WORLD_STATES];
    size_t count;
    struct thread_list list;
};

void thread_world_init(struct thread_world *world, unsigned minor);
void thread_world_deinit(struct thread_world *world);

/* Makes a world in the heap, with one thread. */
struct thread_world *thread_world_create(unsigned minor);
void thread_world_destroy(struct thread_world *world);

struct fake_thread *thread_world_add(struct thread_world *world, remote_addr interp,
                                     remote_addr pthread, int32_t tid);
/* Adds a thread as thread_world_add does, with another pthread_t and id each time. */
struct fake_thread *thread_world_add_next(struct thread_world *world, remote_addr interp);
void thread_world_walk(struct thread_world *world);
/* Is the list as it was when it was walked? */
bool thread_world_is_same(struct thread_world *world);
/* The thread of the list that has this state; NULL: none. */
struct thread *thread_world_find(const struct thread_world *world,
                                 const struct fake_thread *state);

#endif /* TESTS_UNIT_CPYTHON_MADE_THREAD_WORLD_H */
