#include "tests/support/message.h"

#include <string.h>

#include "tests/support/test.h"

bool message_next_packed(struct message *packed, uint64_t *out)
{
    uint64_t value = 0;
    if (packed->length == 0)
        return false;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(packed->length > 0 && shift < 64);
        const unsigned char byte = (unsigned char)*packed->data++;
        packed->length--;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
    }
    *out = value;
    return true;
}

bool message_next(struct message *message, struct field *out)
{
    uint64_t key = 0, length = 0;
    if (!message_next_packed(message, &key))
        return false;
    *out = (struct field){ .number = (unsigned)(key >> 3) };
    if ((key & 7) == 0) {
        assert_true(message_next_packed(message, &out->value));
        return true;
    }
    if ((key & 7) == 1) {
        assert_true(message->length >= sizeof out->value);
        memcpy(&out->value, message->data, sizeof out->value);
        length = sizeof out->value;
    } else {
        assert_int_equal(key & 7, 2);
        if (!message_next_packed(message, &length))
            length = 0;
        assert_true(length <= message->length);
        out->bytes = (struct message){ message->data, length };
    }
    message->data += length;
    message->length -= length;
    return true;
}

bool message_find(struct message message, unsigned number, size_t index, struct field *out)
{
    while (message_next(&message, out))
        if (out->number == number && index-- == 0)
            return true;
    return false;
}

size_t message_count(struct message message, unsigned number)
{
    struct field field;
    size_t count = 0;
    while (message_next(&message, &field))
        count += field.number == number;
    return count;
}

uint64_t message_number(struct message message, unsigned number)
{
    struct field field;
    return message_find(message, number, 0, &field) ? field.value : 0;
}

bool message_is(struct message message, const char *text)
{
    return message.length == strlen(text) && memcmp(message.data, text, message.length) == 0;
}
