/*
 * context - what a thread works for, such as a request: the value of a ContextVar, and where that is kept: in a mark
 * below the innermost frame of a stack, above that of a wait (wait.h).
 *
 *     <context request_id: 4711>        the variable request_id has this value
 *     <context request_id unset>        it has none in the context of the thread
 *     <context request_id other>        it has a value, but there are too many to keep
 *
 * The value of a sample without such a mark is unknown.  Views leave the mark out unless it is asked for
 * (frame_filters.h); filters see it all the same.
 *
 * Limits: CONTEXT_MAX_NAME bytes of a mark's name; CONTEXT_VALUES_MAX values of a session.
 */
#ifndef SAMPLER_PROFILE_CONTEXT_H
#define SAMPLER_PROFILE_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/profile/profile.h"

enum { CONTEXT_MAX_VARIABLE = 64, CONTEXT_MAX_NAME = 192, CONTEXT_VALUES_MAX = 1 << 16 };

/* The variable that stands for the current span of OpenTelemetry: its values are the ids of the trace and the span,
 * with a space between. */
#define CONTEXT_OPENTELEMETRY "opentelemetry"

/* The variable that stands for requests that are guessed by the frames of web frameworks and task queues.  Its values are
 * CONTEXT_GUESSED_PREFIX hexadecimal digits of the session, a dash, and the number of the request, and with a space between the name of the function that answers;
 * samples before that is called lack the name. */
#define CONTEXT_GUESSED "guessed-requests"
enum { CONTEXT_GUESSED_PREFIX = 8 };

/* X(name, as in JSON) */
#define CONTEXT_MARKS(X)  \
    X(UNKNOWN, "unknown") \
    X(UNSET, "unset")     \
    X(OTHER, "other")     \
    X(VALUE, "value")

enum context_mark {
#define X(name, text) CONTEXT_MARK_##name,
    CONTEXT_MARKS(X)
#undef X
        CONTEXT_MARK_COUNT
};

/* "unset". */
const char *context_mark_text(enum context_mark mark);

/* May a variable have this name?  1 to CONTEXT_MAX_VARIABLE - 1 visible ASCII characters, without ':', '<' and '>'. */
bool context_variable_is_valid(const char *variable);

/* The name of a mark.  value: of CONTEXT_MARK_VALUE; it must not hold control characters, and is cut off where the name
 * is full. */
void context_name(const char *variable, enum context_mark mark, const char *value,
                  char out[CONTEXT_MAX_NAME]);

/* The parts of a mark's name. */
struct context_text {
    enum context_mark mark;
    const char *variable, *value;
    size_t variable_length, value_length; /* without a value, its length is 0 */
};

/* false: it is not the name of such a mark. */
bool context_read_name(const char *name, struct context_text *out);

/* The ids of a trace and of a span, in hexadecimal digits: parts of a mark's name. */
enum { CONTEXT_TRACE_DIGITS = 32, CONTEXT_SPAN_DIGITS = 16 };
struct context_span {
    const char *trace_id, *span_id;
};
/* false: the value is no span of OpenTelemetry. */
bool context_read_span(const struct context_text *text, struct context_span *out);

/* The length of the number in the value of a request that is guessed; 0: it is none. */
size_t context_guessed_length(const struct context_text *text);

/* Is the function such a mark? */
bool context_of_function(const struct profile_snapshot *snapshot, function_id function,
                         struct context_text *out);
/* The mark of a sample at this node, which may be that of a wait below it; 0: it has none. */
function_id context_function_of_node(const struct profile_snapshot *snapshot, node_id node);
/* The node without the marks of a wait and a context. */
node_id context_unmarked(const struct profile_snapshot *snapshot, node_id node);
/* Has the profile any? */
bool context_has_any(const struct profile_snapshot *snapshot);

#endif /* SAMPLER_PROFILE_CONTEXT_H */
