/*
 * fed_world - a kernel_feed whose engine is a fake one and whose target only notes what it is to count.
 *
 * It replaces kernel_reading.c and functions of python.c.
 *
 * Ownership: fed_create makes the world, of which there is one; fed_destroy frees what it holds.
 */
#ifndef TESTS_UNIT_SESSION_FED_WORLD_H
#define TESTS_UNIT_SESSION_FED_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/python.h"
#include "sampler/kernel/record.h"
#include "sampler/profile/quality.h"
#include "sampler/session/kernel/kernel_feed.h"
#include "sampler/session/kernel/kernel_reading.h"
#include "sampler/session/target.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/test.h"

enum {
    PID = 4711,
    TID = 4712,
    RATE_HZ = 1000,
    MAX_TAKEN = 64,
    FED_WINDOW = 0x2000,
    FED_TAIL = 0x3000
};

#define PERIOD_NS (NS_PER_S / RATE_HZ)

struct fed_world {
    struct kernel *kernel;
    struct kernel_feed *feed;
    struct session_options options;
    struct target target;
    struct quality quality;
};

extern uint64_t begin_ns; /* of the session */

/* A sample that the feed asked the target to count. */
struct fed_sample {
    struct kernel_instants instants;
    bool is_read;     /* from the process */
    bool is_repeated; /* from the thread, with the windows of a copy */
    uint64_t word;
    remote_addr tstate;
    uint64_t native_word; /* the first of the C stack; 0: no native stack */
    uint64_t tail_word;   /* the first of the tail; 0: it is not there */
    uint64_t tail_ns;     /* what the copy says of it */
    remote_addr tail_from;
    uint64_t base_word; /* the one at its base; 0: the stack does not get there */
};
extern struct fed_sample taken[MAX_TAKEN];
extern size_t taken_count, listings, checks;
/* Samples of unknown stacks: of a thread that ran, that waited, and that did one or the other. */
extern uint32_t unknown_running, unknown_waiting, unknown_either;
extern struct kernel_instants last_unknown;
extern uint64_t learnt_addr, learnt_word;

/* The target's answers. */
extern bool is_ready, is_failing; /* failing: what is taken cannot be read */
extern uint32_t interpreters;
extern uint64_t clears;
extern struct thread the_thread, the_visit;
extern const struct kernel_native the_native;

struct fed_world *fed_create(void);
/* Makes the world of a session that counts these. */
struct fed_world *fed_create_of(measure_set measures);
void fed_destroy(struct fed_world *world);

/* A record with one span: the thread's state, of one word. */
void fed_put(struct fed_world *world, struct kernel_record record, uint64_t word);
/* A record that repeats the stack of the record of that time; its one span is a window, of one word. */
void fed_put_same(struct fed_world *world, unsigned kind, uint64_t at_ns, uint64_t same_ns,
                  uint64_t word);
/* Puts a record with its whole stack: a window and the thread's state, of one word each. */
void fed_put_whole(struct fed_world *world, unsigned kind, uint64_t at_ns, uint64_t word);
/* Puts a record with a tail of one word. */
void fed_put_tail(struct fed_world *world, unsigned kind, uint64_t at_ns, uint64_t word);
/* Puts a record with the tail of the record of that time. */
void fed_put_same_tail(struct fed_world *world, unsigned kind, uint64_t at_ns,
                       uint64_t tail_ns);
/* A record with a native part too, whose C stack is one word; damaged: it is not whole. */
void fed_put_native(struct fed_world *world, unsigned kind, uint64_t at_ns, uint64_t word,
                    bool is_damaged);
void fed_leave(struct fed_world *world, uint64_t at_ns, unsigned flags);
void fed_come_back(struct fed_world *world, uint64_t left_ns, uint64_t at_ns);

void fed_drain(struct fed_world *world);
void fed_flush(struct fed_world *world, uint64_t at_ns);

#endif /* TESTS_UNIT_SESSION_FED_WORLD_H */
