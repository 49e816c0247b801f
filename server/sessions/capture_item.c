#include "server/sessions/capture_item.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/first_word.h"
#include "sampler/capture/metadata.h"
#include "sampler/capture/reader.h"

void captures_item_destroy(struct captures_item *item)
{
    if (item) {
        free(item->texts);
        free(item->argv);
    }
    free(item);
}

/* Copies a text to *at, which moves behind it. */
static const char *keep_text(char **at, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *const kept = memcpy(*at, text, bytes);
    *at += bytes;
    return kept;
}

static void take_texts(struct captures_item *item, const struct capture_metadata *info,
                       bool hides_arguments)
{
    struct capture_entry *const entry = &item->entry;

    size_t bytes = strlen(info->executable) + strlen(info->python) + strlen(info->host) +
                   strlen(info->user) + strlen(info->reason) + 5;
    for (size_t i = 0; i < info->argv.count; i++)
        bytes += strlen(info->argv.items[i]) + 1;
    char *at = item->texts = malloc(bytes);

    item->argv = calloc(info->argv.count + 1, sizeof *item->argv);
    if (!at || !item->argv)
        return;
    entry->executable = keep_text(&at, info->executable);
    entry->python = keep_text(&at, info->python);
    entry->host = keep_text(&at, info->host);
    entry->user = keep_text(&at, info->user);
    entry->reason = keep_text(&at, info->reason);
    char *const first = at;
    for (size_t i = 0; i < info->argv.count; i++)
        item->argv[i] = keep_text(&at, info->argv.items[i]);
    entry->argc = hides_arguments ? first_word_keep(info->argv.count, first) : info->argv.count;
    entry->argv = item->argv;
}

void capture_item_read(struct captures_item *item, int fd, bool hides_arguments)
{
    struct err err = { 0 };
    struct capture_entry *const entry = &item->entry;
    struct reader *reader = NULL;
    free(item->texts);
    free(item->argv);
    item->texts = NULL;
    item->argv = NULL;
    item->has_end = entry->has_no_arguments = false;
    entry->fault = NULL;
    entry->argc = 0;
    entry->executable = entry->python = entry->host = entry->user = entry->reason = "";
    if (reader_open_fd(fd, &reader, &err)) {
        snprintf(item->fault, sizeof item->fault, "cannot read '%s.pyro': %.180s", entry->name,
                 err.message);
        entry->fault = item->fault;
        return;
    }

    /* Facts of the start, and of the end where there is one. */
    const struct capture_metadata *info = reader_metadata(reader);
    entry->pid = info->pid;
    entry->started_at_ns = info->started_at_ns;
    entry->ended_at_ns = info->ended_at_ns;
    entry->elapsed_ns = info->elapsed_ns;
    entry->rate_hz = (double)info->rate_uhz / 1e6;
    entry->has_no_arguments = info->hides_arguments != 0;
    take_texts(item, info, hides_arguments);

    item->has_end = reader_has_end(reader);
    reader_close(reader);
}
