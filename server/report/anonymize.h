/*
 * anonymize - the same profile without names, so that its reports can be given away.
 *
 * Every format is written from the anonymized profile, so none can reveal more:
 *
 *     names of code     of Python's library and of installed packages (below site-packages or
 *                       dist-packages, and not known as yours: packages.h) as they are; of everything else func-HASH
 *                       in mod-HASH.py
 *     paths             without what precedes lib/python3.x, site-packages or dist-packages
 *     native code       of Python itself, of installed packages and of common libraries of the system as it
 *                       is; of everything else func-HASH in lib-HASH.so, without build id and source file
 *     C functions       of Python itself as they are; of everything else <native> c-HASH
 *     threads           MainThread, Thread-1, ThreadPoolExecutor-0_0 and the like as they are; others thread-HASH
 *     command, host     left out, and so are the name and note of the session
 *     source            left out
 *
 * Lines, columns, instructions, process and thread ids, times and counts stay.  A HASH is 32 bits of
 * the SHA-256 of the whole path and name.  It is the same in every format and every run, so that
 * anonymized reports can be compared.  Somebody who knows a name can recognize its hash.
 *
 * Ownership: the caller's storage, which must not move; anonymized_deinit accepts a zeroed one.  It
 * borrows the source, which must have its header.
 * Threads: any, on a snapshot of one's own.
 * Cost: a copy of the profile.
 */
#ifndef SERVER_REPORT_ANONYMIZE_H
#define SERVER_REPORT_ANONYMIZE_H

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "server/report/header.h"
#include "server/report/report_source.h"
#include "server/wire/session.h"
#include "server/wire/target_list.h"

struct anonymized {
    struct profile *profile;
    struct profile_snapshot snapshot;
    struct view_query query;
    struct session_info session;
    struct session_target target;
    struct target_list targets;
    struct report_header header;
    struct report_source source; /* of all this */
};

MUST_CHECK enum err_code anonymized_init(struct anonymized *anonymized,
                                         const struct report_source *from, struct err *err);
void anonymized_deinit(struct anonymized *anonymized);

#endif /* SERVER_REPORT_ANONYMIZE_H */
