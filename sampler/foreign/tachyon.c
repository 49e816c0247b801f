/*
 * The binary file of Python's profiling.sampling, Tachyon: a head, a stream of samples, a table of strings, one of frames, a footer.
 *
 *     head, 64 bytes    "HCAT" of a little-endian machine, version 1, version of Python, start and interval in microseconds, number
 *                       of samples and of threads, offsets of the two tables, compression, settings
 *     samples           thread u64, interpreter u32, form u8; then samples, each of the time since the last one of its thread and
 *                       a byte of states; frames by their numbers, innermost first
 *     strings           length, bytes
 *     frames            file, name, line and three others, opcode u8
 *     footer, 32 bytes  number of strings and of frames, size of the file
 *
 * Numbers without a size are LEB128, lines zigzag-coded before that.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"
#include "sampler/base/vec.h"
#include "sampler/foreign/formats.h"
#include "sampler/foreign/gather.h"
#include "sampler/foreign/input.h"
#include "sampler/foreign/sample_stack.h"
#include "sampler/profile/profile.h"

enum {
    HEAD_BYTES = 64,
    FOOTER_BYTES = 32,
    MAX_ROWS = 1 << 22,
    MAX_THREADS = 1 << 20,
    MAX_DEPTH = 1 << 12,
    MAX_STRING = 1 << 16,
    FORM_REPEAT = 0,
    FORM_FULL = 1,
    FORM_SUFFIX = 2,
    FORM_POP_PUSH = 3,
    HAS_GIL = 1,
    ON_CPU = 2,
    UNKNOWN = 4,
    GIL_REQUESTED = 8,
    HAS_EXCEPTION = 16,
};

/* The last sample of a thread. */
struct tachyon_thread {
    uint64_t tid;
    uint32_t interpreter;
    thread_id id;
    uint64_t at_us;
    uint32_t *frames; /* outermost first */
    size_t depth, room;
};

struct tachyon {
    struct gather *gather;
    struct input input;
    uint64_t start_us, interval_us, strings_at, frames_at, end_at;
    uint32_t string_count, frame_count;
    str_id *strings;
    frame_id *frames; /* 0: one that is left out */
    struct tachyon_thread *threads;
    size_t thread_count, thread_room;
    struct idmap thread_index;
    struct sample_stack stack;
    const struct tachyon_thread *stack_of; /* NULL: of none */
    uint32_t *pushed;                      /* MAX_DEPTH */
    bool is_bad;
};

static uint64_t number_at(const unsigned char *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static uint64_t take_fixed(struct tachyon *tachyon, size_t bytes)
{
    struct input *const input = &tachyon->input;
    if (!input_ready(input, bytes)) {
        tachyon->is_bad = true;
        return 0;
    }
    const uint64_t value = number_at(input->data + input->at, bytes);
    input->at += bytes;
    return value;
}

static uint64_t take_varint(struct tachyon *tachyon)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const int byte = input_take(&tachyon->input);
        if (byte < 0)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    tachyon->is_bad = true;
    return 0;
}

static enum err_code bad_at(const struct tachyon *tachyon, const char *what, struct err *err)
{
    const enum err_code rc = input_check(&tachyon->input, err);
    return rc ? rc : err_set(err, ERR_CORRUPT, "%s", what);
}

