/*
 * command - the functions of the commands.
 */
#ifndef SERVER_COMMAND_COMMAND_H
#define SERVER_COMMAND_COMMAND_H

struct options;

/* Each prints its errors and returns the exit status. */
int command_attach(const struct options *options);
int command_run(const struct options *options);
int command_record(const struct options *options);
int command_replay(const struct options *options);
int command_serve(const struct options *options);
int command_merge(const struct options *options);
int command_diff(const struct options *options);
int command_top(const struct options *options);
int command_dump(const struct options *options);
int command_watch(const struct options *options);
int command_doctor(const struct options *options);
int command_mcp(const struct options *options);
int command_push(const struct options *options);

#endif /* SERVER_COMMAND_COMMAND_H */
