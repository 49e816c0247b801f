/*
 * notebook - the cells of notebooks: code that Jupyter or IPython has made of what somebody typed.
 *
 * Code of a cell has a file name that no file has.  In a terminal, IPython puts the number of the cell into it:
 * <ipython-input-4-74f1b04d1cc5>.  Jupyter's kernel does not: /tmp/ipykernel_4711/3057411290.py is a hash of the text.
 * For tracebacks, IPython (since 7.26) keeps the number by the file name.  If the text was run twice, the number is
 * that of the last time, as in its tracebacks.
 *
 * Threads: none.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_NOTEBOOK_H
#define SAMPLER_CPYTHON_OBJECTS_NOTEBOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/cpython/layout/layout.h"
#include "sampler/process/memory.h"

enum { NOTEBOOK_NAME_BYTES = 24 };

/* "In [4]", the name of the cell; false: the code is of no cell, or its number is unknown.  interp: the
 * interpreter that has the modules; 0: unknown. */
bool notebook_name_cell(struct memory *memory, const struct layout *layout, remote_addr interp,
                        const char *file, char out[NOTEBOOK_NAME_BYTES]);

#endif /* SAMPLER_CPYTHON_OBJECTS_NOTEBOOK_H */
