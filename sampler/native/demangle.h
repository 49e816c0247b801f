/*
 * demangle - names of C++ and Rust functions as their authors wrote them.
 *
 * Names are hostile: a short one may stand for gigabytes of text, or for work without end.  So both text and work are
 * bounded (demangle_work.h), and a name beyond a bound stays as it is.
 *
 * Threads: any.
 * Limits: DEMANGLE_MAX_INPUT bytes of a mangled name; DEMANGLE_MAX_OUTPUT bytes that it stands for; DEMANGLE_MAX_STEPS
 * of work, which take at most some milliseconds; DEMANGLE_MAX_DEPTH calls inside each other, which take at most
 * DEMANGLE_STACK_BYTES of stack.  A result has at most DEMANGLE_MAX_NAME bytes; of a longer one inner template
 * arguments are left out, and then its end: "…" stands for what is missing.
 */
#ifndef SAMPLER_NATIVE_DEMANGLE_H
#define SAMPLER_NATIVE_DEMANGLE_H

#include <stdint.h>

enum {
    DEMANGLE_MAX_NAME = 511,
    DEMANGLE_STACK_BYTES = 1 << 20,
};

enum demangled { DEMANGLED_NONE, DEMANGLED_CPP, DEMANGLED_RUST };

/* NONE: `out` has the name itself, at most DEMANGLE_MAX_NAME bytes of it.  The hash at the end of Rust
 * names and the return types of templates are left out.  A call takes a few microseconds: keep the
 * result. */
enum demangled demangle(const char *mangled, char out[DEMANGLE_MAX_NAME + 1]);
/* Demangles as demangle does; *steps_out: the steps that it took. */
enum demangled demangle_counted(const char *mangled, char out[DEMANGLE_MAX_NAME + 1],
                                uint32_t *steps_out);

#endif /* SAMPLER_NATIVE_DEMANGLE_H */
