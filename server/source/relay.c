#include "server/source/relay.h"

#include "sampler/base/buffer.h"
#include "sampler/capture/bytes.h"
#include "sampler/reader_link.h"
#include "sampler/sampler.h"
#include "server/source/helper.h"
#include "server/source/relay_codec.h"
#include "server/source/source.h"

static enum err_code read_here(struct sampler *sampler, profile_origin origin,
                               const struct source_wish *wish, int cancel_fd,
                               struct buffer *out, uint64_t *changed_ns_out,
                               struct source_place *place_out, struct err *err)
{
    struct sampler_origin process;
    enum err_code rc = sampler_origin(sampler, origin, &process, err);
    if (rc != ERR_OK)
        return rc;
    rc = source_helper_read(&process, wish, cancel_fd, out, changed_ns_out, place_out, err);
    sampler_origin_close(&process);
    return rc;
}

enum err_code relay_answer(void *context, struct sampler *sampler, profile_origin origin,
                           const void *wish, size_t wish_bytes, struct bytes *answer,
                           struct err *err)
{
    uint64_t changed_ns = 0;
    struct relay_wish wanted;
    struct source_place place = { .line = 0 };
    struct buffer text = { 0 };
    struct err why = { 0 };
    (void)context;
    enum err_code rc = relay_wish_decode(wish, wish_bytes, &wanted, err);
    if (rc != ERR_OK)
        return rc;
    rc = read_here(sampler, origin, &wanted.wish, -1, &text, &changed_ns,
                   wanted.wants_place ? &place : NULL, &why);
    relay_answer_encode(rc, &why, changed_ns, &place, &text, answer);
    buffer_deinit(&text);
    return bytes_check(answer, err);
}

static enum err_code read_there(struct sampler *sampler, profile_origin origin,
                                const struct source_wish *wish, int cancel_fd,
                                struct buffer *out, uint64_t *changed_ns_out,
                                struct source_place *place_out, struct err *err)
{
    struct bytes wanted = { 0 }, answer = { 0 };
    relay_wish_encode(wish, place_out != NULL, &wanted);
    enum err_code rc = bytes_check(&wanted, err);
    if (rc == ERR_OK)
        rc = reader_link_read(sampler, origin, wanted.data, wanted.count, cancel_fd, &answer,
                              err);
    if (rc == ERR_OK)
        rc =
            relay_answer_decode(answer.data, answer.count, out, changed_ns_out, place_out, err);
    bytes_deinit(&wanted);
    bytes_deinit(&answer);
    return rc;
}

enum err_code relay_read(struct sampler *sampler, profile_origin origin,
                         const struct source_wish *wish, int cancel_fd, struct buffer *out,
                         uint64_t *changed_ns_out, struct source_place *place_out,
                         struct err *err)
{
    return (reader_link_is_used() ? read_there : read_here)(
        sampler, origin, wish, cancel_fd, out, changed_ns_out, place_out, err);
}
