/*
 * bias - how far a profile is from the truth: as JSON, and in one line.
 */
#ifndef SERVER_WIRE_BIAS_H
#define SERVER_WIRE_BIAS_H

#include <stdbool.h>

struct json;
struct session_info;

enum { BIAS_TEXT_BYTES = 400 };

/* The bias of a Quality: an object, or null if it is unmeasured. */
void bias_write(struct json *json, const struct session_info *info);

/* Shares of functions may be off: by more than 3 points for certain, or nobody knows by how much. */
bool bias_is_doubtful(const struct session_info *info);

/* "bias 3.0 ± 2.0 points" */
void bias_format(const struct session_info *info, char out[BIAS_TEXT_BYTES]);

/* The functions that it concerns: "walk +1.8, visit -1.2 points"; "": none is known. */
void bias_format_functions(const struct session_info *info, char out[BIAS_TEXT_BYTES]);

/* "97.00 % of the samples read while stopped, 0.90 % of the time"; "": no thread was stopped. */
void bias_format_stops(const struct session_info *info, char out[BIAS_TEXT_BYTES]);

#endif /* SERVER_WIRE_BIAS_H */
