#include "sampler/foreign/protobuf_reader.h"

#include <inttypes.h>

enum { MAX_MESSAGE = INPUT_BYTES };

static uint64_t take_varint(struct protobuf_reader *message)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && message->at < message->end; shift += 7) {
        const unsigned char byte = *message->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    message->is_bad = true;
    return 0;
}

struct protobuf_reader protobuf_reader_over(struct gather_text bytes)
{
    const unsigned char *const at = (const unsigned char *)bytes.text;
    return (struct protobuf_reader){ .at = at, .end = bytes.bytes ? at + bytes.bytes : at };
}

bool protobuf_reader_next(struct protobuf_reader *message)
{
    if (message->at == message->end || message->is_bad)
        return false;
    const uint64_t key = take_varint(message);
    const size_t left = (size_t)(message->end - message->at);
    message->field = (unsigned)(key >> 3 & 0xffffffff);
    message->number = 0;
    message->bytes = (struct gather_text){ NULL, 0 };
    switch (key & 7) {
    case 0: message->number = take_varint(message); break;
    case 2: {
        const uint64_t bytes = take_varint(message);
        message->is_bad |= bytes > (uint64_t)(message->end - message->at);
        if (!message->is_bad) {
            message->bytes = (struct gather_text){ (const char *)message->at, (size_t)bytes };
            message->at += bytes;
        }
        break;
    }
    case 1:
    case 5: {
        const size_t bytes = (key & 7) == 1 ? 8 : 4;
        message->is_bad |= left < bytes;
        message->at += left < bytes ? left : bytes;
        break;
    }
    default: message->is_bad = true;
    }
    return !message->is_bad;
}

bool protobuf_reader_each(const struct protobuf_reader *field, protobuf_reader_take *take,
                          void *context)
{
    struct protobuf_reader packed = protobuf_reader_over(field->bytes);
    if (!field->bytes.text)
        return take(context, field->number);
    while (packed.at < packed.end && !packed.is_bad)
        if (!take(context, take_varint(&packed)))
            return false;
    return !packed.is_bad;
}

enum err_code protobuf_reader_next_of(struct input *input, struct protobuf_reader *out,
                                      bool *has_more, struct err *err)
{
    enum { HEAD_BYTES = 20 };
    const bool is_long = input_ready(input, HEAD_BYTES);
    const size_t there = is_long ? HEAD_BYTES : input->end - input->at;
    *has_more = false;
    if (there == 0)
        return input_check(input, err);
    struct protobuf_reader head = { .at = input->data + input->at,
                                    .end = input->data + input->at + there };
    const uint64_t key = take_varint(&head);
    uint64_t bytes = 0;
    const unsigned kind = key & 7;
    if (kind == 2)
        bytes = take_varint(&head);
    else if (kind == 0)
        out->number = take_varint(&head);
    else
        bytes = kind == 1 ? 8 : kind == 5 ? 4 : MAX_MESSAGE + 1;
    const size_t taken = (size_t)(head.at - (input->data + input->at));
    if (head.is_bad || key >> 3 == 0 || bytes > MAX_MESSAGE - HEAD_BYTES ||
        !input_ready(input, taken + (size_t)bytes))
        return input->code ? input_check(input, err)
                           : err_set(err, ERR_CORRUPT, "a wrong field at byte %" PRIu64,
                                     input_offset(input));
    out->field = (unsigned)(key >> 3 & 0xffffffff);
    out->bytes =
        (struct gather_text){ kind == 2 ? (const char *)input->data + input->at + taken : NULL,
                              (size_t)bytes };
    input->at += taken + (size_t)bytes;
    *has_more = true;
    return ERR_OK;
}
