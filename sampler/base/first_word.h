/*
 * first_word - cuts a command line down to its first word, to hide the arguments.
 *
 * A program that writes its own title (setproctitle) leaves all of it in one argument, so the first
 * word ends at the first blank or control character.
 */
#ifndef SAMPLER_BASE_FIRST_WORD_H
#define SAMPLER_BASE_FIRST_WORD_H

#include <stddef.h>

/* The bytes of text before the first blank. */
static inline size_t first_word_bytes(const char *text)
{
    size_t bytes = 0;
    while ((unsigned char)text[bytes] > ' ')
        bytes++;
    return bytes;
}

/* Cuts the first argument at its first blank.  Returns the number of arguments that remain. */
static inline size_t first_word_keep(size_t argc, char *first)
{
    if (argc == 0)
        return 0;
    first[first_word_bytes(first)] = '\0';
    return 1;
}

#endif /* SAMPLER_BASE_FIRST_WORD_H */
