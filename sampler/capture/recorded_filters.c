#include "sampler/capture/recorded_filters.h"

#include <stdio.h>
#include <string.h>

#include "sampler/capture/metadata.h"

static const size_t lists[FRAME_FILTER_KIND_COUNT] = {
    [FRAME_FILTER_FOCUS] = offsetof(struct capture_metadata, focus),
    [FRAME_FILTER_IGNORE] = offsetof(struct capture_metadata, ignore),
    [FRAME_FILTER_HIDE] = offsetof(struct capture_metadata, hide),
    [FRAME_FILTER_SHOW] = offsetof(struct capture_metadata, show),
    [FRAME_FILTER_SHOW_FROM] = offsetof(struct capture_metadata, show_from),
};

void recorded_filters_put(const struct frame_filters *filters,
                          struct recorded_filters_room *room, struct capture_metadata *out)
{
    size_t counts[FRAME_FILTER_KIND_COUNT] = { 0 };
    memset(room, 0, sizeof *room);
    for (size_t i = 0; i < filters->count; i++) {
        const struct frame_filter *const filter = &filters->items[i];
        room->patterns[filter->kind][counts[filter->kind]++] = filter->pattern;
    }
    for (enum frame_filter_kind kind = 0; kind < FRAME_FILTER_KIND_COUNT; kind++) {
        const struct capture_texts *const list =
            &(struct capture_texts){ counts[kind], room->patterns[kind] };
        memcpy((char *)out + lists[kind], list, sizeof *list);
    }
}

void recorded_filters_take(const struct capture_metadata *metadata, struct frame_filters *out,
                           char ignored_out[RECORDED_FILTERS_TEXT_BYTES])
{
    size_t ignored = 0, length = 0;
    struct err why = { 0 };
    *out = (struct frame_filters){ 0 };
    ignored_out[0] = '\0';
    for (enum frame_filter_kind kind = 0; kind < FRAME_FILTER_KIND_COUNT; kind++) {
        const struct capture_texts *const list =
            (const void *)((const char *)metadata + lists[kind]);
        for (size_t i = 0; i < list->count; i++) {
            if (!frame_filters_add(out, kind, list->items[i], &why) || ignored++ > 0)
                continue;
            length = (size_t)snprintf(ignored_out, RECORDED_FILTERS_TEXT_BYTES,
                                      "its filter %s '%.64s' is ignored: %.120s",
                                      frame_filter_name(kind), list->items[i], why.message);
        }
    }
    if (ignored > 1)
        snprintf(ignored_out + length, RECORDED_FILTERS_TEXT_BYTES - length,
                 "; so are %zu more", ignored - 1);
}
