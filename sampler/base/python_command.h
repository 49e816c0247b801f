/*
 * python_command - the code that an interpreter's command line has it run: a script, a module or a text.
 */
#ifndef SAMPLER_BASE_PYTHON_COMMAND_H
#define SAMPLER_BASE_PYTHON_COMMAND_H

#include <stddef.h>

/* The script or module as it was written; NULL: the code is on the command line or in the input. */
const char *python_command_script(size_t argc, const char *const *argv);
/* The text behind -c; NULL: the interpreter runs something else. */
const char *python_command_text(size_t argc, const char *const *argv);

/* The part behind the last slash, unless that ends the path. */
const char *python_command_last_part(const char *path);

#endif /* SAMPLER_BASE_PYTHON_COMMAND_H */
