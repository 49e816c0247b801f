/*
 * progress - shows the progress of a long operation.
 *
 * If standard error is a terminal, it writes one line every PROGRESS_MS and removes that line at the
 * end.
 *
 * Ownership: plain data; borrows the texts.
 */
#ifndef SERVER_COMMAND_OUTPUT_PROGRESS_H
#define SERVER_COMMAND_OUTPUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum { PROGRESS_MS = 500 };

struct progress {
    const char *doing; /* "reading", "writing" */
    const char *what;  /* a file name or a format */
    uint64_t next_ns;  /* time of the next line */
    bool is_shown;
};

void progress_begin(struct progress *progress, const char *doing, const char *what);
/* done: bytes processed so far.  bytes: all bytes; 0: unknown. */
void progress_show(struct progress *progress, uint64_t done, uint64_t bytes);
/* Removes the line, if there is one. */
void progress_end(struct progress *progress);

/* progress_show as a reader_watcher.  false: a signal asks the program to stop (signals.h). */
bool progress_watch(void *progress, uint64_t done, uint64_t bytes);

#endif /* SERVER_COMMAND_OUTPUT_PROGRESS_H */
