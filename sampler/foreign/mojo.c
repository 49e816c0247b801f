/*
 * Austin's MOJO, versions 3 and 4: a head of "MOJ" and the version, then events, each of a byte for its kind and
 *
 *     metadata          key, value
 *     stack             process, interpreter, thread in hexadecimal: begins a sample
 *     frame             number, file, name, first and last line, first and last column; a reference to one puts it into the sample
 *     string            number, text; 1 is unknown
 *     time, memory      what the sample stands for: microseconds, bytes
 *     repeat            of version 4: the frames so far stand within those of the sample before of the thread, but its innermost native ones
 *     task stack        task, name, number of frames: that many references follow, which are no part of the sample; likewise its waiters
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
    EVENT_REPEAT,
    EVENT_TASK_STACK,
    EVENT_TASK_WAITER,
    EVENT_TASK_RUNNING,
    OLDEST_VERSION = 3,
    NEWEST_VERSION = 4,
    MAX_KEPT_FRAMES = 1 << 24,
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
    frame_id *path; /* the frames of the sample, outermost first */
    size_t depth, path_room;
    struct mojo_path { /* of the last sample of a thread, where a later one may repeat it */
        frame_id *frames;
        size_t count, room;
    } * paths;
    size_t thread_room, kept_frames;
    uint64_t task_frames; /* references that are not of the sample */
    int version;
    bool has_sample;
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
    /* Keys of frames have up to 64 bits. */
    for (unsigned shift = 6; byte >= 0 && byte & 0x80; shift += 7) {
        byte = shift < 64 ? input_take(&mojo->input) : -1;
        if (byte >= 0)
            value |= ((uint64_t)byte & 0x7f) << shift;
    }
    if (byte < 0)
        return fail_at(mojo, "a number is too long, or was cut,", err);
    *out = (int64_t)(is_negative ? 0 - value : value);
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

static bool is_native(const struct mojo *mojo, frame_id frame)
{
    const struct profile_snapshot rows = { .profile = mojo->gather->profile };
    const function_id function = profile_frame_at(&rows, frame).function;
    const struct strtab_string file =
        profile_string(&rows, profile_function_at(&rows, function).file);
    const bool is_python =
        file.length >= 3 && memcmp(file.text + file.length - 3, ".py", 3) == 0;
    const bool is_text =
        file.length >= 2 && file.text[0] == '<' && file.text[file.length - 1] == '>';
    return !is_python && !is_text;
}

/* Keeps the stack of the thread for a sample that repeats it. */
static enum err_code keep_path(struct mojo *mojo, struct err *err)
{
    const size_t before = mojo->thread_room;
    if (!VEC_RESERVE(mojo->paths, mojo->thread_room, (size_t)mojo->thread + 1))
        return err_nomem(err);
    memset(mojo->paths + before, 0, (mojo->thread_room - before) * sizeof *mojo->paths);
    struct mojo_path *const kept = &mojo->paths[mojo->thread];
    mojo->kept_frames += mojo->depth > kept->count ? mojo->depth - kept->count : 0;
    if (mojo->kept_frames > MAX_KEPT_FRAMES)
        return err_set(err, ERR_LIMIT, "its threads have too many frames");
    if (!VEC_RESERVE(kept->frames, kept->room, mojo->depth + 1))
        return err_nomem(err);
    if (mojo->depth > 0)
        memcpy(kept->frames, mojo->path, mojo->depth * sizeof *mojo->path);
    kept->count = mojo->depth;
    return ERR_OK;
}

/* Puts the frames of the sample before of the thread outside of those so far. */
static enum err_code repeat_path(struct mojo *mojo, struct err *err)
{
    if (!mojo->has_sample)
        return fail_at(mojo, "a repeated stack without a sample", err);
    const struct mojo_path kept = mojo->thread < mojo->thread_room
                                      ? mojo->paths[mojo->thread]
                                      : (struct mojo_path){ .count = 0 };
    size_t count = kept.count;
    while (count > 0 && is_native(mojo, kept.frames[count - 1]))
        count--;
    if (mojo->depth + count > GATHER_MAX_DEPTH)
        return err_set(err, ERR_LIMIT, "a stack has more than %d frames", GATHER_MAX_DEPTH);
    if (count == 0)
        return ERR_OK;
    if (!VEC_RESERVE(mojo->path, mojo->path_room, mojo->depth + count))
        return err_nomem(err);
    memmove(mojo->path + count, mojo->path, mojo->depth * sizeof *mojo->path);
    memcpy(mojo->path, kept.frames, count * sizeof *mojo->path);
    mojo->depth += count;
    return ERR_OK;
}

/* The sample is whole once the next one begins. */
static enum err_code end_sample(struct mojo *mojo, struct err *err)
{
    if (!mojo->has_sample)
        return ERR_OK;
    mojo->has_sample = false;
    mojo->gather->sample_count++;
    mojo->task_frames = 0;
    if (!mojo->is_memory && mojo->us > UINT64_MAX / 1000)
        return err_set(err, ERR_LIMIT, "its times are too large");
    enum err_code rc = mojo->version > OLDEST_VERSION ? keep_path(mojo, err) : ERR_OK;
    for (size_t i = 0; i < mojo->depth && !rc; i++)
        rc = sample_stack_put(&mojo->stack, mojo->gather, i, mojo->path[i], err);
    if (rc)
        return rc;
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
    if (mojo->task_frames > 0) {
        mojo->task_frames--;
        return ERR_OK;
    }
    if (mojo->depth == GATHER_MAX_DEPTH)
        return err_set(err, ERR_LIMIT, "a stack has more than %d frames", GATHER_MAX_DEPTH);
    if (!VEC_RESERVE(mojo->path, mojo->path_room, mojo->depth + 1))
        return err_nomem(err);
    mojo->path[mojo->depth++] = frame;
    return ERR_OK;
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
        return row ? put_frame(mojo, row->id, err) : rc;
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
    case EVENT_REPEAT: return repeat_path(mojo, err);
    case EVENT_TASK_STACK: {
        int64_t name;
        rc = take_number(mojo, &number, err);
        if (!rc)
            rc = take_number(mojo, &name, err);
        if (!rc)
            rc = take_number(mojo, &number, err);
        mojo->task_frames = !rc && number > 0 ? (uint64_t)number : 0;
        return rc;
    }
    case EVENT_TASK_WAITER:
    case EVENT_TASK_RUNNING: {
        const bool is_pair = mojo->input.data[mojo->input.at - 1] == EVENT_TASK_WAITER;
        rc = take_number(mojo, &number, err);
        return !rc && is_pair ? take_number(mojo, &number, err) : rc;
    }
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
    if (!rc)
        mojo.version = mojo.input.data[3];
    if (!rc && (mojo.version < OLDEST_VERSION || mojo.version > NEWEST_VERSION))
        rc = err_set(err, ERR_UNSUPPORTED, "its version %d is not known", mojo.version);
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
    for (size_t i = 0; i < mojo.thread_room; i++)
        free(mojo.paths[i].frames);
    free(mojo.paths);
    free(mojo.path);
    free(mojo.strings.rows);
    free(mojo.frames.rows);
    idmap_deinit(&mojo.strings.index);
    idmap_deinit(&mojo.frames.index);
    sample_stack_deinit(&mojo.stack);
    return rc;
}
