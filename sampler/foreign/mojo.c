/*
 * Austin's MOJO, version 3: a head of "MOJ" and the version, then events, each of a byte for its kind and
 *
 *     metadata          key, value
 *     stack             process, interpreter, thread in hexadecimal: begins a sample
 *     frame             number, file, name, first and last line, first and last column; a reference to one puts it into the sample
 *     string            number, text; 1 is unknown
 *     time, memory      what the sample stands for: microseconds, bytes
 *
 * Texts end with a NUL byte; numbers have six bits and a sign in their first byte, and seven in each that follows.  Numbers of frames and
 * strings are those of a process.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"
#include "sampler/base/vec.h"
#include "sampler/foreign/formats.h"
#include "sampler/foreign/gather.h"
#include "sampler/foreign/input.h"
#include "sampler/foreign/sample_stack.h"
#include "sampler/profile/profile.h"

enum {
    EVENT_METADATA = 1,
    EVENT_STACK,
    EVENT_FRAME,
    EVENT_INVALID,
    EVENT_FRAME_REF,
    EVENT_KERNEL,
    EVENT_GC,
    EVENT_IDLE,
    EVENT_TIME,
    EVENT_MEMORY,
    EVENT_STRING,
    EVENT_STRING_REF,
    VERSION = 3,
    UNKNOWN_STRING = 1,
    MAX_TEXT = 1 << 16,
    MAX_ROWS = 1 << 22,
};

/* A string or a frame of a process, by its number. */
struct mojo_row {
    int64_t pid, number;
    uint32_t id;
};

struct mojo {
    struct gather *gather;
    struct input input;
    struct mojo_table {
        struct mojo_row *rows;
        size_t count, room;
        struct idmap index;
    } strings, frames;
    struct sample_stack stack;
    size_t depth;
    bool has_sample, has_memory;
    int64_t pid;
    thread_id thread;
    uint64_t us, bytes; /* of the sample */
    bool is_memory;     /* the mode: what is counted are bytes */
};

static enum err_code fail_at(const struct mojo *mojo, const char *what, struct err *err)
{
    const enum err_code rc = input_check(&mojo->input, err);
    return rc ? rc
              : err_set(err, ERR_CORRUPT, "%s at byte %" PRIu64, what,
                        input_offset(&mojo->input));
}

static enum err_code take_number(struct mojo *mojo, int64_t *out, struct err *err)
{
    int byte = input_take(&mojo->input);
    const bool is_negative = byte >= 0 && byte & 0x40;
    uint64_t value = byte < 0 ? 0 : (uint64_t)byte & 0x3f;
    for (unsigned shift = 6; byte >= 0 && byte & 0x80; shift += 7) {
        byte = shift < 62 ? input_take(&mojo->input) : -1;
        if (byte >= 0)
            value |= ((uint64_t)byte & 0x7f) << shift;
    }
    if (byte < 0 || value > INT64_MAX)
        return fail_at(mojo, "a number is too long, or was cut,", err);
    *out = is_negative ? -(int64_t)value : (int64_t)value;
    return ERR_OK;
}

/* A text, which is valid until more is taken. */
static enum err_code take_text(struct mojo *mojo, struct gather_text *out, struct err *err)
{
    struct input *const input = &mojo->input;
    const unsigned char *end = NULL;
    for (size_t bytes = 256; !end && bytes <= MAX_TEXT; bytes *= 4) {
        const bool is_ready = input_ready(input, bytes);
        end = memchr(input->data + input->at, '\0', input->end - input->at);
        if (!is_ready)
            break;
    }
    if (!end)
        return fail_at(mojo, "a text is too long, or was cut,", err);
    *out = (struct gather_text){ (const char *)input->data + input->at,
                                 (size_t)(end - (input->data + input->at)) };
    input->at += out->bytes + 1;
    return ERR_OK;
}

static const struct mojo_row *find_row(const struct mojo_table *table, int64_t pid,
                                       int64_t number)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &table->index, hash_mix((uint64_t)number, (uint32_t)pid),
               table->rows[at->id].number == number && table->rows[at->id].pid == pid);
    return at ? &table->rows[at->id] : NULL;
}

