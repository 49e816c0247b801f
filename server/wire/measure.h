/*
 * measure - what is counted, as JSON: name, title, unit and value of a measure.
 *
 * Units: time in seconds, as everywhere in JSON; other measures in theirs.
 */
#ifndef SERVER_WIRE_MEASURE_H
#define SERVER_WIRE_MEASURE_H

#include <stdint.h>

#include "sampler/profile/measure.h"

struct json;
struct profile_snapshot;

/* An object; value: in the unit of the measure. */
void measure_write(struct json *json, const struct measure_facts *facts, uint64_t value);
/* A list of those of the set, with all that the session has counted. */
void measures_write(struct json *json, measure_set measures,
                    const struct profile_snapshot *snapshot);

#endif /* SERVER_WIRE_MEASURE_H */
