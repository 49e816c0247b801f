/*
 * demangle - names of C++ and Rust functions as their authors wrote them.
 *
 * Uses libiberty.  Names are hostile: a short mangled name may stand for one of gigabytes, so the work
 * ends where the output gets long.
 *
 * Threads: any, with DEMANGLE_STACK_BYTES of stack.
 * Limits: DEMANGLE_MAX_INPUT bytes of a mangled name; longer ones, and ones that stand for more than
 * DEMANGLE_MAX_OUTPUT bytes, stay as they are.  A result has at most DEMANGLE_MAX_NAME bytes; of a longer
 * one inner template arguments are left out, and then its end: "…" stands for what is missing.
 * Depends on: utf8; libiberty, which no other file includes.
 */
#ifndef SAMPLER_NATIVE_DEMANGLE_H
#define SAMPLER_NATIVE_DEMANGLE_H

enum {
    DEMANGLE_MAX_INPUT = 4095,
    DEMANGLE_MAX_OUTPUT = 64 << 10,
    DEMANGLE_MAX_NAME = 511,
    DEMANGLE_STACK_BYTES = 4 << 20,
};

enum demangled { DEMANGLED_NONE, DEMANGLED_CPP, DEMANGLED_RUST };

/* NONE: `out` has the name itself, at most DEMANGLE_MAX_NAME bytes of it.  The hash at the end of Rust
 * names and the return types of templates are left out.  A call takes a few microseconds: keep the
 * result. */
enum demangled demangle(const char *mangled, char out[DEMANGLE_MAX_NAME + 1]);

#endif /* SAMPLER_NATIVE_DEMANGLE_H */