/* A row that is there already gets another id. */
static enum err_code put_row(struct mojo *mojo, struct mojo_table *table, int64_t number,
                             uint32_t id, struct err *err)
{
    const struct mojo_row *const row = find_row(table, mojo->pid, number);
    if (row) {
        table->rows[row - table->rows].id = id;
        return ERR_OK;
    }
    if (table->count == MAX_ROWS)
        return err_set(err, ERR_LIMIT, "it has more than %d strings or frames", MAX_ROWS);
    if (!VEC_RESERVE(table->rows, table->room, table->count + 1))
        return err_nomem(err);
    table->rows[table->count] = (struct mojo_row){ mojo->pid, number, id };
    return idmap_add(&table->index, hash_mix((uint64_t)number, (uint32_t)mojo->pid),
                     (uint32_t)table->count++, err);
}

/* The sample is whole once the next one begins. */
static enum err_code end_sample(struct mojo *mojo, struct err *err)
{
    if (!mojo->has_sample)
        return ERR_OK;
    mojo->has_sample = false;
    mojo->gather->sample_count++;
    if (!mojo->is_memory && mojo->us > UINT64_MAX / 1000)
        return err_set(err, ERR_LIMIT, "its times are too large");
    sample_stack_cut(&mojo->stack, mojo->depth);
    return gather_sample(mojo->gather, mojo->thread, STATE_ALL_UNKNOWN,
                         sample_stack_node(&mojo->stack),
                         mojo->is_memory ? mojo->bytes : mojo->us * 1000, 0, err);
}

static enum err_code read_metadata(struct mojo *mojo, struct err *err)
{
    struct gather *const gather = mojo->gather;
    char key[GATHER_TEXT_BYTES], value[GATHER_TEXT_BYTES];
    struct gather_text text;
    enum err_code rc = take_text(mojo, &text, err);
    if (rc)
        return rc;
    gather_keep(key, text);
    rc = take_text(mojo, &text, err);
    if (rc)
        return rc;
    gather_keep(value, text);
    const unsigned long long number = strtoull(value, NULL, 10);
    if (strcmp(key, "austin") == 0)
        snprintf(gather->tool, sizeof gather->tool, "Austin %.100s", value);
    else if (strcmp(key, "python") == 0)
        snprintf(gather->python, sizeof gather->python, "%.15s", value);
    else if (strcmp(key, "mode") == 0)
        mojo->is_memory = strcmp(value, "memory") == 0;
    else if (strcmp(key, "interval") == 0 && number < 1000000000)
        gather->interval_ns = number * 1000;
    return ERR_OK;
}

static enum err_code begin_sample(struct mojo *mojo, struct err *err)
{
    const struct gather_text none = { "", 0 };
    struct gather_text text;
    char name[32];
    int64_t pid = 0, interpreter;
    enum err_code rc = end_sample(mojo, err);
    if (!rc)
        rc = take_number(mojo, &pid, err);
    if (!rc)
        rc = take_number(mojo, &interpreter, err);
    if (!rc)
        rc = take_text(mojo, &text, err);
    if (rc)
        return rc;
    snprintf(name, sizeof name, "%.*s", (int)(text.bytes < 31 ? text.bytes : 31), text.text);
    const uint64_t tid = strtoull(name, NULL, 16);
    mojo->pid = pid;
    mojo->depth = 0;
    mojo->us = mojo->bytes = 0;
    mojo->has_sample = true;
    return gather_thread(mojo->gather, pid, none, tid <= INT32_MAX ? (int64_t)tid : 0, tid,
                         none, &mojo->thread, err);
}

static enum err_code put_frame(struct mojo *mojo, frame_id frame, struct err *err)
{
    if (!mojo->has_sample)
        return fail_at(mojo, "a frame without a sample", err);
    return sample_stack_put(&mojo->stack, mojo->gather, mojo->depth++, frame, err);
}

/* A frame that is known by its name alone. */
static enum err_code put_mark(struct mojo *mojo, struct gather_text name, struct err *err)
{
    const struct gather_text mark = { "~", 1 };
    frame_id frame;
    const enum err_code rc = gather_frame(mojo->gather, name, mark, 0, 0, &frame, err);
    return rc ? rc : put_frame(mojo, frame, err);
}

static enum err_code find_string(const struct mojo *mojo, int64_t number,
                                 struct gather_text *out, struct err *err)
{
    const struct profile_snapshot rows = { .profile = mojo->gather->profile };
    const struct mojo_row *const row = find_row(&mojo->strings, mojo->pid, number);
    *out = (struct gather_text){ "<unknown>", sizeof "<unknown>" - 1 };
    if (number == UNKNOWN_STRING)
        return ERR_OK;
    if (!row)
        return fail_at(mojo, "a string that is not there", err);
    const struct strtab_string string = profile_string(&rows, row->id);
    *out = (struct gather_text){ string.text, string.length };
    return ERR_OK;
}

