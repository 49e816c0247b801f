#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/profile.h"
#include "server/report/encoding/html_escape.h"
#include "server/report/formats/heatmap.h"
#include "server/report/names.h"
#include "server/report/report.h"
#include "server/wire/session.h"

enum { LEVELS = 8 };

struct strtab_string heatmap_string(const struct heatmap *map, str_id id)
{
    return profile_string(map->snapshot, id);
}

double heatmap_percent(const struct heatmap *map, uint64_t samples)
{
    return map->hot.samples > 0 ? 100.0 * (double)samples / (double)map->hot.samples : 0;
}

/* From cold to hot as many steps as there are colours; each is many times the one before. */
int heatmap_level(uint64_t samples, uint64_t most)
{
    if (samples == 0 || most == 0)
        return 0;
    const double share = log1p((double)samples) / log1p((double)most);
    const int step = (int)ceil(share * (LEVELS - 1));
    return step < 1 ? 1 : step < LEVELS ? step : LEVELS - 1;
}

bool heatmap_is_marks(const struct heatmap *map, str_id file)
{
    const struct strtab_string name = heatmap_string(map, file);
    return name.length == 1 && name.text[0] == '~';
}

void heatmap_put_file_name(const struct heatmap *map, str_id file)
{
    if (heatmap_is_marks(map, file))
        buffer_text(map->out, "C code, garbage collector and other marks");
    else if (heatmap_string(map, file).length == 0)
        buffer_text(map->out, "(no file)");
    else
        html_put_string(map->out, heatmap_string(map, file));
}

/* Where the line stands in this document. */
void heatmap_put_anchor(const struct heatmap *map, uint32_t file_number, int32_t line,
                        function_id mark)
{
    if (mark)
        buffer_printf(map->out, "f%u-m%u", file_number, mark);
    else
        buffer_printf(map->out, "f%u-%d", file_number, (int)line);
}

void heatmap_put_numbers(const struct heatmap *map, uint64_t self, uint64_t total)
{
    buffer_printf(map->out,
                  "<td class=\"n s%d\">%" PRIu64 "</td><td class=\"n\">%.2f %%</td>"
                  "<td class=\"n t%d\">%" PRIu64 "</td><td class=\"n\">%.2f %%</td>",
                  heatmap_level(self, map->hot.samples), self, heatmap_percent(map, self),
                  heatmap_level(total, map->hot.samples), total, heatmap_percent(map, total));
}

static const char table_head[] =
    "<thead><tr><th>%s</th><th class=\"n\" colspan=\"2\">Self</th>"
    "<th class=\"n\" colspan=\"2\">Total</th></tr></thead><tbody>\n";

void heatmap_put_table_head(const struct heatmap *map, const char *title)
{
    const char *const gap = strstr(table_head, "%s");
    buffer_append(map->out, table_head, (size_t)(gap - table_head));
    buffer_text(map->out, title);
    buffer_text(map->out, gap + 2);
}

static void put_place(const struct heatmap *map, const struct hotline *line)
{
    if (line->mark) {
        html_put_string(map->out, names_function(map->snapshot, line->mark).name);
        return;
    }
    html_put_string(map->out, names_base(heatmap_string(map, line->file)));
    buffer_printf(map->out, ":%d", (int)line->line);
}

void heatmap_put_link(const struct heatmap *map, const struct hotline *line)
{
    buffer_text(map->out, "<a href=\"#");
    heatmap_put_anchor(map, map->hot.file_number[line->file], line->line, line->mark);
    buffer_text(map->out, "\">");
    put_place(map, line);
    buffer_text(map->out, "</a>");
}

void heatmap_put_command(const struct heatmap *map)
{
    const struct sampler_target *const target = map->source->session->target;
    for (size_t i = 0; i < target->argc; i++) {
        buffer_text(map->out, i > 0 ? " " : "");
        html_put_text(map->out, target->argv[i]);
    }
}
