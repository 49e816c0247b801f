/*
 * fake_session - session.h without a target: a synthetic profile, and functions that end it.
 *
 * Linked before the library of sampler/, it replaces session.c, so that tests of server and commands need
 * neither another process nor the right to read one.
 *
 * The pid decides what session_start does (enum fake_pid).  A still session changes only through
 * the functions below; a live one adds samples every few milliseconds from a thread of its own
 * until its duration is over, it is stopped, or the process (if there is one) has ended.
 *
 * Threads: the functions below may not be used on a live session.
 */
#ifndef TESTS_SUPPORT_FAKE_SAMPLER_H
#define TESTS_SUPPORT_FAKE_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/profile/state.h"

struct session;

enum fake_pid {
    FAKE_PID_EMPTY = 2000000001,  /* still, nothing sampled yet */
    FAKE_PID_STILL = 2000000002,  /* still, with fake_stacks */
    FAKE_PID_LIVE = 2000000003,   /* live */
    FAKE_PID_DENIED = 2000000004, /* ERR_PERM */
    FAKE_PID_SHELL = 2000000005,  /* ERR_NOT_PYTHON */
    FAKE_PID_NEWER = 2000000006,  /* live, of an unknown version */
    FAKE_PID_GROWS = 2000000007,  /* still, with fake_stacks, and with page faults */
    /* A pid that exists: live until it ends.  Any other: ERR_GONE. */
};

struct fake_frame {
    const char *file;
    const char *name;
    int32_t first_line, line;
};

/* Frames run from outermost to innermost. */
void fake_session_add(struct session *session, int32_t tid, const struct fake_frame *frames,
                      size_t depth, state_bits state, uint32_t count);
/* Publishes what was added; each call makes one second of time and one generation. */
void fake_session_seal(struct session *session);
void fake_session_end(struct session *session, const char *reason);

/* The share that was set last; also of a live one. */
double fake_session_max_cpu(struct session *session);

/* The session that FAKE_PID_STILL starts with: two threads, a shared prefix, a synthetic leaf.
 * The first thread holds the GIL in 50 samples; in 30 it is on a CPU without it, in 15 it waits for it and
 * handles an exception; for the 5 of the other one the CPU is unknown. Whether C code runs is
 * always unknown. */
enum { FAKE_STACK_COUNT = 4, FAKE_TOTAL = 100 };

/* The page faults of FAKE_PID_GROWS: in /srv/grow.py, called by main of /srv/app.py; pages of 4096 bytes. */
enum { FAKE_PAGES = 12000, FAKE_RETURNED_PAGES = 2000, FAKE_PAGE_BYTES = 4096 };

#endif /* TESTS_SUPPORT_FAKE_SAMPLER_H */
