/*
 * descriptors - keeps the descriptors that a process needs, and closes all others of the program.
 */
#ifndef SERVER_COMMAND_PROCESS_DESCRIPTORS_H
#define SERVER_COMMAND_PROCESS_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

enum { DESCRIPTORS_FIRST = 3, DESCRIPTORS_MAX = 48 };

/* Moves these (at most DESCRIPTORS_MAX) to DESCRIPTORS_FIRST and behind it, in this order, and closes all others; standard error
 * stays, the other two lead nowhere.  The working folder is "/".  false: it failed, and the process must end. */
bool descriptors_keep(const int *kept, size_t count);

#endif /* SERVER_COMMAND_PROCESS_DESCRIPTORS_H */
