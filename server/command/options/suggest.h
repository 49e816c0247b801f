/*
 * suggest - the word that was probably meant.
 *
 * Depends on: libc.
 */
#ifndef SERVER_COMMAND_OPTIONS_SUGGEST_H
#define SERVER_COMMAND_OPTIONS_SUGGEST_H

#include <stddef.h>

/* Single insertions, deletions, changes and swaps of neighbours between the two. */
size_t suggest_distance(const char *a, const char *b);

struct suggestion {
    const char *word; /* NULL: nothing near */
    size_t distance;
};

/* Remembers the candidate if it is the nearest so far and near enough to `word`. */
void suggest_offer(struct suggestion *best, const char *word, const char *candidate);

#endif /* SERVER_COMMAND_OPTIONS_SUGGEST_H */
