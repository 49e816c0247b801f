/*
 * header - describes a report: the selected part of the session, and its sums.
 *
 * It is computed once, before any writer, so that all formats say the same.  The range of time is the
 * requested one, moved to the edges of windows, which are selected whole, and cut to the session.  If
 * only some processes are selected, it is also cut to the time from the first of them to join to the
 * last to end.
 *
 * Ownership: report_header_deinit frees the lists and accepts a zeroed one; the rest borrows the
 * source.  A header must not move.
 * Limits: up to REPORT_HEADER_MAX_NAMED processes and threads are written; beyond that only their number.
 * Units: nanoseconds; from and to since the session began, the others since 1970.
 */
#ifndef SERVER_REPORT_HEADER_H
#define SERVER_REPORT_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/native_frames.h"
#include "sampler/session.h"

struct buffer;
struct json;
struct report_source;
struct frame_filters;

enum { REPORT_HEADER_MAX_NAMED = 64 };

struct report_header {
    uint64_t session_ns;     /* how long the session lasted */
    uint64_t from_ns, to_ns; /* what of it was selected */
    uint64_t began_at_ns, ended_at_ns;
    uint64_t samples, ns;         /* selected, and the time that they stand for */
    uint64_t period_ns;           /* that each stands for, on average */
    bool has_time;                /* what a sample stands for is known */
    bool has_periods;             /* not all of them stand for the same */
    struct session_target target; /* the first process selected */
    const char *words[1];         /* its command line where no other is known */
    size_t process_count;
    int32_t *pids; /* selected, ascending */
    size_t thread_count;
    struct report_header_thread {
        int32_t tid;
        struct strtab_string name;
    } * threads; /* that were asked for, by tid; none: all of them */
    struct state_condition states;
    bool is_of_time;                     /* the samples are */
    const struct measure_facts *measure; /* what the samples are of; ns is its value */
    const struct frame_filters *filters; /* NULL: none */
    enum native_frames native; /* that are shown; NATIVE_FRAMES_DEFAULT: there are none */
    bool has_all_processes, is_whole;
    bool is_anonymized; /* names of threads and patterns are left out */
};

MUST_CHECK enum err_code report_header_init(struct report_header *header,
                                            const struct report_source *source,
                                            struct err *err);
void report_header_deinit(struct report_header *header);

/* The length of the selected range. */
uint64_t report_header_duration_ns(const struct report_header *header);

/* One sentence without its full stop; control characters of names are escaped:
 * "1.0 s to 2.0 s of 4.5 s; process 4712; on CPU; hide function:main". */
void report_header_put_text(const struct report_header *header, struct buffer *out);

/* The whole that shares are of, where the samples are not of time: "the memory growth", "alloc_space"; else `of_time`. */
void report_header_put_whole(const struct report_header *header, const char *of_time,
                             struct buffer *out);

/* "process 4711", or "process 4711 and 3 others" if there are several. */
void report_header_put_process(const struct report_header *header,
                               const struct session_target *target, struct buffer *out);

/* The words of a command line as plain text; a longer one is cut after REPORT_COMMAND_BYTES. */
enum { REPORT_COMMAND_BYTES = 200 };
void report_header_put_command(const struct session_target *target, struct buffer *out);

/* The SELECTION document of server/README.md. */
void report_header_write(const struct report_header *header, struct json *json);

#endif /* SERVER_REPORT_HEADER_H */
