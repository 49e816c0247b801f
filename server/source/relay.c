#include "server/source/relay.h"

#include "sampler/base/buffer.h"
#include "sampler/profile/profile.h"
#include "sampler/sampling_link.h"
#include "sampler/session.h"
#include "server/source/file_origins.h"
#include "server/source/helper.h"
#include "server/source/relay_codec.h"
#include "server/source/source_reader.h"

static enum err_code read_here(struct session *session, const struct relay_request *request,
                               int cancel_fd, struct buffer *out, uint64_t *changed_ns_out,
                               struct source_place *place_out, struct err *err)
{
    struct profile_snapshot snapshot;
    struct file_origins origins;
    enum err_code rc = profile_snapshot(session_profile(session), &snapshot, err);
    if (rc)
        return rc;
    rc = file_origins_find(&snapshot, request->functions, request->count, request->want,
                           &origins, err);
    if (!rc)
        rc = ERR_GONE;
    for (size_t i = 0; i < origins.count && rc == ERR_GONE; i++) {
        const struct helper_request wanted = {
            .path = origins.key.path,
            .entries = origins.entries,
            .entry_count = origins.entry_count,
            .wants_places = origins.request.want == RELAY_PLACES,
            .build_id = origins.build_id,
            .wants_checkout = origins.request.want == RELAY_CHECKOUT,
            .wants_distribution = origins.request.want == RELAY_DISTRIBUTION
        };
        struct session_origin process;
        rc = session_origin(session, (origins.items[i]), &process, err);
        if (!rc) {
            rc = source_helper_read(&process, &wanted, cancel_fd, out, changed_ns_out,
                                    place_out, err);
            session_origin_close(&process);
        }
    }
    profile_snapshot_release(&snapshot);
    return rc;
}

enum err_code relay_answer(void *context, struct session *session, const void *request,
                           size_t request_bytes, struct buffer *answer, struct err *err)
{
    uint64_t changed_ns = 0;
    struct relay_request wanted;
    struct source_place place = { .line = 0 };
    struct buffer text = { 0 };
    struct err why = { 0 };
    (void)context;
    enum err_code rc = relay_request_decode(request, request_bytes, &wanted, err);
    if (rc)
        return rc;
    rc = read_here(session, &wanted, -1, &text, &changed_ns, &place, &why);
    /* An error of this process's own system calls says nothing of the file. */
    if (rc && why.sys) {
        if (err)
            *err = why;
        buffer_deinit(&text);
        return rc;
    }
    relay_answer_encode(rc, &why, changed_ns, &place, &text, answer);
    buffer_deinit(&text);
    return buffer_check(answer, err);
}

static enum err_code read_there(struct session *session, const struct relay_request *request,
                                int cancel_fd, struct buffer *out, uint64_t *changed_ns_out,
                                struct source_place *place_out, struct err *err)
{
    struct buffer wanted = { 0 }, answer = { 0 };
    relay_request_encode(request, &wanted);
    enum err_code rc = buffer_check(&wanted, err);
    if (!rc)
        rc = sampling_link_read(session, wanted.data, wanted.length, cancel_fd, &answer, err);
    if (!rc)
        rc = relay_answer_decode(answer.data, answer.length, out, changed_ns_out, place_out,
                                 err);
    buffer_deinit(&wanted);
    buffer_deinit(&answer);
    return rc;
}

enum err_code relay_read(struct session *session, const struct relay_request *request,
                         int cancel_fd, struct buffer *out, uint64_t *changed_ns_out,
                         struct source_place *place_out, struct err *err)
{
    return (sampling_link_is_used() ? read_there : read_here)(session, request, cancel_fd, out,
                                                              changed_ns_out, place_out, err);
}
