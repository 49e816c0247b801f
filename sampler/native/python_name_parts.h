/*
 * python_name_parts - shared by the files of python_names: python_names.c has the interface, mypyc_names.c
 * and cython_names.c decode.
 */
#ifndef SAMPLER_NATIVE_PYTHON_NAME_PARTS_H
#define SAMPLER_NATIVE_PYTHON_NAME_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/native/python_names.h"

/* A part of a symbol. */
struct name_part {
    const char *text;
    size_t length;
};

/* If it begins with those bytes, skips them. */
bool name_part_skip(struct name_part *part, const char *prefix);
bool name_part_is_identifier(struct name_part part);
/* Appends to a name, after a dot.  false: there is no room. */
bool python_name_append(struct python_name *name, struct name_part part);

void mypyc_note(struct python_names *names, struct name_part symbol);
void mypyc_close(struct python_names *names);
bool mypyc_decode(const struct python_names *names, struct name_part symbol,
                  struct python_name *out);
void mypyc_deinit(struct python_names *names);
size_t mypyc_bytes(const struct python_names *names);
/* The last part of the name of the file's only module; NULL: it has several, or none. */
const char *python_names_only_module(const struct python_names *names);

/* Generators: their names say which function they are of by other names of the file.  `defined` is what
 * follows CPyDef_, a wrapper what follows __pyx_pw_. */
void generator_names_note_defined(struct python_names *names, struct name_part symbol);
void generator_names_note_wrapper(struct python_names *names, struct name_part symbol);
void generator_names_close(struct python_names *names);
void generator_names_deinit(struct python_names *names);
size_t generator_names_bytes(const struct python_names *names);
/* Is it the function of a mypyc generator's class that does its work? */
bool generator_names_is_helper(struct name_part function);
/* Appends the function whose generators have that class.  false: it is unclear. */
bool generator_names_append_mypyc(const struct python_names *names, struct name_part prefix,
                                  struct name_part class, struct python_name *out);
/* Is it what Cython calls the body of a generator? */
bool generator_names_is_body(struct name_part name);
/* Appends the function of a body, which is in `scopes` and has a number; `out` has the scopes.  false: it is
 * unclear. */
bool generator_names_append_cython(const struct python_names *names, struct name_part scopes,
                                   size_t number, struct python_name *out);

size_t cython_bytes(const struct python_names *names);
void cython_note(struct python_names *names, struct name_part symbol);
bool cython_decode(const struct python_names *names, struct name_part symbol,
                   struct python_name *out);

#endif /* SAMPLER_NATIVE_PYTHON_NAME_PARTS_H */
