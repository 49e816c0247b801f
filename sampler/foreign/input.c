#define _GNU_SOURCE
#include "sampler/foreign/input.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/compress.h"

enum { READ_BYTES = 1 << 18 };

enum err_code input_open(struct input *input, int fd, struct err *err)
{
    return input_open_part(input, fd, 0, UINT64_MAX, err);
}

enum err_code input_open_part(struct input *input, int fd, uint64_t from, uint64_t to,
                              struct err *err)
{
    *input = (struct input){ .data = malloc(INPUT_BYTES) };
    return input->data ? compress_reader_create(fd, from, to, &input->reader, err)
                       : err_nomem(err);
}

void input_close(struct input *input)
{
    compress_reader_destroy(input->reader);
    free(input->data);
    *input = (struct input){ .at = 0 };
}

bool input_ready(struct input *input, size_t bytes)
{
    while (input->end - input->at < bytes && !input->code) {
        if (input->at > 0) {
            memmove(input->data, input->data + input->at, input->end - input->at);
            input->passed += input->at;
            input->end -= input->at;
            input->at = 0;
        }
        size_t got = 0;
        const size_t room = INPUT_BYTES - input->end;
        input->code =
            compress_reader_read(input->reader, input->data + input->end,
                                 room < READ_BYTES ? room : READ_BYTES, &got, &input->err);
        if (!input->code && input->passed + got > INPUT_MAX_BYTES)
            input->code = err_set(&input->err, ERR_LIMIT, "it is larger than %d GiB unpacked",
                                  (int)(INPUT_MAX_BYTES >> 30));
        if (input->code || got == 0)
            break;
        input->end += got;
    }
    if (input->code)
        input->at = input->end;
    return input->end - input->at >= bytes;
}

int input_peek(struct input *input)
{
    return input->at < input->end || input_ready(input, 1) ? input->data[input->at] : -1;
}

int input_take(struct input *input)
{
    const int byte = input_peek(input);
    input->at += byte >= 0;
    return byte;
}

bool input_skip_to(struct input *input, uint64_t offset)
{
    while (input_offset(input) < offset) {
        const uint64_t wanted = offset - input_offset(input);
        const size_t there = input->end - input->at;
        input->at += wanted < there ? (size_t)wanted : there;
        if (there < wanted && !input_ready(input, 1))
            return false;
    }
    return true;
}

const char *input_line(struct input *input, size_t *bytes_out)
{
    const unsigned char *end = NULL;
    size_t there = 0;
    do {
        const size_t seen = there;
        there = input->end - input->at;
        end = there > seen ? memchr(input->data + input->at + seen, '\n', there - seen) : NULL;
    } while (!end && there < INPUT_BYTES && input_ready(input, there + 1));
    if (!end && there == INPUT_BYTES)
        input->code =
            err_set(&input->err, ERR_LIMIT, "a line is longer than %d MiB", INPUT_BYTES >> 20);
    if (input->code || (!end && there == 0))
        return NULL;
    const char *const line = (const char *)input->data + input->at;
    *bytes_out = end ? (size_t)(end - (input->data + input->at)) : there;
    input->at += *bytes_out + (end != NULL);
    if (*bytes_out > 0 && line[*bytes_out - 1] == '\r')
        --*bytes_out;
    return line;
}

bool input_has(const unsigned char *data, size_t bytes, const char *text)
{
    return memmem(data, bytes, text, strlen(text)) != NULL;
}

enum err_code input_check(const struct input *input, struct err *err)
{
    return input->code ? err_set(err, input->code, "%s", input->err.message) : ERR_OK;
}
