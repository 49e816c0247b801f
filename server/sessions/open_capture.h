/*
 * open_capture - an opened capture as a session shows it: its target, options and profile.
 *
 * It also converts a live session to the metadata of a capture.
 *
 * Ownership: open_capture_destroy frees all, NULL is fine; release snapshots of the profile first.
 * Threads: open and destroy: one; the others: any.
 */
#ifndef SERVER_SESSIONS_OPEN_CAPTURE_H
#define SERVER_SESSIONS_OPEN_CAPTURE_H

#include "sampler/capture/recorded_filters.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/session.h"
#include "server/source/kept_texts.h"
#include "server/source/source.h"
#include "server/wire/target_list.h"

struct capture_metadata;
struct reader;
struct reader_part;

struct open_capture {
    struct reader *reader;
    struct session_target target;
    char *word;          /* the first of the target's command line; NULL: all of it is shown */
    const char *argv[2]; /* the word, and a NULL */
    struct target_list targets; /* the processes */
    struct session_options options;
    struct frame_filters filters;              /* that it was recorded with */
    char ignored[RECORDED_FILTERS_TEXT_BYTES]; /* about filters that are invalid; "": none is */
    struct session_status status; /* of the end; a capture that was cut says so as its reason */
    const char *host;
    const char *foreign; /* of the metadata; NULL: pyrometer recorded it */
    struct kept_texts texts;
    struct source_reader files; /* of its texts */
    bool is_cut;                /* something is missing; the reason says what */
    uint64_t lost;              /* samples that could not be written */
    char path[256];
};

/* Reads a part of the capture, or all.  name: its path, or if fd is not -1, what messages call that file,
 * which stays the caller's.  hides_arguments: reduces command lines to their first word. */
MUST_CHECK enum err_code open_capture_open(const char *name, int fd,
                                           const struct reader_part *part, bool hides_arguments,
                                           struct open_capture **out, struct err *err);
void open_capture_destroy(struct open_capture *opened);
struct profile *open_capture_profile(const struct open_capture *opened);

/* The metadata that is known when a session starts; borrows. */
void open_capture_tell_start(const struct session_target *target,
                             const struct session_options *options,
                             const struct session_status *status, struct capture_metadata *out);
/* The metadata that is known when a session has ended; borrows. */
void open_capture_tell_end(const struct session_status *status, struct capture_metadata *out);

#endif /* SERVER_SESSIONS_OPEN_CAPTURE_H */
