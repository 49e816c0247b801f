/*
 * wait_site - what Python code says about why its thread waits.
 *
 * The innermost frames of a stack are of modules that wait for others, such as threading and queue; behind
 * them is the code that made them wait.  Where one system call serves many purposes, these names decide.
 *
 * A thread is a worker without work if the function that it was started with waits itself for a queue or a condition:
 * that is the head of a worker's loop, whoever wrote it.  From 3.11 on the loop itself is seen, too (loops.h): of any
 * thread, the outermost loop may wait at its head, itself or in a function that it calls for that.  Workers that wait
 * deeper in their code have rows.
 *
 * Threads: none.
 * Limits: WAIT_SITE_MAX_FRAMES innermost frames are read.
 */
#ifndef SAMPLER_SESSION_FOLD_WAIT_SITE_H
#define SAMPLER_SESSION_FOLD_WAIT_SITE_H

#include <stdbool.h>

#include "sampler/base/three_valued.h"

struct code_table;
struct leaf;
struct stack;
struct strtab;

enum { WAIT_SITE_MAX_FRAMES = 12 };

struct wait_site {
    bool is_known;   /* the innermost frames are */
    bool is_native;  /* there are none: C code has the thread for itself */
    bool condition;  /* waits for a condition, a queue or the end of a thread */
    bool joins;      /* for the end of a thread, or for what the program's threads do */
    bool event;      /* for an event, which may be a sleep that can be ended */
    bool gets;       /* for a condition alone, or for the next item of a queue */
    bool at_head;    /* the thread's own function waits itself, or its loop at its head */
    bool is_main;    /* the thread is the first one of its process */
    bool lock;       /* acquires a lock */
    bool selector;   /* waits by the module selectors */
    bool child;      /* of subprocess */
    bool connection; /* of multiprocessing */
    bool worker;     /* a worker of a pool, between two jobs */
    enum three_valued in_native; /* is a C function called? */
};

/* The kind of a function of this name in this file; for a cache. */
unsigned wait_site_of_code(const char *name, const char *file);
/* From the innermost frame on.  strings: of the names.  is_main: as in the result.  may_lock: the thread may wait for a lock; if nothing else
 * says so, this reads the instruction that it executes. */
struct wait_site wait_site_of(const struct stack *stack, const struct leaf *leaf,
                              const struct code_table *codes, const struct strtab *strings,
                              bool is_main, bool may_lock);

#endif /* SAMPLER_SESSION_FOLD_WAIT_SITE_H */
