/*
 * Collapsed stacks: a line for each stack, frames from the outermost one on with a semicolon between them, a space, and how
 * often it was seen.  Each tool writes frames its own way:
 *
 *     work (app.py:12)             py-spy, with "process 4711:..." and "thread (4712): name" before them
 *     app.py:work:12               Austin, Tachyon and pyrometer, with "P4711;T0:4712" or "tid:4712 name" before them
 *     py::work:/srv/app.py         perf script of a Python with perf support
 *     work, [work tid=4712]        all others
 *
 * Austin's metadata say what its numbers are: microseconds, or bytes.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/idmap.h"
#include "sampler/base/utf8.h"
#include "sampler/base/vec.h"
#include "sampler/foreign/formats.h"
#include "sampler/foreign/gather.h"
#include "sampler/foreign/input.h"

/* Who a stack is of; names are parts of its line. */
struct owner {
    int64_t pid, tid;
    size_t process, process_bytes, thread, thread_bytes;
    bool
        is_tid; /* it is written "tid:4712 name": no ':' is in a file, and one may be in a name */
};

/* A stack up to one of its frames. */
struct step {
    size_t end;    /* in the line */
    bool is_owner; /* what was read so far says who it is of */
    struct owner owner;
    thread_id thread; /* IDMAP_NONE: not asked for yet */
    node_id node;
};

struct collapsed {
    struct gather *gather;
    bool has_files, has_lines, has_threads;
    uint64_t lines; /* read so far */
    char *room;     /* for a name and a file without escapes */
    char *last;     /* the line that the steps are of */
    size_t last_bytes;
    struct step *steps; /* of it */
    size_t depth, step_room;
};

static struct gather_text text_of(const char *from, const char *end)
{
    return (struct gather_text){ from, (size_t)(end - from) };
}

static bool starts_with(struct gather_text text, const char *word)
{
    const size_t bytes = strlen(word);
    return text.bytes >= bytes && memcmp(text.text, word, bytes) == 0;
}

/* Reads digits up to `end`; false: there are others, none, or too many. */
static bool read_digits(const char *from, const char *end, int64_t *out)
{
    int64_t value = 0;
    if (from == end || end - from > 18)
        return false;
    for (; from < end; from++) {
        if (*from < '0' || *from > '9')
            return false;
        value = value * 10 + (*from - '0');
    }
    *out = value;
    return true;
}

/* Is a part of a stack who it is of?  Then it goes into *owner. */
static bool read_owner(struct gather_text part, const char *line, bool is_first,
                       struct owner *owner)
{
    const char *const end = part.text + part.bytes;
    const char *const colon = memchr(part.text, ':', part.bytes);
    const char *name = end, *name_end = end;
    int64_t number;
    if (starts_with(part, "process ") && colon) {
        if (!read_digits(part.text + strlen("process "), colon, &number))
            return false;
        /* A child stands behind its parent; the last one counts. */
        const bool is_quoted = end - colon > 2 && colon[1] == '"' && end[-1] == '"';
        owner->pid = number;
        owner->process = (size_t)(colon + 1 + is_quoted - line);
        owner->process_bytes = (size_t)(end - colon - 1 - 2 * is_quoted);
        return true;
    }
    if (is_first && part.bytes > 1 && *part.text == 'P' &&
        read_digits(part.text + 1, end, &number)) {
        owner->pid = number;
        return true;
    }
    if (starts_with(part, "thread (")) {
        const char *const from = part.text + strlen("thread (");
        const char *const close = memchr(from, ')', (size_t)(end - from));
        if (!close || !read_digits(from, close, &number))
            return false;
        name = end - close > 3 ? close + 3 : end;
    } else if (is_first && starts_with(part, "tid:")) {
        const char *const from = part.text + strlen("tid:");
        const char *const space = memchr(from, ' ', (size_t)(end - from));
        if (!read_digits(from, space ? space : end, &number))
            return false;
        name = space ? space + 1 : end;
        owner->is_tid = true;
    } else if (owner->pid && part.bytes > 1 && *part.text == 'T') {
        /* The number of the sub-interpreter stands before that of the thread. */
        if (!read_digits(colon ? colon + 1 : part.text + 1, end, &number))
            return false;
    } else if (is_first && part.bytes > 2 && *part.text == '[' && end[-1] == ']') {
        const char *const tid = memmem(part.text, part.bytes, " tid=", 5);
        if (!tid || !read_digits(tid + 5, end - 1, &number))
            return false;
        name = part.text + 1;
        name_end = tid;
    } else {
        return false;
    }
    owner->tid = number;
    owner->thread = (size_t)(name - line);
    owner->thread_bytes = (size_t)(name_end - name);
    return true;
}

