/*
 * characters - Unicode characters as numbers: out of UTF-8, in ranges, in the other case.
 *
 * Threads: any.
 * Depends on: utf8.
 */
#ifndef SAMPLER_PROFILE_VIEWS_CHARACTERS_H
#define SAMPLER_PROFILE_VIEWS_CHARACTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct character_range {
    uint32_t first, last;
};

bool characters_has(const struct character_range *ranges, size_t count, uint32_t character);

/* The letter of Latin, Greek or Cyrillic in the other case; all else is the same. */
uint32_t characters_other_case(uint32_t character);

/* Moves *at on.  What is not UTF-8 is U+FFFD, a byte each. */
uint32_t characters_next(const char *text, size_t length, size_t *at);

#endif /* SAMPLER_PROFILE_VIEWS_CHARACTERS_H */
