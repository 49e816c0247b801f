#include "sampler/profile/wait.h"

bool wait_of_function(const struct profile_snapshot *snapshot, function_id function,
                      struct wait_text *out)
{
    const struct profile_function row = profile_function_at(snapshot, function);
    return row.waits && wait_read_name(profile_string(snapshot, row.name).text, out);
}

/* Captures from before there were such marks have the GIL and processors in the state only. */
enum wait_cause wait_cause_of(const struct profile_snapshot *snapshot, node_id node,
                              enum part part)
{
    return part == PART_NEEDS_GIL         ? WAIT_GIL
           : part == PART_NEEDS_PROCESSOR ? WAIT_PROCESSOR
                                          : profile_cause_at(snapshot, node);
}

node_id wait_unmarked(const struct profile_snapshot *snapshot, node_id node)
{
    const struct profile_node row = profile_node_at(snapshot, node);
    return profile_cause_at(snapshot, node) ? row.parent : node;
}

bool wait_has_any(const struct profile_snapshot *snapshot)
{
    for (function_id id = 1; id < snapshot->sizes.functions; id++)
        if (profile_function_at(snapshot, id).waits)
            return true;
    return false;
}