/* The \xNN, \uNNNN and \\ of our own writer. */
static struct gather_text without_escapes(struct gather_text text, char *room)
{
    static const char forms[] = "xuU";
    static const size_t digits[] = { 2, 4, 8 };
    size_t used = 0;
    if (!memchr(text.text, '\\', text.bytes))
        return text;
    for (size_t i = 0; i < text.bytes;) {
        const char *const at = text.text + i;
        const char *const form =
            *at == '\\' && i + 1 < text.bytes ? strchr(forms, at[1]) : NULL;
        if (form && *form && i + 2 + digits[form - forms] <= text.bytes) {
            const size_t count = digits[form - forms];
            char hex[9] = { 0 }, *end;
            memcpy(hex, at + 2, count);
            const unsigned long code = strtoul(hex, &end, 16);
            if (end == hex + count && code > 0) {
                used += utf8_encode((uint32_t)code, room + used);
                i += 2 + count;
                continue;
            }
        }
        room[used++] = *at;
        i += *at == '\\' && i + 1 < text.bytes && at[1] == '\\' ? 2 : 1;
    }
    return (struct gather_text){ room, used };
}

/* Splits a frame into its name, file and line. */
static void split_frame(struct gather_text part, bool is_tid, struct gather_text *name,
                        struct gather_text *file, int64_t *line)
{
    const char *const end = part.text + part.bytes;
    const char *const colon = memrchr(part.text, ':', part.bytes);
    *name = part;
    *file = (struct gather_text){ "", 0 };
    *line = 0;
    if (part.bytes > 3 && end[-1] == ')') {
        const char *open = NULL;
        for (const char *at = end - 2; at > part.text && !open; at--)
            if (at[0] == '(' && at[-1] == ' ')
                open = at + 1;
        const char *file_end = end - 1;
        if (!open || open == file_end)
            return;
        if (colon && colon > open && read_digits(colon + 1, end - 1, line))
            file_end = colon;
        *name = text_of(part.text, open - 2);
        *file = text_of(open, file_end);
        return;
    }
    if (starts_with(part, "py::") && colon > part.text + 4) {
        *name = text_of(part.text + 4, colon);
        *file = text_of(colon + 1, end);
        return;
    }
    /* Tachyon writes -1 where there is no line. */
    if (colon && read_digits(colon + 1 + (colon + 1 < end && colon[1] == '-'), end, line)) {
        const size_t front = (size_t)(colon - part.text);
        const char *const before =
            is_tid ? memchr(part.text, ':', front) : memrchr(part.text, ':', front);
        if (before && (before > part.text || is_tid)) {
            *file = text_of(part.text, before);
            *name = text_of(before + 1, colon);
            *line = colon[1] == '-' ? 0 : *line;
            return;
        }
        *line = 0;
    }
    if (part.bytes > 2 && *part.text == '<')
        *file = (struct gather_text){ "~", 1 };
}

static enum err_code find_thread(struct collapsed *collapsed, const struct owner *owner,
                                 thread_id *out, struct err *err)
{
    const struct gather_text process = { collapsed->last + owner->process,
                                         owner->process_bytes };
    const struct gather_text thread = { collapsed->last + owner->thread, owner->thread_bytes };
    collapsed->has_threads |= owner->tid > 0;
    return gather_thread(collapsed->gather, owner->pid, process, owner->tid, 0, thread, out,
                         err);
}

