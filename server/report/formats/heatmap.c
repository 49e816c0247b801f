#include "server/report/formats/heatmap.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/profile.h"
#include "server/report/encoding/html_escape.h"
#include "server/report/names.h"
#include "server/report/report.h"
#include "server/source/source.h"
#include "server/wire/assets.h"
#include "server/wire/session.h"

/* Of one file, of all files; what is more is shown by its lines with samples alone. */
enum { MAX_FILE_LINES = 20000, MAX_TEXT_BYTES = 32 << 20 };
enum { MAX_LINKS = 12, CONTEXT_LINES = 2 };

/* Lines that call a function, or functions that a line calls. */
static void put_callers(const struct heatmap *map, function_id function)
{
    size_t first = 0;
    const size_t end = hotlines_callers(&map->hot, function, &first);
    if (first == end)
        return;
    buffer_text(map->out, "<h4>Called from</h4><ul>");
    for (size_t i = first; i < end && i < first + MAX_LINKS; i++) {
        const struct flat_edge *const edge = &map->hot.by_line.edges[map->hot.callers[i]];
        buffer_text(map->out, "<li>");
        heatmap_put_link(map, &map->hot.lines[edge->caller]);
        buffer_printf(map->out, " <b>%" PRIu64 "</b></li>", edge->count);
    }
    if (end - first > MAX_LINKS)
        buffer_printf(map->out, "<li>and %zu more</li>", end - first - MAX_LINKS);
    buffer_text(map->out, "</ul>");
}

static void put_function_link(const struct heatmap *map, function_id id)
{
    const struct named_frame function = names_function(map->snapshot, id);
    const str_id file = profile_function_at(map->snapshot, id).file;
    buffer_text(map->out, "<a href=\"#");
    heatmap_put_anchor(map, map->hot.file_number[file], function.first_line,
                       function.is_synthetic ? id : 0);
    buffer_text(map->out, "\"><bdi>");
    html_put_string(map->out, function.name);
    buffer_text(map->out, "</bdi></a>");
}

static void put_callees(const struct heatmap *map, const struct hotline *line)
{
    if (line->call_count == 0)
        return;
    buffer_text(map->out, "<h4>Calls</h4><ul>");
    for (size_t i = 0; i < line->call_count && i < MAX_LINKS; i++) {
        const struct flat_edge *const edge =
            &map->hot.by_line.edges[map->hot.calls[line->first_call + i]];
        buffer_text(map->out, "<li>");
        put_function_link(map, edge->callee);
        buffer_printf(map->out, " <b>%" PRIu64 "</b></li>", edge->count);
    }
    if (line->call_count > MAX_LINKS)
        buffer_printf(map->out, "<li>and %zu more</li>", line->call_count - MAX_LINKS);
    buffer_text(map->out, "</ul>");
}

/* The instructions of a line; returns where those of later lines begin. */
static void put_spots(const struct heatmap *map, const struct hotspot *spots, size_t count)
{
    if (count == 0)
        return;
    buffer_text(map->out, "<h4>Instructions</h4><ul>");
    for (size_t i = 0; i < count; i++) {
        const struct profile_spot spot = profile_spot_at(map->snapshot, spots[i].spot);
        buffer_text(map->out, "<li><span><code>");
        html_put_string(map->out, heatmap_string(map, spot.opcode));
        buffer_text(map->out, "</code>");
        if (spot.base != spot.opcode) {
            buffer_text(map->out, " <i>a form of ");
            html_put_string(map->out, heatmap_string(map, spot.base));
            buffer_text(map->out, "</i>");
        }
        if (spot.column >= 0 && spot.end_column > spot.column)
            buffer_printf(map->out, " columns %d to %d", (int)spot.column + 1,
                          (int)spot.end_column);
        buffer_printf(map->out, "</span> <b>%" PRIu64 "</b>", spots[i].self);
        if (spots[i].total > spots[i].self)
            buffer_printf(map->out, " of %" PRIu64 " with calls", spots[i].total);
        buffer_text(map->out, "</li>");
    }
    buffer_text(map->out, "</ul>");
}

/* What is known of a line beside its text. */
struct row {
    int32_t number;
    const struct hotline *line;   /* NULL: no samples */
    const function_id *functions; /* that begin here */
    size_t function_count;
    const struct hotspot *spots;
    size_t spot_count;
};

static bool has_callers(const struct heatmap *map, const struct row *row)
{
    for (size_t i = 0; i < row->function_count; i++) {
        size_t first = 0;
        if (hotlines_callers(&map->hot, row->functions[i], &first) > first)
            return true;
    }
    return false;
}

