/*
 * suggest - finds the known word that is meant: one of the same meaning, or the most similar one.
 */
#ifndef SERVER_COMMAND_OPTIONS_SUGGEST_H
#define SERVER_COMMAND_OPTIONS_SUGGEST_H

#include <stddef.h>

/* The least number of insertions, deletions, changes and swaps of neighbouring characters that turn
 * a into b. */
size_t suggest_distance(const char *a, const char *b);

struct suggestion {
    const char *word; /* NULL: no similar word */
    size_t distance;
};

/* The option or format for which other profilers, or other versions of this one, say `word`, with or without dashes; NULL:
 * unknown.  `index` counts the words of the same meaning, the best one first. */
const char *suggest_meaning(const char *word, size_t index);

/* Stores the candidate if it is the most similar one so far, and similar enough to `word`. */
void suggest_offer(struct suggestion *best, const char *word, const char *candidate);

#endif /* SERVER_COMMAND_OPTIONS_SUGGEST_H */
