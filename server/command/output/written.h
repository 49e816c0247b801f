/*
 * written - the names of the files that a command has written, for its last line.
 *
 * Ownership: plain data; a zeroed one is empty.
 * Limits: the line names WRITTEN_MAX files and counts the others.
 */
#ifndef SERVER_COMMAND_OUTPUT_WRITTEN_H
#define SERVER_COMMAND_OUTPUT_WRITTEN_H

#include <stddef.h>

#include "sampler/base/buffer.h"

enum { WRITTEN_MAX = 4, WRITTEN_MAX_NAME = 256 };

struct written {
    size_t count;
    char names[WRITTEN_MAX][WRITTEN_MAX_NAME];
    const char *notes[WRITTEN_MAX];
};

/* note: what is said behind the name; "": nothing. */
void written_add(struct written *written, const char *name, const char *note);
/* "wrote a.html, a.pyro"; nothing if there are none. */
void written_put(const struct written *written, struct buffer *out);
/* Prints it as a line of its own. */
void written_say(const struct written *written);

#endif /* SERVER_COMMAND_OUTPUT_WRITTEN_H */
