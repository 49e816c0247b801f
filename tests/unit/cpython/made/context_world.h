/*
 * context_world - a simulated interpreter with a thread whose context has a variable with a value.
 *
 * Ownership: context_world_end frees what context_world_begin makes.
 */
#ifndef TESTS_UNIT_CPYTHON_MADE_CONTEXT_WORLD_H
#define TESTS_UNIT_CPYTHON_MADE_CONTEXT_WORLD_H

#include "sampler/base/clock.h"
#include "sampler/cpython/contexts/contexts.h"
#include "sampler/cpython/threads/threads.h"
#include "tests/unit/cpython/made/fake_python.h"

enum { CONTEXT_WORLD_WORD = 8 };

#define CONTEXT_WORLD_NAME   "request_id"
#define CONTEXT_WORLD_NOW_NS (1000 * NS_PER_S)

struct context_world {
    struct fake_python python;
    struct fake_thread thread;
    struct thread_list list;
    struct contexts *contexts;
    remote_addr types[5];
    remote_addr map, bitmap, array, collision; /* types */
    remote_addr context, variable;
    uint64_t hash;
};

struct context_world *context_world_begin(unsigned minor);
void context_world_end(struct context_world *world);
/* Calls a test with a world of every version. */
void context_world_in_every_version(void (*test)(struct context_world *world));

struct layout *context_world_layout(struct context_world *world);
void context_world_put(struct context_world *world, remote_addr addr, uint64_t value);

/* Makes an object of this type with words behind its head. */
remote_addr context_world_make(struct context_world *world, remote_addr type,
                               const uint64_t *words, size_t count);
remote_addr context_world_type(struct context_world *world, const char *name, uint64_t flags);
remote_addr context_world_variable(struct context_world *world, const char *name,
                                   uint64_t hash);
remote_addr context_world_str(struct context_world *world, const char *text);
remote_addr context_world_int(struct context_world *world, bool is_negative,
                              const uint32_t *digits, unsigned count);
/* Makes a bitmap or a collision node. */
remote_addr context_world_node(struct context_world *world, remote_addr type, uint32_t bits,
                               const uint64_t *items, size_t count);
remote_addr context_world_map(struct context_world *world, remote_addr root, uint64_t count);
/* The branch of the variable's hash at a level. */
uint32_t context_world_branch(const struct context_world *world, int level);
/* Makes a root that has the variable alone. */
remote_addr context_world_root(struct context_world *world, remote_addr value);

void context_world_set_map(struct context_world *world, remote_addr map);
void context_world_set_value(struct context_world *world, remote_addr value);
/* The place of the context's address in the thread state. */
remote_addr context_world_place(struct context_world *world);

/* Reads the value as a tick does: the thread state first. */
struct context_value *context_world_read_at(struct context_world *world, uint64_t now_ns);
struct context_value *context_world_read(struct context_world *world);
void context_world_expect(struct context_world *world, const char *text);
void context_world_expect_kind(struct context_world *world, enum context_kind kind);

#endif /* TESTS_UNIT_CPYTHON_MADE_CONTEXT_WORLD_H */