static void put_more(const struct heatmap *map, const struct row *row)
{
    const bool calls = row->line && row->line->call_count > 0;
    const bool called = has_callers(map, row);
    buffer_text(map->out, "<td>");
    if (calls || called || row->spot_count > 0) {
        buffer_printf(map->out, "<details><summary>%s%s%s</summary><div>",
                      called ? "\xe2\x96\xb2 callers " : "", calls ? "\xe2\x96\xbc calls " : "",
                      row->spot_count > 0 ? "\xe2\x8b\xaf instructions" : "");
        for (size_t i = 0; i < row->function_count; i++)
            put_callers(map, row->functions[i]);
        if (calls)
            put_callees(map, row->line);
        put_spots(map, row->spots, row->spot_count);
        buffer_text(map->out, "</div></details>");
    }
    buffer_text(map->out, "</td>");
}

static void put_count(const struct heatmap *map, uint64_t count)
{
    if (count > 0)
        buffer_printf(map->out, "<td class=\"n\">%" PRIu64 "</td>", count);
    else
        buffer_text(map->out, "<td></td>");
}

static void put_row(const struct heatmap *map, uint32_t file_number, const struct row *row,
                    const char *text, size_t length)
{
    const function_id mark = row->line ? row->line->mark : 0;
    const uint64_t self = row->line ? row->line->self : 0;
    const uint64_t total = row->line ? row->line->total : 0;
    buffer_text(map->out, "<tr id=\"");
    heatmap_put_anchor(map, file_number, row->number, mark);
    if (total > 0)
        buffer_printf(map->out, "\" class=\"s%d t%d\"><td class=\"n\">",
                      heatmap_level(self, map->hot.max_self),
                      heatmap_level(total, map->hot.max_total));
    else
        buffer_text(map->out, "\" class=\"cold\"><td class=\"n\">");
    if (!mark) {
        buffer_text(map->out, "<a href=\"#");
        heatmap_put_anchor(map, file_number, row->number, 0);
        buffer_printf(map->out, "\">%d</a>", (int)row->number);
    }
    buffer_text(map->out, "</td>");
    put_count(map, self);
    put_count(map, total);
    buffer_text(map->out, "<td class=\"code\">");
    html_put(map->out, text, length);
    buffer_text(map->out, "</td>");
    put_more(map, row);
    buffer_text(map->out, "</tr>\n");
}

/* Walks a file's lists side by side, line after line. */
struct cursor {
    const struct heatmap *map;
    uint32_t file_number;
    size_t line, line_end, function, function_end, spot, spot_end;
};

static struct cursor cursor_of(const struct heatmap *map, uint32_t file_number)
{
    const struct hotfile *const file = &map->hot.files[file_number];
    return (struct cursor){ .map = map,
                            .file_number = file_number,
                            .line = file->first_line,
                            .line_end = file->first_line + file->line_count,
                            .function = file->first_function,
                            .function_end = file->first_function + file->function_count,
                            .spot = file->first_spot,
                            .spot_end = file->first_spot + file->spot_count };
}

static int32_t function_line(const struct cursor *at)
{
    return profile_function_at(at->map->snapshot, at->map->hot.functions[at->function])
        .first_line;
}

static int32_t spot_line(const struct cursor *at)
{
    return profile_spot_at(at->map->snapshot, at->map->hot.spots[at->spot].spot).line;
}

/* The row of a line; what lies before it is passed over. */
static struct row take_row(struct cursor *at, int32_t number)
{
    const struct hotlines *const hot = &at->map->hot;
    struct row row = { .number = number };
    while (at->line < at->line_end && hot->lines[at->line].line < number)
        at->line++;
    if (at->line < at->line_end && hot->lines[at->line].line == number)
        row.line = &hot->lines[at->line];
    while (at->function < at->function_end && function_line(at) < number)
        at->function++;
    row.functions = &hot->functions[at->function];
    for (; at->function < at->function_end && function_line(at) == number; at->function++)
        row.function_count++;
    while (at->spot < at->spot_end && spot_line(at) < number)
        at->spot++;
    row.spots = hot->spots ? &hot->spots[at->spot] : NULL;
    for (; at->spot < at->spot_end && spot_line(at) == number; at->spot++)
        row.spot_count++;
    return row;
}

