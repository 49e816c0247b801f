/*
 * execute - does what the command line says.
 */
#ifndef SERVER_COMMAND_EXECUTE_H
#define SERVER_COMMAND_EXECUTE_H

struct options;

/* Returns the exit status. */
int execute(const struct options *options);

#endif /* SERVER_COMMAND_EXECUTE_H */
