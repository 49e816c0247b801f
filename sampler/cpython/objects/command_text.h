/*
 * command_text - the text of `python -c TEXT`, and which functions are in it.
 *
 * CPython names the file of this code "<string>", like that of all code that exec runs, such as the methods of
 * dataclasses.  A function that is in the text has the file COMMAND_TEXT_FILE instead, so that one file has the
 * lines of one text.
 *
 * The text comes from the command line, which a program can overwrite, so it decides on names only.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_COMMAND_TEXT_H
#define SAMPLER_CPYTHON_OBJECTS_COMMAND_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMAND_TEXT_STRING "<string>"
#define COMMAND_TEXT_FILE   "<command>"

/* Borrowed.  NULL: the interpreter runs something else, or what the library has it run (multiprocessing). */
const char *command_text_find(size_t argc, char *const *argv);
/* Does a function of this (qualified) name begin at this line of the text, decorators included? */
bool command_text_has(const char *text, const char *name, size_t length, int32_t line);

#endif /* SAMPLER_CPYTHON_OBJECTS_COMMAND_TEXT_H */
