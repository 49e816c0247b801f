#include "sampler/profile/wait.h"

#include <stdio.h>
#include <string.h>

#define MARK_BEGIN "<waits: "

static const struct cause {
    const char *text, *title;
    bool is_idle;
} causes[WAIT_CAUSE_COUNT] = {
#define X(name, text, title, idle) { text, title, idle },
    WAIT_CAUSES(X)
#undef X
};

const char *wait_cause_text(enum wait_cause cause)
{
    return causes[cause].text;
}

const char *wait_cause_title(enum wait_cause cause)
{
    return causes[cause].title;
}

bool wait_cause_is_idle(enum wait_cause cause)
{
    return causes[cause].is_idle;
}

bool wait_is_call(const char *name)
{
    static const char prefix[] = "<native> ";
    static const char *const calls[] = {
        "time.sleep",
        "select.select",
        "select.poll.poll",
        "select.epoll.poll",
        "_thread.lock.acquire",
        "_thread.lock.acquire_lock",
        "_thread.lock.__enter__",
        "_thread.RLock.acquire",
        "_thread.RLock.__enter__",
        "_queue.SimpleQueue.get",
        "_thread._ThreadHandle.join",
        "posix.waitpid",
    };
    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return false;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(name + strlen(prefix), calls[i]) == 0)
            return true;
    return false;
}

void wait_name(enum wait_cause cause, const char *detail, char out[WAIT_MAX_NAME])
{
    snprintf(out, WAIT_MAX_NAME, MARK_BEGIN "%s%s%.80s>", causes[cause].title,
             *detail ? " " : "", detail);
}

bool wait_read_name(const char *name, struct wait_text *out)
{
    if (strncmp(name, MARK_BEGIN, strlen(MARK_BEGIN)) != 0)
        return false;
    const char *const text = name + strlen(MARK_BEGIN);
    const size_t length = strlen(text);
    if (length == 0 || text[length - 1] != '>')
        return false;
    for (enum wait_cause cause = WAIT_UNKNOWN; cause < WAIT_CAUSE_COUNT; cause++) {
        const size_t title = strlen(causes[cause].title);
        if (strncmp(text, causes[cause].title, title) != 0)
            continue;
        if (text[title] == '>' && title + 1 == length) {
            *out = (struct wait_text){ cause, text + title, 0 };
            return true;
        }
        if (text[title] == ' ') {
            *out = (struct wait_text){ cause, text + title + 1, length - title - 2 };
            return true;
        }
    }
    return false;
}

bool wait_of_function(const struct profile_snapshot *snapshot, function_id function,
                      struct wait_text *out)
{
    const struct profile_function row = profile_function_at(snapshot, function);
    if (row.library || row.first_line)
        return false;
    const struct strtab_string file = profile_string(snapshot, row.file);
    return file.length == 1 && *file.text == '~' &&
           wait_read_name(profile_string(snapshot, row.name).text, out);
}

node_id wait_unmarked(const struct profile_snapshot *snapshot, node_id node)
{
    struct wait_text ignored;
    const struct profile_node row = profile_node_at(snapshot, node);
    const function_id function = profile_frame_at(snapshot, row.frame).function;
    return wait_of_function(snapshot, function, &ignored) ? row.parent : node;
}

bool wait_has_any(const struct profile_snapshot *snapshot)
{
    struct wait_text ignored;
    for (function_id id = 1; id < snapshot->sizes.functions; id++)
        if (wait_of_function(snapshot, id, &ignored))
            return true;
    return false;
}
