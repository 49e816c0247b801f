#include <stdbool.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "server/report/encoding/html_escape.h"
#include "server/report/formats/heatmap.h"
#include "server/report/header.h"
#include "server/report/report.h"
#include "server/wire/session.h"

enum { TOP_LINES = 20 };

static bool contains(struct strtab_string text, const char *part)
{
    return memmem(text.text, text.length, part, strlen(part)) != NULL;
}

#define KINDS(X)                    \
    X(PROJECT, "Project")           \
    X(STANDARD, "Standard library") \
    X(PACKAGES, "Site packages")    \
    X(MARKS, "Not Python")

enum kind {
#define X(name, text) KIND_##name,
    KINDS(X)
#undef X
        KIND_COUNT
};

static enum kind kind_of(const struct heatmap *map, str_id file)
{
    const struct strtab_string name = heatmap_string(map, file);
    if (heatmap_is_marks(map, file))
        return KIND_MARKS;
    if (contains(name, "/site-packages/") || contains(name, "/dist-packages/"))
        return KIND_PACKAGES;
    if (contains(name, "/lib/python3") ||
        (name.length > 8 && !memcmp(name.text, "<frozen ", 8)))
        return KIND_STANDARD;
    return KIND_PROJECT;
}

static void put_kind(const struct heatmap *map, enum kind kind)
{
    static const char *const titles[] = {
#define X(name, text) text,
        KINDS(X)
#undef X
    };
    bool is_first = true;
    for (size_t i = 0; i < map->hot.file_count; i++) {
        const struct hotfile *const file = &map->hot.files[i];
        if (kind_of(map, file->file) != kind)
            continue;
        if (is_first) {
            buffer_printf(map->out, "<h2>%s</h2>\n<table class=\"files\">", titles[kind]);
            heatmap_put_table_head(map, "File");
        }
        is_first = false;
        buffer_printf(map->out, "<tr><td><a href=\"#f%zu\">", i);
        heatmap_put_file_name(map, file->file);
        buffer_text(map->out, "</a></td>");
        heatmap_put_numbers(map, file->self, file->total);
        buffer_text(map->out, "</tr>\n");
    }
    if (!is_first)
        buffer_text(map->out, "</tbody></table>\n");
}

/* The lines with most samples of their own, by repeated choice: there are few. */
static void put_top_lines(const struct heatmap *map)
{
    const struct hotlines *const hot = &map->hot;
    uint64_t last = UINT64_MAX;
    size_t last_at = 0;
    buffer_text(map->out, "<h2>Hottest lines</h2>\n<table class=\"files\">");
    heatmap_put_table_head(map, "Line");
    for (size_t shown = 0; shown < TOP_LINES; shown++) {
        size_t best = 0;
        for (size_t i = 1; i < hot->line_count; i++) {
            const uint64_t self = hot->lines[i].self;
            if (self > 0 && (self < last || (self == last && i > last_at)) &&
                (best == 0 || self > hot->lines[best].self))
                best = i;
        }
        if (best == 0)
            break;
        last = hot->lines[best].self;
        last_at = best;
        buffer_text(map->out, "<tr><td>");
        heatmap_put_link(map, &hot->lines[best]);
        buffer_text(map->out, "</td>");
        heatmap_put_numbers(map, hot->lines[best].self, hot->lines[best].total);
        buffer_text(map->out, "</tr>\n");
    }
    buffer_text(map->out, "</tbody></table>\n");
}

static void put_state(const struct heatmap *map, const char *name, int decimals, double value,
                      const char *unit)
{
    buffer_printf(map->out, "<div><dt>%s</dt><dd>%.*f%s</dd></div>", name, decimals, value,
                  unit);
}

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void put_facts(const struct heatmap *map)
{
    const struct quality *const quality = &map->snapshot->quality;
    buffer_text(map->out, "<dl class=\"facts\">");
    put_state(map, "Samples", 0, (double)map->hot.samples, "");
    put_state(map, "Duration", 2,
              (double)report_header_duration_ns(map->source->header) / (double)NS_PER_S, " s");
    put_state(map, "Looks a second", 1, session_rate_hz(map->snapshot), "");
    put_state(map, "Files", 0, (double)map->hot.file_count, "");
    put_state(map, "Exact", 2, share(quality->exact, quality->samples), " %");
    put_state(map, "Truncated", 2, share(quality->truncated, quality->samples), " %");
    put_state(map, "Missed looks", 2, share(quality->missed, quality->missed + quality->ticks),
              " %");
    buffer_text(map->out, "</dl>\n");
}

/* Text that holds no name as markup, whatever was selected. */
static void put_selection(const struct heatmap *map)
{
    struct buffer text = { 0 };
    report_header_put_text(map->source->header, &text);
    buffer_text(map->out, "<p class=\"selection\">Selected: ");
    html_put_string(
        map->out, (struct strtab_string){ text.data ? text.data : "", (uint32_t)text.length });
    buffer_printf(
        map->out, "</p>\n%s",
        map->source->header->is_whole
            ? ""
            : "<p class=\"note\">Looks a second and the shares of exact and truncated "
              "samples and of missed looks are of the whole session.</p>\n");
    buffer_deinit(&text);
}

static void put_choice(const struct heatmap *map, const char *type, const char *name,
                       const char *id, const char *label, bool checked)
{
    buffer_printf(map->out,
                  "<label><input type=\"%s\" name=\"%s\" id=\"%s\"%s> <span>%s</span></label>",
                  type, name, id, checked ? " checked" : "", label);
}

void heatmap_put_bar(const struct heatmap *map)
{
    buffer_text(map->out, "<header><a class=\"home\" href=\"#files\">All files</a>"
                          "<fieldset><legend>Colour by</legend>");
    put_choice(map, "radio", "by", "by-self", "self", true);
    put_choice(map, "radio", "by", "by-total", "total", false);
    buffer_text(map->out, "</fieldset><fieldset><legend>Show</legend>");
    put_choice(map, "checkbox", "hot", "hot-only", "only lines with samples", false);
    buffer_text(map->out, "</fieldset><fieldset><legend>Theme</legend>");
    put_choice(map, "radio", "theme", "theme-system", "system", true);
    put_choice(map, "radio", "theme", "theme-light", "light", false);
    put_choice(map, "radio", "theme", "theme-dark", "dark", false);
    buffer_text(map->out, "</fieldset></header>\n");
}

void heatmap_put_index(const struct heatmap *map)
{
    buffer_text(map->out, "<section id=\"files\"><h1>Where the time goes, line by line</h1>"
                          "<p class=\"command\"><bdi>");
    heatmap_put_command(map);
    buffer_printf(map->out, "</bdi> (process %d)</p>\n",
                  (int)map->source->session->target->pid);
    put_selection(map);
    put_facts(map);
    if (map->hot.samples == 0)
        buffer_text(map->out, "<p>There are no samples in this view.</p>\n");
    else
        put_top_lines(map);
    for (enum kind kind = 0; kind < KIND_COUNT; kind++)
        put_kind(map, kind);
    buffer_text(map->out, "<p class=\"note\">Self: samples in the line itself. Total: with all "
                          "it called; a stack counts once, however often a line is in "
                          "it.</p></section>\n");
}
