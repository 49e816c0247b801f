/*
 * standard - standard input, output and error, any of which may be closed when the program starts.
 */
#ifndef SERVER_COMMAND_PROCESS_STANDARD_H
#define SERVER_COMMAND_PROCESS_STANDARD_H

#include <stdbool.h>

/* Call before anything is opened: a file or a socket of ours would get the number of a closed one, and
 * what is meant for that one would go there.  Its number is taken by a descriptor with which the same
 * calls fail, and which a program that is started does not get. */
void standard_fill(void);
/* Can something be written to it?  False for one that was closed. */
bool standard_is_written(int fd);

#endif /* SERVER_COMMAND_PROCESS_STANDARD_H */