static enum err_code read_head(struct tachyon *tachyon, int fd, struct err *err)
{
    unsigned char head[HEAD_BYTES], footer[FOOTER_BYTES];
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_sys(err, errno, "cannot read");
    const uint64_t size = (uint64_t)st.st_size;
    if (size < HEAD_BYTES + FOOTER_BYTES ||
        pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head ||
        pread(fd, footer, sizeof footer, (off_t)(size - FOOTER_BYTES)) !=
            (ssize_t)sizeof footer)
        return err_set(err, ERR_CORRUPT, "it was cut");
    if (number_at(head + 4, 4) != 1)
        return err_set(err, ERR_UNSUPPORTED, "its version %" PRIu64 " is not known",
                       number_at(head + 4, 4));
    tachyon->start_us = number_at(head + 12, 8);
    tachyon->interval_us = number_at(head + 20, 8);
    tachyon->strings_at = number_at(head + 40, 8);
    tachyon->frames_at = number_at(head + 48, 8);
    tachyon->string_count = (uint32_t)number_at(footer, 4);
    tachyon->frame_count = (uint32_t)number_at(footer + 4, 4);
    tachyon->end_at = size - FOOTER_BYTES;
    if (number_at(footer + 8, 8) != size || tachyon->strings_at < HEAD_BYTES ||
        tachyon->frames_at < tachyon->strings_at || tachyon->frames_at > tachyon->end_at)
        return err_set(err, ERR_CORRUPT, "it was cut, or never finished");
    if (tachyon->string_count > MAX_ROWS || tachyon->frame_count > MAX_ROWS ||
        tachyon->string_count > tachyon->frames_at - tachyon->strings_at ||
        tachyon->frame_count > tachyon->end_at - tachyon->frames_at)
        return err_set(err, ERR_CORRUPT, "its tables have more rows than bytes");
    if (tachyon->interval_us == 0 || tachyon->interval_us > 1000000000)
        return err_set(err, ERR_CORRUPT, "its interval of %" PRIu64 " us is out of range",
                       tachyon->interval_us);
    snprintf(tachyon->gather->python, sizeof tachyon->gather->python, "%u.%u.%u", head[8],
             head[9], head[10]);
    tachyon->gather->interval_ns = tachyon->interval_us * 1000;
    return ERR_OK;
}

static enum err_code read_strings(struct tachyon *tachyon, int fd, struct err *err)
{
    struct strtab *const strings = profile_strings(tachyon->gather->profile);
    enum err_code rc =
        input_open_part(&tachyon->input, fd, tachyon->strings_at, tachyon->frames_at, err);
    tachyon->strings = calloc((size_t)tachyon->string_count + 1, sizeof *tachyon->strings);
    if (!rc && !tachyon->strings)
        rc = err_nomem(err);
    for (uint32_t i = 0; i < tachyon->string_count && !rc; i++) {
        const uint64_t bytes = take_varint(tachyon);
        struct input *const input = &tachyon->input;
        if (tachyon->is_bad || bytes > MAX_STRING || !input_ready(input, (size_t)bytes))
            return bad_at(tachyon, "its table of strings is invalid", err);
        rc = strtab_intern(strings, (const char *)input->data + input->at, (size_t)bytes,
                           &tachyon->strings[i], err);
        input->at += (size_t)bytes;
    }
    input_close(&tachyon->input);
    return rc;
}

static int64_t from_zigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static enum err_code read_frames(struct tachyon *tachyon, int fd, struct err *err)
{
    const struct profile_snapshot rows = { .profile = tachyon->gather->profile };
    enum err_code rc =
        input_open_part(&tachyon->input, fd, tachyon->frames_at, tachyon->end_at, err);
    tachyon->frames = calloc((size_t)tachyon->frame_count + 1, sizeof *tachyon->frames);
    if (!rc && !tachyon->frames)
        rc = err_nomem(err);
    for (uint32_t i = 0; i < tachyon->frame_count && !rc; i++) {
        const uint64_t file = take_varint(tachyon), name = take_varint(tachyon);
        const int64_t line = from_zigzag(take_varint(tachyon));
        for (int j = 0; j < 3; j++)
            (void)take_varint(tachyon);
        (void)take_fixed(tachyon, 1);
        if (tachyon->is_bad || file >= tachyon->string_count || name >= tachyon->string_count)
            return bad_at(tachyon, "its table of frames is invalid", err);
        const struct strtab_string path = profile_string(&rows, tachyon->strings[file]);
        const struct strtab_string word = profile_string(&rows, tachyon->strings[name]);
        /* Its own reports leave out the frames with which it starts a program. */
        static const char starter[] = "_sync_coordinator.py";
        const size_t bytes = sizeof starter - 1;
        if (path.length >= bytes &&
            memcmp(path.text + path.length - bytes, starter, bytes) == 0)
            continue;
        rc = gather_frame(tachyon->gather, (struct gather_text){ word.text, word.length },
                          (struct gather_text){ path.text, path.length }, 0, line,
                          &tachyon->frames[i], err);
    }
    input_close(&tachyon->input);
    return rc;
}

