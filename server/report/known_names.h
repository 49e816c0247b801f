/*
 * known_names - names that everybody's Python has, so that they tell nothing about who runs it.
 *
 * The modules of the standard library (sys.stdlib_module_names of 3.10 to 3.15, those of C code
 * included), the functions of builtins, and the types that are written in C.
 *
 * Threads: any.
 */
#ifndef SERVER_REPORT_KNOWN_NAMES_H
#define SERVER_REPORT_KNOWN_NAMES_H

#include <stdbool.h>
#include <stddef.h>

bool known_names_has(const char *name, size_t length);

#endif /* SERVER_REPORT_KNOWN_NAMES_H */
