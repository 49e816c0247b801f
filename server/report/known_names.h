/*
 * known_names - names that every Python has, and that therefore need not be anonymized.
 *
 * The modules of the standard library, the functions and types of builtins, and common types that are
 * written in C: known_names.inc, which scripts/known-names makes.
 *
 * Threads: any.
 */
#ifndef SERVER_REPORT_KNOWN_NAMES_H
#define SERVER_REPORT_KNOWN_NAMES_H

#include <stdbool.h>
#include <stddef.h>

bool known_names_has(const char *name, size_t length);

#endif /* SERVER_REPORT_KNOWN_NAMES_H */