static enum err_code find_thread(struct tachyon *tachyon, uint64_t tid, uint32_t interpreter,
                                 struct tachyon_thread **out, struct err *err)
{
    const uint32_t hash = hash_mix(tid, interpreter);
    const struct gather_text none = { "", 0 };
    struct idmap_slot *at;
    IDMAP_FIND(at, &tachyon->thread_index, hash,
               tachyon->threads[at->id].tid == tid &&
                   tachyon->threads[at->id].interpreter == interpreter);
    if (at) {
        *out = &tachyon->threads[at->id];
        return ERR_OK;
    }
    if (tachyon->thread_count == MAX_THREADS)
        return err_set(err, ERR_LIMIT, "it has more than %d threads", MAX_THREADS);
    if (!VEC_RESERVE(tachyon->threads, tachyon->thread_room, tachyon->thread_count + 1))
        return err_nomem(err);
    struct tachyon_thread *const thread = &tachyon->threads[tachyon->thread_count];
    *thread = (struct tachyon_thread){ .tid = tid,
                                       .interpreter = interpreter,
                                       .at_us = tachyon->start_us };
    tachyon->stack_of = NULL;
    enum err_code rc = gather_thread(tachyon->gather, 0, none, (int64_t)(tid & INT64_MAX), tid,
                                     none, &thread->id, err);
    if (!rc)
        rc = idmap_add(&tachyon->thread_index, hash, (uint32_t)tachyon->thread_count, err);
    tachyon->thread_count += !rc;
    *out = thread;
    return rc;
}

/* Replaces the inner frames of a thread: keeps so many of the outer ones, and takes new ones from the file. */
static enum err_code take_frames(struct tachyon *tachyon, struct tachyon_thread *thread,
                                 uint64_t kept, uint64_t count, struct err *err)
{
    if (tachyon->is_bad || kept > thread->depth || count > MAX_DEPTH ||
        kept + count > MAX_DEPTH)
        return bad_at(tachyon, "a stack is invalid", err);
    for (size_t i = 0; i < count; i++) {
        const uint64_t frame = take_varint(tachyon);
        if (tachyon->is_bad || frame >= tachyon->frame_count)
            return bad_at(tachyon, "a frame is not in its table", err);
        tachyon->pushed[i] = (uint32_t)frame;
    }
    if (!VEC_RESERVE(thread->frames, thread->room, (size_t)(kept + count) + 1))
        return err_nomem(err);
    for (size_t i = 0; i < count; i++)
        thread->frames[kept + i] = tachyon->pushed[count - 1 - i];
    thread->depth = (size_t)(kept + count);
    tachyon->stack_of = NULL;
    return ERR_OK;
}

static state_bits state_of(unsigned status)
{
    state_bits state = STATE_UNKNOWN_IN_GC | STATE_UNKNOWN_IN_NATIVE | STATE_UNKNOWN_RUNNABLE |
                       STATE_UNKNOWN_IN_JIT;
    state |= status & UNKNOWN ? STATE_UNKNOWN_ON_CPU : status & ON_CPU ? STATE_ON_CPU : 0;
    state |= status & HAS_GIL ? STATE_HAS_GIL : 0;
    state |= status & GIL_REQUESTED ? STATE_WAITS_GIL : 0;
    state |= status & HAS_EXCEPTION ? STATE_HAS_EXCEPTION : 0;
    return state;
}

