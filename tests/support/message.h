/*
 * message - reads messages of protocol buffers, field by field.
 *
 * Malformed bytes fail the test.
 */
#ifndef TESTS_SUPPORT_MESSAGE_H
#define TESTS_SUPPORT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message {
    const char *data;
    size_t length;
};

struct field {
    unsigned number;
    uint64_t value;       /* of a number */
    struct message bytes; /* of a text or a message */
};

/* Takes the first field off; false: none is left. */
bool message_next(struct message *message, struct field *out);
/* The field number `index` of those with that number; false: there are fewer. */
bool message_find(struct message message, unsigned number, size_t index, struct field *out);
size_t message_count(struct message message, unsigned number);
/* 0: there is none. */
uint64_t message_number(struct message message, unsigned number);
/* Takes a number off a packed field. */
bool message_next_packed(struct message *packed, uint64_t *out);
bool message_is(struct message message, const char *text);

#endif /* TESTS_SUPPORT_MESSAGE_H */
