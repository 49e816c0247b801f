#define _GNU_SOURCE
#include "sampler/process/maps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/scoped.h"
#include "sampler/base/vec.h"
#include "sampler/process/procfs.h"
#include "sampler/process/stored_process.h"

static enum err_code parse_line(const char *line, size_t length, struct mapping *out,
                                struct err *err)
{
    char permissions[5] = "";
    int path_at = 0;
    SCOPED_FREE char *text = malloc(length + 1);
    if (!text)
        return err_nomem(err);
    memcpy(text, line, length);
    text[length] = '\0';
    if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
               &out->start, &out->end, permissions, &out->offset, &out->device_major,
               &out->device_minor, &out->inode, &path_at) < 7)
        return err_set(err, ERR_CORRUPT, "cannot parse the mapping '%.*s'",
                       (int)(length > 80 ? 80 : length), text);
    out->readable = permissions[0] == 'r';
    out->writable = permissions[1] == 'w';
    out->executable = permissions[2] == 'x';
    out->shared = permissions[3] == 's';
    out->path = strdup(path_at ? text + path_at : "");
    return out->path ? ERR_OK : err_nomem(err);
}

enum err_code maps_parse(struct maps *maps, const char *text, struct err *err)
{
    size_t room = 0;
    memset(maps, 0, sizeof *maps);
    for (size_t left = strlen(text); left;) {
        const char *const newline = memchr(text, '\n', left);
        const size_t length = newline ? (size_t)(newline - text) : left;
        struct mapping mapping;
        memset(&mapping, 0, sizeof mapping);
        enum err_code rc = parse_line(text, length, &mapping, err);
        if (!rc && maps->count == MAPS_MAX)
            rc = err_set(err, ERR_LIMIT, "more than %d mappings", MAPS_MAX);
        if (!rc && !VEC_RESERVE(maps->items, room, maps->count + 1))
            rc = err_nomem(err);
        if (rc) {
            free(mapping.path);
            maps_deinit(maps);
            return rc;
        }
        maps->items[maps->count++] = mapping;
        text += length + (newline != NULL);
        left -= length + (newline != NULL);
    }
    return ERR_OK;
}

enum err_code maps_read(struct maps *maps, int pid, struct err *err)
{
    struct stored_process *const stored = stored_process_find(pid);
    SCOPED_FREE char *text = NULL;
    size_t bytes;
    enum err_code rc;
    if (stored) {
        *maps = (struct maps){ .count = 0 };
        if ((rc = stored->read_maps(stored, maps, err)))
            maps_deinit(maps);
        return rc;
    }
    rc = procfs_read(pid, "maps", &text, &bytes, err);
    return rc ? rc : maps_parse(maps, text, err);
}

void maps_deinit(struct maps *maps)
{
    for (size_t i = 0; i < maps->count; i++)
        free(maps->items[i].path);
    free(maps->items);
    memset(maps, 0, sizeof *maps);
}

const struct mapping *maps_find(const struct maps *maps, remote_addr addr)
{
    size_t at;
    LOWER_BOUND(at, maps->count, maps->items[at].end <= addr);
    return at < maps->count && maps->items[at].start <= addr ? &maps->items[at] : NULL;
}

/* The zeroed data of a file follows its other data, in a mapping that does not name the file. */
const char *maps_file_at(const struct maps *maps, remote_addr addr)
{
    const struct mapping *m = maps_find(maps, addr);
    while (m && m > maps->items && !*m->path && m[-1].end == m->start)
        m--;
    return m && *m->path ? m->path : NULL;
}