static enum err_code add_sample(struct tachyon *tachyon, struct tachyon_thread *thread,
                                uint64_t after_us, unsigned status, struct err *err)
{
    enum err_code rc = ERR_OK;
    thread->at_us += after_us;
    if (tachyon->is_bad || thread->at_us < tachyon->start_us ||
        thread->at_us - tachyon->start_us > UINT64_MAX / 4000)
        return bad_at(tachyon, "a sample is invalid", err);
    if (tachyon->stack_of != thread) {
        size_t depth = 0;
        for (size_t i = 0; i < thread->depth && !rc; i++)
            if (tachyon->frames[thread->frames[i]])
                rc = sample_stack_put(&tachyon->stack, tachyon->gather, depth++,
                                      tachyon->frames[thread->frames[i]], err);
        sample_stack_cut(&tachyon->stack, depth);
        tachyon->stack_of = thread;
    }
    tachyon->gather->sample_count++;
    return rc ? rc
              : gather_sample(tachyon->gather, thread->id, state_of(status),
                              sample_stack_node(&tachyon->stack), tachyon->interval_us * 1000,
                              (thread->at_us - tachyon->start_us) * 1000, err);
}

static enum err_code read_record(struct tachyon *tachyon, struct err *err)
{
    const uint64_t tid = take_fixed(tachyon, 8);
    const uint32_t interpreter = (uint32_t)take_fixed(tachyon, 4);
    const unsigned form = (unsigned)take_fixed(tachyon, 1);
    struct tachyon_thread *thread = NULL;
    if (tachyon->is_bad)
        return bad_at(tachyon, "its samples were cut", err);
    enum err_code rc = find_thread(tachyon, tid, interpreter, &thread, err);
    if (rc)
        return rc;
    if (form == FORM_REPEAT) {
        const uint64_t count = take_varint(tachyon);
        for (uint64_t i = 0; i < count && !rc; i++) {
            const uint64_t after_us = take_varint(tachyon);
            rc = add_sample(tachyon, thread, after_us, (unsigned)take_fixed(tachyon, 1), err);
        }
        return rc;
    }
    const uint64_t after_us = take_varint(tachyon);
    const unsigned status = (unsigned)take_fixed(tachyon, 1);
    const uint64_t first = form == FORM_FULL ? 0 : take_varint(tachyon);
    const uint64_t count = take_varint(tachyon);
    uint64_t kept = first;
    if (form == FORM_POP_PUSH)
        kept = first <= thread->depth ? thread->depth - first : UINT64_MAX;
    else if (form != FORM_FULL && form != FORM_SUFFIX)
        return bad_at(tachyon, "a record of samples has an unknown form", err);
    rc = take_frames(tachyon, thread, kept, count, err);
    return rc ? rc : add_sample(tachyon, thread, after_us, status, err);
}

bool tachyon_begins(const unsigned char *data, size_t bytes)
{
    return bytes >= 8 && memcmp(data, "HCAT", 4) == 0;
}

enum err_code tachyon_read(struct gather *gather, int fd, struct err *err)
{
    struct tachyon tachyon = { .gather = gather,
                               .pushed = calloc(MAX_DEPTH, sizeof(uint32_t)) };
    gather->is_time = gather->has_instants = true;
    snprintf(gather->tool, sizeof gather->tool, "profiling.sampling");
    snprintf(gather->lacks, sizeof gather->lacks, "times of day, names of threads");
    idmap_init(&tachyon.thread_index);
    enum err_code rc = tachyon.pushed ? read_head(&tachyon, fd, err) : err_nomem(err);
    if (!rc)
        rc = read_strings(&tachyon, fd, err);
    if (!rc)
        rc = read_frames(&tachyon, fd, err);
    if (!rc)
        rc = input_open_part(&tachyon.input, fd, HEAD_BYTES, tachyon.strings_at, err);
    while (!rc && input_peek(&tachyon.input) >= 0)
        rc = read_record(&tachyon, err);
    if (!rc)
        rc = input_check(&tachyon.input, err);
    input_close(&tachyon.input);
    for (size_t i = 0; i < tachyon.thread_count; i++)
        free(tachyon.threads[i].frames);
    free(tachyon.threads);
    free(tachyon.strings);
    free(tachyon.frames);
    free(tachyon.pushed);
    idmap_deinit(&tachyon.thread_index);
    sample_stack_deinit(&tachyon.stack);
    return rc;
}