static enum err_code read_frame(struct mojo *mojo, struct err *err)
{
    int64_t numbers[7] = { 0 }; /* number, file, name, lines, columns */
    struct gather_text file, name;
    frame_id frame;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < 7 && !rc; i++)
        rc = take_number(mojo, &numbers[i], err);
    if (!rc)
        rc = find_string(mojo, numbers[1], &file, err);
    if (!rc)
        rc = find_string(mojo, numbers[2], &name, err);
    if (!rc)
        rc = gather_frame(mojo->gather, name, file, 0, numbers[3], &frame, err);
    return rc ? rc : put_row(mojo, &mojo->frames, numbers[0], frame, err);
}

static enum err_code read_event(struct mojo *mojo, struct err *err)
{
    struct gather_text text;
    int64_t number = 0;
    str_id string;
    enum err_code rc = ERR_OK;
    const struct mojo_row *row;
    switch (input_take(&mojo->input)) {
    case EVENT_METADATA: return read_metadata(mojo, err);
    case EVENT_STACK: return begin_sample(mojo, err);
    case EVENT_FRAME: return read_frame(mojo, err);
    case EVENT_INVALID:
        return put_mark(mojo, (struct gather_text){ "<invalid>", sizeof "<invalid>" - 1 }, err);
    case EVENT_GC:
        return put_mark(mojo, (struct gather_text){ "<GC>", sizeof "<GC>" - 1 }, err);
    case EVENT_KERNEL:
        rc = take_text(mojo, &text, err);
        return rc ? rc : put_mark(mojo, text, err);
    case EVENT_IDLE: return ERR_OK;
    case EVENT_FRAME_REF:
        rc = take_number(mojo, &number, err);
        row = rc ? NULL : find_row(&mojo->frames, mojo->pid, number);
        if (!rc && !row)
            rc = fail_at(mojo, "a frame that is not there", err);
        return rc ? rc : put_frame(mojo, row->id, err);
    case EVENT_TIME:
    case EVENT_MEMORY: {
        const bool is_time = mojo->input.data[mojo->input.at - 1] == EVENT_TIME;
        rc = take_number(mojo, &number, err);
        /* Memory that was returned is no part of what was taken. */
        if (!rc && number > 0)
            *(is_time ? &mojo->us : &mojo->bytes) += (uint64_t)number;
        return rc;
    }
    case EVENT_STRING:
        rc = take_number(mojo, &number, err);
        if (!rc)
            rc = take_text(mojo, &text, err);
        if (!rc)
            rc = strtab_intern(profile_strings(mojo->gather->profile), text.text, text.bytes,
                               &string, err);
        return rc ? rc : put_row(mojo, &mojo->strings, number, string, err);
    default: return fail_at(mojo, "an event of an unknown kind", err);
    }
}

bool mojo_begins(const unsigned char *data, size_t bytes)
{
    return bytes >= 4 && memcmp(data, "MOJ", 3) == 0;
}

enum err_code mojo_read(struct gather *gather, int fd, struct err *err)
{
    enum { HEAD_BYTES = 4 };
    struct mojo mojo = { .gather = gather };
    idmap_init(&mojo.strings.index);
    idmap_init(&mojo.frames.index);
    enum err_code rc = input_open(&mojo.input, fd, err);
    if (!rc && !input_ready(&mojo.input, HEAD_BYTES))
        rc = fail_at(&mojo, "it was cut", err);
    if (!rc && mojo.input.data[3] != VERSION)
        rc = err_set(err, ERR_UNSUPPORTED, "its version %d is not known", mojo.input.data[3]);
    mojo.input.at += rc ? 0 : HEAD_BYTES;
    while (!rc && input_peek(&mojo.input) >= 0)
        rc = read_event(&mojo, err);
    if (!rc)
        rc = input_check(&mojo.input, err);
    if (!rc)
        rc = end_sample(&mojo, err);
    gather->is_time = !mojo.is_memory;
    if (mojo.is_memory)
        snprintf(gather->counts, sizeof gather->counts, "bytes");
    snprintf(gather->lacks, sizeof gather->lacks,
             "states, times of day, order, names of threads");
    input_close(&mojo.input);
    free(mojo.strings.rows);
    free(mojo.frames.rows);
    idmap_deinit(&mojo.strings.index);
    idmap_deinit(&mojo.frames.index);
    sample_stack_deinit(&mojo.stack);
    return rc;
}
