#include "server/wire/states.h"

#include <stdint.h>

#include "sampler/profile/views/states.h"
#include "server/wire/json.h"

/* The place of a number: in one row of sums, or in all rows as a column. */
struct place {
    struct json *json;
    const struct state_sums *sums; /* NULL: the rows of states */
    const struct states *states;
};

static uint64_t number_at(const struct state_sums *sums, size_t offset)
{
    return *(const uint64_t *)(const void *)((const char *)sums + offset);
}

static void put_counts(const struct place *place, const char *key, size_t offset)
{
    json_key(place->json, key);
    if (place->sums) {
        json_uint(place->json, number_at(place->sums, offset));
        return;
    }
    json_array(place->json);
    for (size_t i = 0; i < place->states->count; i++)
        json_uint(place->json, number_at(&place->states->rows[i].sums, offset));
    json_end(place->json);
}

static void put_all(const struct place *place)
{
    put_counts(place, "samples", offsetof(struct state_sums, samples));
    for (unsigned i = 0; i < STATE_FLAG_COUNT; i++) {
        json_member_object(place->json, state_flag_text((enum state_flag)i));
        put_counts(place, "yes", offsetof(struct state_sums, yes) + i * sizeof(uint64_t));
        put_counts(place, "unknown",
                   offsetof(struct state_sums, unknown) + i * sizeof(uint64_t));
        json_end(place->json);
    }
    json_member_object(place->json, "parts");
    for (unsigned i = 0; i < PART_COUNT; i++)
        put_counts(place, part_text((enum part)i),
                   offsetof(struct state_sums, parts) + i * sizeof(uint64_t));
    json_end(place->json);
}

void states_write_sums(struct json *json, const struct state_sums *sums)
{
    const struct place place = { .json = json, .sums = sums };
    json_object(json);
    put_all(&place);
    json_end(json);
}

void states_write_threads(struct json *json, const struct states *states)
{
    const struct place place = { .json = json, .states = states };
    json_object(json);
    json_member_array(json, "thread");
    for (size_t i = 0; i < states->count; i++)
        json_uint(json, states->rows[i].thread);
    json_end(json);
    put_all(&place);
    json_end(json);
}
