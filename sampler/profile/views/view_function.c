#include "sampler/profile/views/view_function.h"

#include "sampler/profile/views/frameworks.h"

static function_id function_at(const struct profile_snapshot *snapshot, node_id node)
{
    return profile_frame_at(snapshot, profile_node_at(snapshot, node).frame).function;
}

function_id view_function_of(const struct profile_snapshot *snapshot, node_id node)
{
    enum framework_role role = FRAMEWORK_NONE;
    node_id caller = node;
    size_t length = 0;
    struct profile_function row = { 0 };
    for (; caller; caller = profile_node_at(snapshot, caller).parent) {
        row = profile_function_at(snapshot, function_at(snapshot, caller));
        role = row.library ? FRAMEWORK_NONE
                           : framework_role_of(profile_string(snapshot, row.name),
                                               profile_string(snapshot, row.file), &length);
        if (framework_dispatches(role) || role == FRAMEWORK_PREPARE)
            break;
    }
    if (!caller || role == FRAMEWORK_PREPARE)
        return 0;
    const char *const folder = profile_string(snapshot, row.file).text;
    function_id called = 0;
    for (node_id id = node; id != caller; id = profile_node_at(snapshot, id).parent) {
        const function_id function = function_at(snapshot, id);
        row = profile_function_at(snapshot, function);
        if (!row.library &&
            framework_may_call(profile_string(snapshot, row.name),
                               profile_string(snapshot, row.file), folder, length))
            called = function;
    }
    return called;
}
