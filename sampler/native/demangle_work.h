/*
 * demangle_work - shared by the files of demangle: the work of one name, and the text that it becomes.
 *
 * Names are hostile: a few hundred bytes may stand for a text of any length, and for work without end that writes
 * nothing.  So the work is counted.  Every call of a function that others may repeat, and every piece of text, takes
 * steps of one budget, and calls nest to a bounded depth.  Once the steps are spent, nothing more is read or written.
 *
 * Ownership: the bytes are the caller's.
 * Threads: one.
 * Limits: DEMANGLE_MAX_STEPS, DEMANGLE_MAX_DEPTH, DEMANGLE_MAX_OUTPUT.
 */
#ifndef SAMPLER_NATIVE_DEMANGLE_WORK_H
#define SAMPLER_NATIVE_DEMANGLE_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DEMANGLE_MAX_INPUT = 4095,
    DEMANGLE_MAX_OUTPUT = 64 << 10,
    DEMANGLE_MAX_STEPS = 1 << 16, /* real names take up to 1 << 13 */
    DEMANGLE_MAX_DEPTH = 512,
};

struct demangle_work {
    char *text; /* DEMANGLE_MAX_OUTPUT + 1 bytes */
    size_t length;
    uint32_t steps; /* taken so far */
    uint32_t depth;
    bool has_failed; /* the name is none of the language, or a limit is reached */
};

/* false: it has failed. */
static inline bool demangle_step(struct demangle_work *work, uint32_t steps)
{
    work->has_failed = work->has_failed || DEMANGLE_MAX_STEPS - work->steps < steps;
    work->steps += work->has_failed ? 0 : steps;
    return !work->has_failed;
}

/* Begins a call that may call itself; true: the caller ends it with demangle_leave. */
static inline bool demangle_enter(struct demangle_work *work)
{
    work->has_failed = work->has_failed || work->depth == DEMANGLE_MAX_DEPTH;
    if (!demangle_step(work, 1))
        return false;
    work->depth++;
    return true;
}

static inline void demangle_leave(struct demangle_work *work)
{
    work->depth--;
}

void demangle_write(struct demangle_work *work, const char *text, size_t length);
void demangle_write_text(struct demangle_work *work, const char *text);
void demangle_write_number(struct demangle_work *work, uint64_t number);

/* false: it is no such name.  The text then is undefined. */
bool demangle_cpp(struct demangle_work *work, const char *mangled, size_t length);
bool demangle_rust(struct demangle_work *work, const char *mangled, size_t length);
/* Names of Rust before version 0: "_ZN", names with their lengths, the last of which is a hash, and "E". */
bool demangle_rust_legacy(struct demangle_work *work, const char *mangled, size_t length);

#endif /* SAMPLER_NATIVE_DEMANGLE_WORK_H */
