/*
 * script_word - the word of an interpreter's command line that names what it runs: a script or a module.
 *
 * Depends on: libc.
 */
#ifndef SAMPLER_BASE_SCRIPT_WORD_H
#define SAMPLER_BASE_SCRIPT_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The word as it was written; NULL: the code is on the command line or in the input. */
static inline const char *script_word(size_t argc, const char *const *argv)
{
    for (size_t i = 1; i < argc; i++) {
        const char *const word = argv[i];
        const bool has_next = i + 1 < argc;
        if (strcmp(word, "-m") == 0 && has_next)
            return argv[i + 1];
        if (strcmp(word, "-c") == 0 || strcmp(word, "-") == 0)
            return NULL;
        if (*word != '-' && *word)
            return word;
        if ((strcmp(word, "-W") == 0 || strcmp(word, "-X") == 0) && has_next)
            i++;
    }
    return NULL;
}

/* The part behind the last slash, unless that ends the path. */
static inline const char *last_part(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

#endif /* SAMPLER_BASE_SCRIPT_WORD_H */
