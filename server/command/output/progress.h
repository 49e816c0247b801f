/*
 * progress - shows how far a long operation is.
 *
 * Writes one line to standard error if that is a terminal, PROGRESS_MS after the beginning and
 * every PROGRESS_MS from then on, and removes it at the end.
 *
 * Ownership: plain data; borrows the texts.
 * Depends on: clock, exit, signals.
 */
#ifndef SERVER_COMMAND_OUTPUT_PROGRESS_H
#define SERVER_COMMAND_OUTPUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum { PROGRESS_MS = 500 };

struct progress {
    const char *doing; /* "reading", "writing" */
    const char *what;  /* a file without its folders, a format */
    uint64_t next_ns;  /* when to say so again */
    bool is_shown;
};

void progress_begin(struct progress *progress, const char *doing, const char *what);
/* Bytes that are done; of all there are, if that is not 0. */
void progress_show(struct progress *progress, uint64_t done, uint64_t bytes);
/* Takes the line away, if there is one. */
void progress_end(struct progress *progress);

/* progress_show as a reader_watcher, until the user wants to stop (signals.h). */
bool progress_watch(void *progress, uint64_t done, uint64_t bytes);

#endif /* SERVER_COMMAND_OUTPUT_PROGRESS_H */