/* The next line about which something is known, at `from` or after it; 0: none. */
static int32_t next_line(const struct cursor *at, int32_t from)
{
    const struct hotlines *const hot = &at->map->hot;
    size_t line = at->line;
    struct cursor other = *at;
    int32_t best = 0;
    while (line < at->line_end && (hot->lines[line].line < from || hot->lines[line].total == 0))
        line++;
    if (line < at->line_end)
        best = hot->lines[line].line;
    while (other.function < other.function_end && function_line(&other) < from)
        other.function++;
    if (other.function < other.function_end && (best == 0 || function_line(&other) < best))
        best = function_line(&other);
    return best;
}

/* All lines, or those about which something is known with what stands around them. */
static void put_text_lines(const struct heatmap *map, uint32_t file_number, bool whole)
{
    struct cursor cursor = cursor_of(map, file_number);
    const char *at = map->text.data, *const end = at + map->text.length;
    int32_t wanted = next_line(&cursor, 1), number = 1, last = 0;
    for (; at < end && number < INT32_MAX; number++) {
        const char *const newline = memchr(at, '\n', (size_t)(end - at));
        const char *const stop = newline ? newline : end;
        const size_t length = (size_t)(stop - at) - (stop > at && stop[-1] == '\r');
        if (wanted > 0 && number > wanted) {
            last = wanted;
            wanted = next_line(&cursor, number);
        }
        const bool is_near = (wanted > 0 && number >= wanted - CONTEXT_LINES) ||
                             (last > 0 && number <= last + CONTEXT_LINES);
        if (whole || is_near) {
            const struct row row = take_row(&cursor, number);
            put_row(map, file_number, &row, at, length);
        }
        at = newline ? newline + 1 : end;
    }
    /* The file may have been longer when it was run. */
    for (wanted = next_line(&cursor, number); wanted > 0;
         wanted = next_line(&cursor, wanted + 1)) {
        const struct row row = take_row(&cursor, wanted);
        put_row(map, file_number, &row, "", 0);
    }
}

static void put_bare_lines(const struct heatmap *map, uint32_t file_number)
{
    struct cursor cursor = cursor_of(map, file_number);
    for (int32_t wanted = next_line(&cursor, 1); wanted > 0;
         wanted = next_line(&cursor, wanted + 1)) {
        const struct row row = take_row(&cursor, wanted);
        const struct named_frame function =
            row.function_count > 0 ? names_function(map->snapshot, row.functions[0])
                                   : (struct named_frame){ .name = { "", 0 } };
        put_row(map, file_number, &row, function.name.text, function.name.length);
    }
}

/* Samples whose line is not known, or below 1, which no text has. */
static void put_unknown_line(const struct heatmap *map, uint32_t file_number)
{
    const struct hotfile *const file = &map->hot.files[file_number];
    for (size_t i = file->first_line; i < file->first_line + file->line_count; i++) {
        const struct hotline *const line = &map->hot.lines[i];
        const struct row row = { .number = line->line, .line = line };
        if (line->mark || line->line >= 1 || line->total == 0)
            continue;
        put_row(map, file_number, &row, "(line not known)", 16);
    }
}

static void put_marks(const struct heatmap *map, uint32_t file_number)
{
    const struct hotfile *const file = &map->hot.files[file_number];
    for (size_t i = file->first_line; i < file->first_line + file->line_count; i++) {
        const struct hotline *const line = &map->hot.lines[i];
        const struct row row = { .line = line, .functions = &line->mark, .function_count = 1 };
        const struct strtab_string name = names_function(map->snapshot, line->mark).name;
        if (line->mark && line->total > 0)
            put_row(map, file_number, &row, name.text, name.length);
    }
}

static void put_outline(const struct heatmap *map, const struct hotfile *file)
{
    if (file->function_count == 0 || heatmap_is_marks(map, file->file))
        return;
    buffer_printf(map->out,
                  "<details class=\"outline\"><summary>%zu functions</summary>"
                  "<table class=\"files\">",
                  file->function_count);
    heatmap_put_table_head(map, "Function");
    for (size_t i = 0; i < file->function_count; i++) {
        const function_id id = map->hot.functions[file->first_function + i];
        buffer_text(map->out, "<tr><td>");
        put_function_link(map, id);
        buffer_text(map->out, "</td>");
        heatmap_put_numbers(map, map->hot.by_function.self[id], map->hot.by_function.total[id]);
        buffer_text(map->out, "</tr>\n");
    }
    buffer_text(map->out, "</tbody></table></details>\n");
}

static size_t count_lines(const struct buffer *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->length; i++)
        lines += text->data[i] == '\n';
    return lines;
}

