/*
 * process_reader - the sampling process, which reads other processes for a command that serves HTTP (sampler/sampling_process.h).
 *
 * The supervisor starts it (supervisor.h).
 */
#ifndef SERVER_COMMAND_PROCESS_PROCESS_READER_H
#define SERVER_COMMAND_PROCESS_PROCESS_READER_H

#include <stddef.h>
#include <stdnoreturn.h>
#include <sys/types.h>

struct options;
struct pulse;

struct process_reader {
    const struct options *options;
    size_t engines; /* how many sessions may have a kernel engine at a time */
    pid_t launcher; /* only its descendants are read; -1: nothing; 0: there is none */
    int socket;     /* to the HTTP process */
    struct pulse *pulse;
    int source_socket; /* to the source helper */
};

/* In a process of its own, which ends when the HTTP process has. */
noreturn void process_reader_run(const struct process_reader *reader);

#endif /* SERVER_COMMAND_PROCESS_PROCESS_READER_H */
