#include "sampler/link/answer.h"

#include "sampler/base/buffer.h"
#include "sampler/base/channel.h"
#include "sampler/link/request.h"

void answer_send(int fd, enum err_code code, const struct buffer *contents,
                 const struct err *err)
{
    unsigned char head[LINK_HEAD_BYTES];
    struct buffer why = { 0 };
    struct err own = { 0 };
    if (!code && contents->failed)
        code = err_nomem(&own);
    if (!code && contents->length > LINK_MAX_ANSWER_BYTES)
        code = err_set(&own, ERR_LIMIT, "the answer has more than %d MiB",
                       LINK_MAX_ANSWER_BYTES >> 20);
    if (code)
        link_err_encode(own.code ? &own : err, &why);
    /* Without a sentence the code goes alone. */
    if (why.failed)
        buffer_clear(&why);
    const struct buffer *const sent = code ? &why : contents;
    link_head_encode(code, sent->length, head);
    if (channel_write(fd, head, sizeof head))
        (void)channel_write(fd, sent->data, sent->length);
    buffer_deinit(&why);
}
