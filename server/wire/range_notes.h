/*
 * range_notes - what people write about ranges of time of a session.
 *
 * A text may be anything that JSON can say; whoever shows it escapes it.
 *
 * Ownership: plain data.
 * Limits: RANGE_NOTES_MAX notes of 1 to RANGE_NOTE_MAX_TEXT bytes.
 */
#ifndef SERVER_WIRE_RANGE_NOTES_H
#define SERVER_WIRE_RANGE_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct json;

enum { RANGE_NOTES_MAX = 32, RANGE_NOTE_MAX_TEXT = 240 };

struct range_note {
    uint32_t id;
    double from_s, to_s; /* since the start of the session */
    char text[RANGE_NOTE_MAX_TEXT + 1];
};

/* Zeroed: none. */
struct range_notes {
    uint32_t last_id; /* ids are never used again */
    size_t count;
    struct range_note items[RANGE_NOTES_MAX]; /* ascending by from_s */
};

/* ERR_INVALID: the range or the text is not valid; ERR_LIMIT: there are as many as there may be. */
MUST_CHECK enum err_code range_notes_add(struct range_notes *notes, double from_s, double to_s,
                                         const char *text, struct range_note *out,
                                         struct err *err);
/* false: there is none with this id. */
bool range_notes_remove(struct range_notes *notes, uint32_t id);

/* RangeNote of openapi.json, and a list of them. */
void range_note_write(struct json *json, const struct range_note *note);
void range_notes_write(struct json *json, const struct range_notes *notes);
/* Reads such a list; what is not valid is left out. */
void range_notes_read(const char *data, size_t bytes, struct range_notes *out);

#endif /* SERVER_WIRE_RANGE_NOTES_H */
