/*
 * name_part - a part of a symbol, and what the names of a file say, for the files of python_names: mypyc_names.c and
 * cython_names.c decode.
 */
#ifndef SAMPLER_NATIVE_NAME_PART_H
#define SAMPLER_NATIVE_NAME_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* A part of a symbol. */
struct name_part {
    const char *text;
    size_t length;
};

/* If it begins with those bytes, skips them. */
bool name_part_skip(struct name_part *part, const char *prefix);
bool name_part_is_identifier(struct name_part part);
/* Appends to a name, after a dot.  false: there is no room. */
bool name_part_append(struct python_name *name, struct name_part part);

void mypyc_note(struct python_names *names, struct name_part symbol);
void mypyc_close(struct python_names *names);
bool mypyc_decode(const struct python_names *names, struct name_part symbol,
                  struct python_name *out);
void mypyc_deinit(struct python_names *names);
size_t mypyc_bytes(const struct python_names *names);
/* The last part of the name of the file's only module; NULL: it has several, or none. */
const char *python_names_only_module(const struct python_names *names);

void cython_note(struct python_names *names, struct name_part symbol);
void cython_close(struct python_names *names);
bool cython_decode(const struct python_names *names, struct name_part symbol,
                   struct python_name *out);
void cython_deinit(struct python_names *names);
size_t cython_bytes(const struct python_names *names);

/* Finds the source of a module, beside the library: which 0 is the first place, 1 the next.
 * mypyc: a module or a package; Cython, which makes one module of a library: a .pyx or .py file
 * of the library's name. false: there is no further place, or no room for it. */
bool mypyc_source(const char *library, const char *module, size_t module_bytes, unsigned which,
                  char *out, size_t room);
bool cython_source(const char *library, unsigned which, char *out, size_t room);

#endif /* SAMPLER_NATIVE_NAME_PART_H */
