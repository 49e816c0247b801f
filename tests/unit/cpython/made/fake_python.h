/*
 * fake_python - simulates the memory of an interpreter; a test controls what it runs.
 *
 * It writes a frame, its caller's saved stack and the thread's pointer in the order of CPython's minor
 * version, so a test can read the memory between any two steps.  Layouts of 3.13 and later come from
 * real tables (offsets.h), those of 3.11 and 3.12 from ours.
 *
 * Ownership: the caller's storage.
 */
#ifndef TESTS_UNIT_CPYTHON_MADE_FAKE_PYTHON_H
#define TESTS_UNIT_CPYTHON_MADE_FAKE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/cpython/layout/layout.h"
#include "sampler/cpython/runtime/runtime.h"
#include "tests/support/fake_memory.h"

enum {
    FAKE_OLDEST_MINOR = 11,
    FAKE_NEWEST_MINOR = 15,
    FAKE_CHUNK_BYTES = 16384,
    FAKE_MAX_DEPTH = 4096,
    FAKE_FIRST_TRACEABLE = 2, /* the default */
    /* These units of a code object are special instructions; the others do nothing. */
    FAKE_RETURN_AT = 11,
    FAKE_YIELD_AT,
    FAKE_FOR_ITER_AT,
    FAKE_CALL_AT = 15, /* the last one: cache units follow these two */
};

struct fake_python {
    struct fake_memory memory;
    struct runtime runtime; /* and the layout */
    unsigned minor;
    remote_addr next; /* address of the next object */
    remote_addr code_type;
    remote_addr newest_interp;
    uint32_t code_version;
};

void fake_python_init(struct fake_python *python, unsigned minor);
void fake_python_deinit(struct fake_python *python);
/* Separate zeroed memory, 16-aligned; nothing is mapped on either side of it. */
remote_addr fake_alloc(struct fake_python *python, size_t bytes);

enum fake_kind { FAKE_STR_1BYTE = 1, FAKE_STR_2BYTE = 2, FAKE_STR_4BYTE = 4 };

remote_addr fake_str(struct fake_python *python, const char *ascii);
/* Compact, not ASCII; `kind` is the width of `characters`. */
remote_addr fake_wide_str(struct fake_python *python, enum fake_kind kind,
                          const void *characters, size_t count);
/* The bit-field `state` of a str. */
uint32_t fake_str_state(unsigned kind, bool compact, bool ascii);
remote_addr fake_bytes(struct fake_python *python, const void *data, size_t count);
remote_addr fake_type(struct fake_python *python, const char *name);

struct fake_code {
    const char *name;   /* NULL: "f" */
    const char *file;   /* NULL: "f.py" */
    int32_t first_line; /* 0: 1 */
    uint32_t units;     /* 0: 16 */
    uint32_t words;     /* of locals and value stack; 0: 4 */
    const void *table;  /* NULL: each instruction has another line */
    size_t table_bytes;
};

remote_addr fake_code(struct fake_python *python, const struct fake_code *code);
/* A function with a name and defaults. */
remote_addr fake_function(struct fake_python *python, const char *name);
/* Puts another code object at an address, as the allocator does after one is freed. */
void fake_code_replace(struct fake_python *python, remote_addr addr,
                       const struct fake_code *code);
uint32_t fake_code_words(const struct fake_python *python, remote_addr code);
/* The address of an instruction. */
remote_addr fake_instr(const struct fake_python *python, remote_addr code, uint32_t unit);

/* Adds an interpreter at the head of the list; `id` 0 is the main one. */
remote_addr fake_interp(struct fake_python *python, uint64_t id);

enum fake_call {
    FAKE_CALL,        /* Python calls Python */
    FAKE_CALL_FROM_C, /* through an entry frame, or marked as one in 3.11 */
    FAKE_RESUME,      /* a generator's frame, in the heap */
    FAKE_RESUME_FROM_C,
};

struct fake_thread {
    struct fake_python *python;
    remote_addr addr, interp;
    remote_addr c_stack, c_stack_end;
    size_t depth;
    struct fake_record {
        remote_addr frame, caller;
        remote_addr cframe, c_stack; /* before the call */
        enum fake_call how;
    } records[FAKE_MAX_DEPTH];
};

/* Adds a thread at the head of the interpreter's list, with an empty stack and no chunk. */
void fake_thread_init(struct fake_thread *thread, struct fake_python *python,
                      remote_addr interp, uint64_t ident, int32_t tid);
/* Removes it from the list and unmaps its state. */
void fake_thread_end(struct fake_thread *thread);

/* The steps of a call.  fake_push and fake_pop do all of them. */
remote_addr fake_push(struct fake_thread *thread, remote_addr code, enum fake_call how);
void fake_pop(struct fake_thread *thread);

/* Makes room for the frame; its bytes are those that were there before. */
remote_addr fake_push_room(struct fake_thread *thread, remote_addr code, enum fake_call how);
/* Fills it in; it has not begun. */
void fake_push_fill(struct fake_thread *thread, remote_addr frame, remote_addr code);
/* Makes it the current frame, and saves the caller's stack. */
void fake_push_enter(struct fake_thread *thread, remote_addr frame);
/* Its first traceable instruction. */
void fake_push_begin(struct fake_thread *thread, remote_addr frame, remote_addr code);
/* Makes the caller the current frame again. */
remote_addr fake_pop_leave(struct fake_thread *thread);
/* Clears the frame, as far as the version does that, and releases its room. */
void fake_pop_clear(struct fake_thread *thread, remote_addr frame);

/* Moves a frame to an instruction of its code. */
void fake_go_to(struct fake_thread *thread, remote_addr frame, uint32_t unit);
remote_addr fake_current(const struct fake_thread *thread);
void fake_set_current(struct fake_thread *thread, remote_addr frame);

#endif /* TESTS_UNIT_CPYTHON_MADE_FAKE_PYTHON_H */
