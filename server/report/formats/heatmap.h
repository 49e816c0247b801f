/*
 * heatmap - the page of source lines, in pieces: the list of files (heatmap_index.c), a file
 * (heatmap.c) and what both are made of (heatmap_parts.c).
 *
 * Private to the heat map.
 *
 * Depends on: hotlines, markup, names, buffer.
 */
#ifndef SERVER_REPORT_FORMATS_HEATMAP_H
#define SERVER_REPORT_FORMATS_HEATMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/buffer.h"
#include "server/report/hotlines.h"

struct report_source;

struct heatmap {
    const struct report_source *source;
    const struct profile_snapshot *snapshot;
    struct buffer *out;
    struct hotlines hot;
    struct buffer text; /* of the file at hand */
    size_t text_bytes;  /* embedded so far */
};

struct strtab_string heatmap_string(const struct heatmap *map, str_id id);
double heatmap_percent(const struct heatmap *map, uint64_t samples);
/* Which of the colours, 0 to 7. */
int heatmap_level(uint64_t samples, uint64_t most);
/* The file "~", whose lines are marks. */
bool heatmap_is_marks(const struct heatmap *map, str_id file);

void heatmap_put_file_name(const struct heatmap *map, str_id file);
/* The id that a line has in the page. */
void heatmap_put_anchor(const struct heatmap *map, uint32_t file_number, int32_t line,
                        function_id mark);
void heatmap_put_link(const struct heatmap *map, const struct hotline *line);
void heatmap_put_numbers(const struct heatmap *map, uint64_t self, uint64_t total);
void heatmap_put_table_head(const struct heatmap *map, const char *title);
void heatmap_put_command(const struct heatmap *map);

void heatmap_put_bar(const struct heatmap *map);
void heatmap_put_index(const struct heatmap *map);

#endif /* SERVER_REPORT_FORMATS_HEATMAP_H */
