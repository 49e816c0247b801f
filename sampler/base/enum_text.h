/*
 * enum_text - the texts of an enum, as people and files write them: one table for each enum, by
 * value, that ends with NULL.
 *
 *     const char *const colour_texts[] = { COLOURS(ENUM_TEXT) NULL };
 */
#ifndef SAMPLER_BASE_ENUM_TEXT_H
#define SAMPLER_BASE_ENUM_TEXT_H

#define ENUM_TEXT(name, text) text,

/* The value of that text; -1: there is none. */
int enum_find(const char *const *texts, const char *text);

#endif /* SAMPLER_BASE_ENUM_TEXT_H */
