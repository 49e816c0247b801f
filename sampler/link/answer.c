#include "sampler/link/answer.h"

#include <stdio.h>

#include "sampler/base/buffer.h"
#include "sampler/base/channel.h"
#include "sampler/link/request.h"

void answer_send(int fd, enum err_code code, const struct buffer *contents,
                 const struct err *err)
{
    struct link_failure failure = { .sys = 0 };
    struct err own = { 0 };
    if (!code && contents->failed)
        code = err_nomem(&own);
    if (!code && contents->length > LINK_MAX_ANSWER_BYTES)
        code = err_set(&own, ERR_LIMIT, "the answer has more than %d MiB",
                       LINK_MAX_ANSWER_BYTES >> 20);
    if (code) {
        const struct err *const why = own.code ? &own : err;
        failure.sys = why->sys;
        snprintf(failure.message, sizeof failure.message, "%s", why->message);
    }
    const struct link_head head = { code,
                                    (uint32_t)(code ? sizeof failure : contents->length) };
    if (channel_write(fd, &head, sizeof head))
        (void)channel_write(fd, code ? (const char *)&failure : contents->data, head.bytes);
}