/* Forgets what the last line has from a byte on, and keeps a copy of this one.  Returns where to go on reading: lines that follow
 * one another mostly differ in their innermost frames. */
static const char *share_stack(struct collapsed *collapsed, const char *line, size_t bytes)
{
    size_t shared = 0;
    const size_t most = bytes < collapsed->last_bytes ? bytes : collapsed->last_bytes;
    while (shared < most && line[shared] == collapsed->last[shared])
        shared++;
    while (collapsed->depth > 0) {
        const size_t end = collapsed->steps[collapsed->depth - 1].end;
        if (end < shared || (end == shared && (end == bytes || line[end] == ';')))
            break;
        collapsed->depth--;
    }
    const size_t from = collapsed->depth ? collapsed->steps[collapsed->depth - 1].end : 0;
    memcpy(collapsed->last + from, line + from, bytes - from);
    collapsed->last_bytes = bytes;
    return line + from + (collapsed->depth > 0);
}

static enum err_code read_stack(struct collapsed *collapsed, const char *line, size_t bytes,
                                uint64_t value, struct err *err)
{
    const char *const end = line + bytes, *at = share_stack(collapsed, line, bytes);
    enum err_code rc = ERR_OK;
    while (at < end && !rc) {
        const char *const mark = memchr(at, ';', (size_t)(end - at));
        const char *const stop = mark ? mark : end;
        const struct gather_text part = text_of(at, stop);
        struct step step = collapsed->depth
                               ? collapsed->steps[collapsed->depth - 1]
                               : (struct step){ .is_owner = true, .thread = IDMAP_NONE };
        at = stop + 1;
        step.end = (size_t)(stop - line);
        step.is_owner =
            step.is_owner && read_owner(part, line, collapsed->depth == 0, &step.owner);
        if (!step.is_owner && part.bytes > 0) {
            struct gather_text name, file;
            int64_t number;
            frame_id frame = 0;
            split_frame(part, step.owner.is_tid, &name, &file, &number);
            collapsed->has_files |= file.bytes > 1;
            collapsed->has_lines |= number > 0;
            name = without_escapes(name, collapsed->room);
            file = without_escapes(file, collapsed->room + INPUT_BYTES);
            rc = gather_frame(collapsed->gather, name, file, 0, number, &frame, err);
            if (!rc)
                rc = gather_child(collapsed->gather, step.node, frame, &step.node, err);
        }
        if (!VEC_RESERVE(collapsed->steps, collapsed->step_room, collapsed->depth + 1))
            return err_nomem(err);
        collapsed->steps[collapsed->depth++] = step;
    }
    struct step none = { .thread = IDMAP_NONE };
    struct step *const last =
        collapsed->depth ? &collapsed->steps[collapsed->depth - 1] : &none;
    if (!rc && last->thread == IDMAP_NONE)
        rc = find_thread(collapsed, &last->owner, &last->thread, err);
    if (!rc)
        rc = gather_sample(collapsed->gather, last->thread, STATE_ALL_UNKNOWN, last->node,
                           value, 0, err);
    return rc;
}

/* "# interval: 100" */
static void read_metadata(struct collapsed *collapsed, const char *line, size_t bytes)
{
    struct gather *const gather = collapsed->gather;
    const char *const end = line + bytes;
    const char *const colon = memmem(line, bytes, ": ", 2);
    if (!colon || bytes < 4)
        return;
    const struct gather_text key = text_of(line + 2, colon), value = text_of(colon + 2, end);
    int64_t number = 0;
    if (gather_text_is(key, "austin")) {
        char version[GATHER_TEXT_BYTES];
        gather_keep(version, value);
        snprintf(gather->tool, sizeof gather->tool, "Austin %.100s", version);
    } else if (gather_text_is(key, "mode")) {
        gather->is_time = !gather_text_is(value, "memory");
        if (!gather->is_time)
            snprintf(gather->counts, sizeof gather->counts, "bytes");
    } else if (gather_text_is(key, "python")) {
        snprintf(gather->python, sizeof gather->python, "%.*s",
                 (int)(value.bytes < 15 ? value.bytes : 15), value.text);
    } else if (gather_text_is(key, "interval") && read_digits(value.text, end, &number) &&
               number < 1000000000) {
        gather->interval_ns = (uint64_t)number * 1000;
    }
}

