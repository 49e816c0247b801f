/*
 * callables - makes callable objects in the memory of a fake_python.
 */
#ifndef TESTS_UNIT_CPYTHON_MADE_CALLABLES_H
#define TESTS_UNIT_CPYTHON_MADE_CALLABLES_H

#include "tests/unit/cpython/made/fake_python.h"

enum { CALLABLE_BYTES = 64 };

/* Types of the other objects. */
struct callable_types {
    remote_addr function, method, python, type, module, str;
};

struct callable_types callable_types_make(struct fake_python *python);

remote_addr callable_type(struct fake_python *python, const char *name, bool is_heap,
                          bool has_call, bool makes_types);
/* Zeroed but for its type. */
remote_addr callable_object(struct fake_python *python, remote_addr type);
/* A C function; self and module are objects or 0. */
remote_addr callable_function(struct fake_python *python, const struct callable_types *types,
                              const char *name, remote_addr self, remote_addr module);
/* Puts a function, as callable_function makes one, at the address of an existing object. */
void callable_put_function(struct fake_python *python, remote_addr addr,
                           const struct callable_types *types, const char *name,
                           remote_addr self, remote_addr module);
/* A method of a type. */
remote_addr callable_method(struct fake_python *python, const struct callable_types *types,
                            remote_addr of_type, const char *name);
/* The C function of a function or method of that name. */
remote_addr callable_code(const char *name);
/* A str with its type. */
remote_addr callable_str(struct fake_python *python, const struct callable_types *types,
                         const char *text);

#endif /* TESTS_UNIT_CPYTHON_MADE_CALLABLES_H */
