/*
 * python_names - names of functions that mypyc and Cython made of Python code, as Python writes them.
 *
 *     CPyDef_mypy___build___State___trace                  mypy.build.State.trace
 *     __pyx_pw_5numpy_6random_6mtrand_11RandomState_7bytes  numpy.random.mtrand.RandomState.bytes
 *
 * Both compilers write names that can be read in several ways.  Which one is meant follows from the other
 * names of the file, so all of them are noted before any is decoded.  Names that stay unclear are not
 * decoded.
 *
 * mypyc: CPyDef_ (and CPyPy_, the wrapper that Python calls), the shortest end of the module's name that
 * is unique in the file, class and function; "___" between them, "___3_" for three underscores.
 * A class whose name ends with an underscore reads as one with a method that begins with one.
 *
 * Cython: __pyx_pw_ (the wrapper that Python calls), __pyx_pf_ (what it calls), __pyx_f_ (cdef), then each
 * scope as its length and name, then, except after __pyx_f_, a number that is unique in the scope.
 * Where a number can be read as both, it is the length of a scope if two names share that scope, or if the
 * module is not complete before it; and the number of a function if its wrapper has the next one.
 *
 * Generators have bodies of their own: of mypyc, the method __mypyc_generator_helper__ of a class FUNCTION_gen or
 * METHOD_CLASS_gen; of Cython, __pyx_gb_, scopes, a number, "generator" and a number, where the first number is
 * one more than that of the function's wrapper, and a generator expression has no wrapper.  They are named as
 * their functions.
 *
 * Ownership: the caller's storage; a zeroed struct is empty.
 * Threads: one while names are noted; then any number may decode.
 * Limits: PYTHON_NAMES_MAX_MODULES modules and PYTHON_NAMES_MAX_SCOPES scopes; a file with more is
 * not decoded.  Longer names than PYTHON_NAME_BYTES are not decoded either, and symbols longer than
 * PYTHON_NAMES_MAX_SYMBOL_BYTES not even noted.
 */
#ifndef SAMPLER_NATIVE_PYTHON_NAMES_H
#define SAMPLER_NATIVE_PYTHON_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"

enum {
    PYTHON_NAMES_MAX_MODULES = 1024,
    PYTHON_NAMES_MAX_SCOPES = 1 << 16,
    PYTHON_NAME_BYTES = 512,
    PYTHON_NAMES_MAX_SYMBOL_BYTES = 2 * PYTHON_NAME_BYTES,
};

struct python_module;
struct cython_fact;

struct python_names {
    struct python_module *modules;
    size_t module_count, module_room;
    struct idmap module_names;    /* of modules, by their names */
    struct idmap module_prefixes; /* and by what the names of their functions begin with */
    struct cython_fact *facts;    /* open addressing by key */
    size_t fact_count, fact_room;
    bool has_exports;  /* CPyInit_ was seen: PyInit_ is not a module of Python code */
    uint32_t *defined; /* hashes of what follows CPyDef_, in ascending order */
    size_t defined_count, defined_room;
    char *wrappers; /* what follows __pyx_pw_, each with its NUL */
    size_t wrapper_bytes, wrapper_room;
    bool has_generators;  /* without them, the last two are empty */
    bool lacks_functions; /* the last two left something out, so generators are not decoded */
    bool is_unclear;      /* something was left out, so nothing is decoded */
};

enum python_compiler { COMPILER_NONE, COMPILER_MYPYC, COMPILER_CYTHON };

struct python_name {
    enum python_compiler compiler;
    bool is_wrapper;              /* another function of this name does the work */
    uint32_t module_bytes;        /* the length of the module in it; 0: unknown */
    char text[PYTHON_NAME_BYTES]; /* module, class and function */
};

void python_names_deinit(struct python_names *names);
/* Takes any name of the file; has the type of symbol_list_take_name. */
void python_names_note(void *names, const char *symbol, size_t length);
/* After the last name.  is_complete: no name was left out. */
void python_names_close(struct python_names *names, bool is_complete);
/* false: it is no such name, or unclear; *out is then undefined. */
bool python_names_decode(const struct python_names *names, const char *symbol,
                         struct python_name *out);

/* Bytes of memory. */
size_t python_names_bytes(const struct python_names *names);

/* Where a module has its source, beside the library: which 0 is the first place, 1 the next.  mypyc: a module or
 * a package; Cython, which makes one module of a library: a .pyx or .py file of the library's name.
 * false: there is no further place, or no room for it. */
bool mypyc_source(const char *library, const char *module, size_t module_bytes, unsigned which,
                  char *out, size_t room);
bool cython_source(const char *library, unsigned which, char *out, size_t room);

#endif /* SAMPLER_NATIVE_PYTHON_NAMES_H */