/* The start of the number of a line, also of one without frames; NULL: it has none.  Austin may write several: time, whether it was idle, memory. */
static const char *find_value(const char *line, size_t bytes, uint64_t *out)
{
    const char *const end = line + bytes;
    const char *const space = memrchr(line, ' ', bytes);
    int64_t value = 0;
    if (!space)
        return NULL;
    const char *const comma = memchr(space, ',', (size_t)(end - space));
    if (!read_digits(space + 1, comma ? comma : end, &value))
        return NULL;
    *out = (uint64_t)value;
    return space;
}

bool collapsed_begins(const unsigned char *data, size_t bytes)
{
    const char *line = (const char *)data, *const end = line + bytes;
    if (memchr(data, '\0', bytes))
        return false;
    while (line < end) {
        const char *const stop = memchr(line, '\n', (size_t)(end - line));
        const char *last = stop ? stop : end;
        uint64_t value;
        if (last > line && last[-1] == '\r')
            last--;
        /* The first line with a stack decides; if it is longer than what is there, its start does. */
        if (last > line && *line != '#')
            return find_value(line, (size_t)(last - line), &value) ||
                   (!stop && memchr(line, ';', (size_t)(last - line)) != NULL && *line != '{' &&
                    *line != '[');
        line = stop ? stop + 1 : end;
    }
    return false;
}

static enum err_code read_lines(struct collapsed *collapsed, struct input *input,
                                struct err *err)
{
    struct gather *const gather = collapsed->gather;
    enum err_code rc = ERR_OK;
    const char *line;
    size_t bytes;
    while (!rc && (line = input_line(input, &bytes))) {
        uint64_t value = 0;
        collapsed->lines++;
        if (bytes == 0)
            continue;
        if (*line == '#') {
            read_metadata(collapsed, line, bytes);
            continue;
        }
        const char *const end = find_value(line, bytes, &value);
        if (!end)
            return err_set(err, ERR_CORRUPT, "line %llu does not end with a space and a number",
                           (unsigned long long)collapsed->lines);
        if (gather->is_time && value > UINT64_MAX / 1000)
            return err_set(err, ERR_LIMIT, "line %llu: its number is too large",
                           (unsigned long long)collapsed->lines);
        rc = read_stack(collapsed, line, (size_t)(end - line),
                        gather->is_time ? value * 1000 : value, err);
        gather->sample_count += gather->is_time ? 1 : *gather->counts ? 0 : value;
    }
    return rc ? rc : input_check(input, err);
}

enum err_code collapsed_read(struct gather *gather, int fd, struct err *err)
{
    struct collapsed collapsed = { .gather = gather };
    struct input input;
    enum err_code rc = input_open(&input, fd, err);
    collapsed.room = malloc((size_t)2 * INPUT_BYTES);
    collapsed.last = malloc(INPUT_BYTES);
    if (!rc && (!collapsed.room || !collapsed.last))
        rc = err_nomem(err);
    if (!rc)
        rc = read_lines(&collapsed, &input, err);
    free(collapsed.room);
    free(collapsed.last);
    free(collapsed.steps);
    input_close(&input);
    snprintf(gather->lacks, sizeof gather->lacks, "states, times of day, order%s%s%s%s",
             gather->is_time || *gather->counts ? "" : ", the time of a sample",
             collapsed.has_threads ? "" : ", threads", collapsed.has_files ? "" : ", files",
             collapsed.has_lines ? "" : ", lines");
    return rc;
}
