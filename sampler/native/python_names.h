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

#include "sampler/native/name_part.h"

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

#endif /* SAMPLER_NATIVE_PYTHON_NAMES_H */