static void put_note(const struct heatmap *map, const char *text)
{
    buffer_printf(map->out, "<p class=\"note\">%s</p>\n", text);
}

/* Reads the file's text and says what there is to say about it.  false: there is none. */
static bool read_text(struct heatmap *map, const struct hotfile *file)
{
    const struct strtab_string path = heatmap_string(map, file->file);
    const uint64_t began_ns = map->source->session->status.started_at_ns;
    struct err why = { 0 };
    uint64_t changed_ns = 0;
    buffer_clear(&map->text);
    if (map->source->settings.no_source || !map->source->files || path.length == 0 ||
        path.text[0] != '/') {
        put_note(map, map->source->settings.no_source ? "The source was left out."
                                                      : "The source is not at hand.");
        return false;
    }
    if (source_read(map->source->files, map->snapshot,
                    &map->hot.functions[file->first_function], file->function_count, &map->text,
                    &changed_ns, &why) != ERR_OK) {
        buffer_text(map->out, "<p class=\"note\">No source: ");
        html_put_text(map->out, why.message);
        buffer_text(map->out, ".</p>\n");
        return false;
    }
    if (began_ns > 0 && changed_ns > began_ns)
        put_note(map, "The file was changed after recording began: lines may have moved.");
    return true;
}

static void put_lines(struct heatmap *map, uint32_t file_number)
{
    const struct hotfile *const file = &map->hot.files[file_number];
    const bool has_text = !heatmap_is_marks(map, file->file) && read_text(map, file);
    const bool whole = has_text && count_lines(&map->text) <= MAX_FILE_LINES &&
                       map->text_bytes + map->text.length <= MAX_TEXT_BYTES;
    if (has_text && !whole)
        put_note(map,
                 "Of this long file only the surroundings of lines with samples are here.");
    if (whole)
        map->text_bytes += map->text.length;
    buffer_text(map->out, "<table class=\"lines\"><thead><tr><th class=\"n\">Line</th>"
                          "<th class=\"n\">Self</th><th class=\"n\">Total</th><th>Code</th>"
                          "<th><span class=\"quiet\">Calls</span></th></tr></thead><tbody>\n");
    put_unknown_line(map, file_number);
    if (heatmap_is_marks(map, file->file))
        put_marks(map, file_number);
    else if (has_text)
        put_text_lines(map, file_number, whole);
    else
        put_bare_lines(map, file_number);
    buffer_text(map->out, "</tbody></table>\n");
}

static void put_file(struct heatmap *map, uint32_t file_number)
{
    const struct hotfile *const file = &map->hot.files[file_number];
    buffer_printf(map->out, "<section class=\"file\" id=\"f%u\"><h1><bdi>", file_number);
    heatmap_put_file_name(map, file->file);
    buffer_printf(map->out,
                  "</bdi></h1><p>Self %" PRIu64 " (%.2f %%), total %" PRIu64
                  " (%.2f %%) of %" PRIu64 " samples</p>\n",
                  file->self, heatmap_percent(map, file->self), file->total,
                  heatmap_percent(map, file->total), map->hot.samples);
    put_outline(map, file);
    put_lines(map, file_number);
    buffer_text(map->out, "</section>\n");
}

static enum err_code put_document(struct heatmap *map, struct err *err)
{
    const struct asset head = asset_heatmap_head();
    buffer_text(map->out, "<!doctype html>\n<html lang=\"en\"><head>");
    buffer_append(map->out, head.data, head.bytes);
    buffer_text(map->out, "<title>Heat map: ");
    heatmap_put_command(map);
    buffer_text(map->out, "</title></head>\n<body>");
    heatmap_put_bar(map);
    buffer_text(map->out, "<main>\n");
    heatmap_put_index(map);
    for (size_t i = 0; i < map->hot.file_count; i++) {
        put_file(map, (uint32_t)i);
        if (buffer_check(map->out, err) != ERR_OK)
            return ERR_NOMEM;
    }
    buffer_text(map->out, "</main></body></html>\n");
    return buffer_check(map->out, err);
}

enum err_code report_write_heatmap(const struct report_source *source, struct buffer *out,
                                   struct err *err)
{
    struct heatmap map = { .source = source, .snapshot = source->snapshot, .out = out };
    enum err_code rc = hotlines_init(&map.hot, source, err);
    if (rc != ERR_OK)
        return rc;
    rc = put_document(&map, err);
    hotlines_deinit(&map.hot);
    buffer_deinit(&map.text);
    return rc;
}
