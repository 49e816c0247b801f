#include "server/report/encoding/embedded_profile.h"

#include <string.h>

#include "sampler/base/compress.h"
#include "server/report/encoding/base64.h"

/* Three bytes make four digits: one or two are kept for the next time. */
static void put_base64(struct embedded_profile *profile_text, const char *data, size_t bytes)
{
    while (profile_text->carried > 0 && profile_text->carried < 3 && bytes > 0) {
        profile_text->carry[profile_text->carried++] = *data++;
        bytes--;
    }
    if (profile_text->carried == 3) {
        base64_append(profile_text->out, profile_text->carry, 3);
        profile_text->carried = 0;
    }
    const size_t whole = bytes / 3 * 3;
    base64_append(profile_text->out, data, whole);
    for (size_t i = whole; i < bytes; i++)
        profile_text->carry[profile_text->carried++] = data[i];
}

static bool take_bytes(void *to, const char *data, size_t bytes)
{
    struct embedded_profile *const profile_text = to;
    if (profile_text->form == EMBEDDED_PROFILE_BASE64)
        put_base64(profile_text, data, bytes);
    else
        buffer_append(profile_text->out, data, bytes);
    return !profile_text->out->failed;
}

static bool drain_profile(void *to, const char *data, size_t bytes)
{
    struct embedded_profile *const profile_text = to;
    return gzip_stream_write(profile_text->stream, data, bytes, false, take_bytes,
                             profile_text);
}

enum err_code embedded_profile_init(struct embedded_profile *profile_text, int level,
                                    enum embedded_profile_form form, struct buffer *out,
                                    struct err *err)
{
    memset(profile_text, 0, sizeof *profile_text);
    profile_text->form = form;
    profile_text->out = out;
    buffer_init_draining(&profile_text->in, drain_profile, profile_text);
    return gzip_stream_create(level, &profile_text->stream, err);
}

enum err_code embedded_profile_finish(struct embedded_profile *profile_text, struct err *err)
{
    buffer_flush(&profile_text->in);
    const enum err_code rc = buffer_check(&profile_text->in, err);
    if (rc)
        return rc;
    gzip_stream_write(profile_text->stream, NULL, 0, true, take_bytes, profile_text);
    if (profile_text->carried > 0)
        base64_append(profile_text->out, profile_text->carry, profile_text->carried);
    profile_text->carried = 0;
    return buffer_check(profile_text->out, err);
}

void embedded_profile_deinit(struct embedded_profile *profile_text)
{
    buffer_deinit(&profile_text->in);
    gzip_stream_destroy(profile_text->stream);
    profile_text->stream = NULL;
}
