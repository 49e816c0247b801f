#include "server/wire/memory.h"

#include "sampler/profile/profile.h"
#include "sampler/profile/views/memory_slots.h"
#include "server/wire/json.h"

/* The columns of all processes together, and of one. */
enum amount { RSS, SWAP, MINOR_FAULTS, MAJOR_FAULTS, AMOUNTS };

static const char *const amount_names[AMOUNTS] = { "rss", "swap", "minor_faults",
                                                   "major_faults" };

static uint64_t amount_of(const struct memory_amounts *amounts, enum amount amount)
{
    switch (amount) {
    case RSS: return amounts->rss_bytes;
    case SWAP: return amounts->swap_bytes;
    case MINOR_FAULTS: return amounts->minor_faults;
    case MAJOR_FAULTS: return amounts->major_faults;
    case AMOUNTS: break;
    }
    return 0;
}

/* process: SIZE_MAX: all together. */
static void write_amounts(struct json *json, const struct memory_slots *memory, size_t process)
{
    for (enum amount amount = RSS; amount < AMOUNTS; amount++) {
        json_member_array(json, amount_names[amount]);
        for (size_t i = 0; i < memory->count; i++) {
            const struct memory_slot *const row = &memory->rows[i];
            json_uint(
                json,
                amount_of(process == SIZE_MAX ? &row->all : &row->processes[process], amount));
        }
        json_end(json);
    }
}

void memory_write_slots(struct json *json, const struct memory_slots *memory,
                        const struct profile_snapshot *snapshot)
{
    json_member_ns(json, "from", memory->from_ns);
    json_member_ns(json, "to", memory->to_ns);
    json_member_ns(json, "width", memory->width_ns);
    json_member_array(json, "start");
    for (size_t i = 0; i < memory->count; i++)
        json_decimal(json, memory->rows[i].start_ns, NS_DECIMALS);
    json_end(json);
    json_member_array(json, "end");
    for (size_t i = 0; i < memory->count; i++)
        json_decimal(json, memory->rows[i].end_ns, NS_DECIMALS);
    json_end(json);
    write_amounts(json, memory, SIZE_MAX);
    json_member_array(json, "peak");
    for (size_t i = 0; i < memory->count; i++)
        json_uint(json, memory->rows[i].peak_bytes);
    json_end(json);
    json_member_array(json, "limit");
    for (size_t i = 0; i < memory->count; i++)
        if (memory->rows[i].limit_bytes)
            json_uint(json, memory->rows[i].limit_bytes);
        else
            json_null(json);
    json_end(json);
    json_member_array(json, "processes");
    for (size_t i = 0; i < memory->process_count; i++) {
        json_object(json);
        json_member_int(json, "pid", profile_process_at(snapshot, memory->processes[i]).pid);
        json_member_uint(json, "peak", memory->peak_bytes[i]);
        write_amounts(json, memory, i);
        json_end(json);
    }
    json_end(json);
    json_member_uint(json, "others", memory->others);
}
