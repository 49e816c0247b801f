#include <inttypes.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/plain_text.h"
#include "sampler/base/utf8.h"
#include "sampler/profile/views/frame_filters.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/settings/state_words.h"
#include "server/wire/json.h"
#include "server/wire/measure.h"
#include "server/wire/rfc3339.h"

/* The sentence names so many processes or threads, and counts the others. */
enum { TEXT_MAX_NAMED = 4 };

/* "4.5 s": up to three decimals, at least one. */
static void put_seconds(struct buffer *out, uint64_t ns)
{
    const uint64_t ms = (ns + NS_PER_MS / 2) / NS_PER_MS;
    const unsigned rest = (unsigned)(ms % 1000);
    const int decimals = rest % 100 == 0 ? 1 : rest % 10 == 0 ? 2 : 3;
    buffer_printf(out, "%" PRIu64 ".%0*u s", ms / 1000, decimals,
                  decimals == 1   ? rest / 100
                  : decimals == 2 ? rest / 10
                                  : rest);
}

/* Puts the separator before item number `index` of `count`. */
static void put_comma(struct buffer *out, size_t index, size_t count)
{
    if (index > 0)
        buffer_text(out, index + 1 == count ? " and " : ", ");
}

static void put_processes(const struct report_header *header, struct buffer *out)
{
    const size_t count = header->process_count;
    if (count <= 1 && header->has_all_processes) {
        buffer_printf(out, "; process %d", (int)header->target.pid);
        return;
    }
    if (header->has_all_processes) {
        buffer_printf(out, "; all %zu processes", count);
        return;
    }
    buffer_text(out, count == 1 ? "; process " : count == 0 ? "; no process" : "; processes ");
    for (size_t i = 0; i < count && i < TEXT_MAX_NAMED; i++) {
        put_comma(out, i, count);
        buffer_printf(out, "%d", (int)header->pids[i]);
    }
    if (count > TEXT_MAX_NAMED)
        buffer_printf(out, " and %zu more", count - TEXT_MAX_NAMED);
}

static size_t filter_count(const struct report_header *header)
{
    return header->filters ? header->filters->count : 0;
}

static void put_pattern(const struct report_header *header, size_t index, struct buffer *out)
{
    const char *const text =
        header->is_anonymized ? "[anonymized]" : header->filters->items[index].pattern;
    plain_text_put(out, text, strlen(text));
}

void report_header_put_text(const struct report_header *header, struct buffer *out)
{
    if (header->from_ns == 0 && header->to_ns == header->session_ns) {
        buffer_text(out, "all ");
    } else {
        put_seconds(out, header->from_ns);
        buffer_text(out, " to ");
        put_seconds(out, header->to_ns);
        buffer_text(out, " of ");
    }
    put_seconds(out, header->session_ns);

    put_processes(header, out);

    const size_t count = header->thread_count;
    buffer_text(out, count == 0 ? "" : count == 1 ? "; thread " : "; threads ");
    for (size_t i = 0; i < count && i < TEXT_MAX_NAMED; i++) {
        const struct report_header_thread *const thread = &header->threads[i];
        const bool is_named = thread->name.length > 0 && !header->is_anonymized;
        put_comma(out, i, count);
        if (is_named)
            plain_text_put(out, thread->name.text, thread->name.length);
        buffer_printf(out, is_named ? " (%d)" : "%d", (int)thread->tid);
    }
    if (count > TEXT_MAX_NAMED)
        buffer_printf(out, " and %zu more", count - TEXT_MAX_NAMED);

    if (!header->is_of_time)
        buffer_printf(out, "; %s in %s", header->measure->title, header->measure->unit);
    else
        state_words_put_phrases(out, "; ", &header->states);
    for (size_t i = 0; i < filter_count(header); i++) {
        buffer_printf(out, "; %s ", frame_filter_name(header->filters->items[i].kind));
        put_pattern(header, i, out);
    }
    if (header->native)
        buffer_printf(out, "; native frames: %s", native_frames_texts[header->native]);
}

/* A member whose text stands in the buffer, which is emptied. */
static void put_buffer(struct json *json, const char *key, struct buffer *text)
{
    json_member_buffer(json, key, text);
    buffer_clear(text);
}

void report_header_write(const struct report_header *header, struct json *json)
{
    struct buffer text = { 0 };
    json_object(json);
    report_header_put_text(header, &text);
    put_buffer(json, "text", &text);
    json_member_bool(json, "whole", header->is_whole);
    json_member_ns(json, "from_s", header->from_ns);
    json_member_ns(json, "to_s", header->to_ns);
    json_member_ns(json, "duration_s", report_header_duration_ns(header));
    json_member_ns(json, "session_s", header->session_ns);
    rfc3339_write_ms(json, "started_at", header->began_at_ns);
    rfc3339_write_ms(json, "ended_at", header->ended_at_ns);
    json_member_uint(json, "samples", header->samples);
    if (header->is_of_time) {
        json_member_ns(json, "seconds", header->ns);
    } else {
        json_key(json, "measure");
        measure_write(json, header->measure, header->ns);
    }

    json_member_uint(json, "process_count", header->process_count);
    json_member_array(json, "processes");
    for (size_t i = 0; i < header->process_count && i < REPORT_HEADER_MAX_NAMED; i++)
        json_int(json, header->pids[i]);
    json_end(json);

    json_member_uint(json, "thread_count", header->thread_count);
    json_member_array(json, "threads");
    for (size_t i = 0; i < header->thread_count && i < REPORT_HEADER_MAX_NAMED; i++)
        json_int(json, header->threads[i].tid);
    json_end(json);

    state_words_put(&text, &header->states);
    put_buffer(json, "state", &text);
    state_words_put_parts(&text, header->states.parts);
    put_buffer(json, "parts", &text);

    json_member_array(json, "filters");
    for (size_t i = 0; i < filter_count(header); i++) {
        json_object(json);
        json_member_text(json, "filter", frame_filter_name(header->filters->items[i].kind));
        put_pattern(header, i, &text);
        put_buffer(json, "pattern", &text);
        json_end(json);
    }
    json_end(json);

    if (header->native) {
        json_member_text(json, "native", native_frames_texts[header->native]);
    }
    json_end(json);
    buffer_deinit(&text);
}

void report_header_put_whole(const struct report_header *header, const char *of_time,
                             struct buffer *out)
{
    const bool is_own = header->measure->title != header->measure->name;
    if (header->is_of_time)
        buffer_text(out, of_time);
    else
        buffer_printf(out, "%s%s", is_own ? "the " : "", header->measure->title);
}

void report_header_put_process(const struct report_header *header,
                               const struct session_target *target, struct buffer *out)
{
    const size_t count = header->process_count;
    buffer_printf(out, "process %d", (int)target->pid);
    if (count > 1)
        buffer_printf(out, " and %zu other%s", count - 1, count > 2 ? "s" : "");
}

void report_header_put_command(const struct session_target *target, struct buffer *out)
{
    struct buffer words = { 0 };
    for (size_t i = 0; i < target->argc && words.length <= REPORT_COMMAND_BYTES; i++)
        buffer_printf(&words, "%s%.*s", i > 0 ? " " : "", REPORT_COMMAND_BYTES + 1,
                      target->argv[i]);
    if (words.length > 0) {
        const size_t length = utf8_cut(words.data, words.length, REPORT_COMMAND_BYTES);
        plain_text_put(out, words.data, length);
        buffer_text(out, length < words.length ? "\u2026" : "");
    }
    buffer_deinit(&words);
}
