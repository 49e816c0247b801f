#define _GNU_SOURCE
#include "sampler/native/perf_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/base/utf8.h"
#include "sampler/base/vec.h"
#include "sampler/process/file_below.h"

/* A code block of 1 GiB is a mistake, or an attempt to name all code. */
enum { MAX_CODE_BYTES = 1 << 30, MAX_DIGITS = 16 };

void perf_map_deinit(struct perf_map *map)
{
    free(map->entries);
    free(map->text);
    *map = (struct perf_map){ 0 };
}

/* Reads digits up to a space.  NULL: there are none, or too many. */
static const char *take_number(const char *at, const char *end, uint64_t *out)
{
    uint64_t value = 0;
    int digits = 0;
    if (end - at > 2 && at[0] == '0' && at[1] == 'x')
        at += 2;
    for (; at < end && *at != ' '; at++) {
        const char lower = (char)(*at | 0x20);
        const bool is_digit = *at >= '0' && *at <= '9';
        if ((!is_digit && (lower < 'a' || lower > 'f')) || ++digits > MAX_DIGITS)
            return NULL;
        value = value << 4 | (uint64_t)(is_digit ? *at - '0' : lower - 'a' + 10);
    }
    *out = value;
    return digits && at < end ? at + 1 : NULL;
}

static void add_line(struct perf_map *map, const char *line, const char *end)
{
    struct perf_map_entry entry = { .order = map->lines };
    const char *at = take_number(line, end, &entry.start);
    at = at ? take_number(at, end, &entry.bytes) : NULL;
    if (!at || at == end || entry.bytes == 0 || entry.bytes > MAX_CODE_BYTES ||
        entry.start > UINT64_MAX - entry.bytes || memchr(at, '\0', (size_t)(end - at)))
        return;
    const size_t length = end - at < PERF_MAP_MAX_NAME ? (size_t)(end - at) : PERF_MAP_MAX_NAME;
    if (map->count == PERF_MAP_MAX_ENTRIES ||
        !VEC_RESERVE(map->entries, map->room, map->count + 1) ||
        !VEC_RESERVE(map->text, map->text_room, map->text_bytes + length + 1)) {
        map->is_full = true;
        return;
    }
    entry.name = (uint32_t)map->text_bytes;
    memcpy(map->text + map->text_bytes, at, length);
    map->text[map->text_bytes + length] = '\0';
    map->text_bytes += length + 1;
    map->entries[map->count++] = entry;
    map->lines++;
}

static int compare(const void *a, const void *b)
{
    const struct perf_map_entry *const left = a, *const right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return (left->order < right->order) - (left->order > right->order);
}

/* Sorts, and keeps the newest entry at each address. */
static void sort(struct perf_map *map)
{
    size_t kept = 0;
    if (map->count)
        qsort(map->entries, map->count, sizeof *map->entries, compare);
    for (size_t i = 0; i < map->count; i++)
        if (kept == 0 || map->entries[kept - 1].start != map->entries[i].start)
            map->entries[kept++] = map->entries[i];
    map->count = kept;
}

size_t perf_map_add_lines(struct perf_map *map, const char *lines, size_t bytes)
{
    const char *at = lines;
    const char *const end = lines + bytes;
    for (const char *newline; at < end; at = newline + 1) {
        newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            break;
        add_line(map, at, newline);
    }
    sort(map);
    return (size_t)(at - lines);
}

/* Reads up to PERF_MAP_STEP_BYTES from where the last update ended. */
static bool read_more(struct perf_map *map, int fd, uint64_t size)
{
    const uint64_t left = size - map->read_bytes;
    const size_t wanted = left < PERF_MAP_STEP_BYTES ? (size_t)left : PERF_MAP_STEP_BYTES;
    SCOPED_FREE char *lines = malloc(wanted);
    size_t count = 0;
    while (lines && count < wanted) {
        const ssize_t n =
            pread(fd, lines + count, wanted - count, (off_t)(map->read_bytes + count));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        count += (size_t)n;
    }
    const size_t used = lines ? perf_map_add_lines(map, lines, count) : 0;
    /* A line as long as a step never ends. */
    map->read_bytes += used == 0 && count == PERF_MAP_STEP_BYTES ? count : used;
    return used > 0;
}

bool perf_map_update(struct perf_map *map, int root_fd, int inner_pid, uid_t owner,
                     uint64_t now_ns)
{
    char path[48];
    struct stat st;
    SCOPED_FD int fd = -1;
    if (now_ns < map->next_ns)
        return false;
    map->next_ns = now_ns + PERF_MAP_INTERVAL_NS;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", inner_pid);
    if (file_below_open_plain(root_fd, path, &fd) != FILE_BELOW_OPENED || fstat(fd, &st) ||
        st.st_uid != owner || st.st_size < 0)
        return false;
    const uint64_t size =
        st.st_size < PERF_MAP_MAX_BYTES ? (uint64_t)st.st_size : PERF_MAP_MAX_BYTES;
    if (st.st_dev != map->device || st.st_ino != map->inode || size < map->read_bytes) {
        perf_map_deinit(map);
        map->next_ns = now_ns + PERF_MAP_INTERVAL_NS;
        map->device = st.st_dev;
        map->inode = st.st_ino;
    }
    return size > map->read_bytes && !map->is_full && read_more(map, fd, size);
}

/* "py::NAME:FILE": a name of Python has no colon. */
static void split_python(struct perf_map_name *name)
{
    static const char mark[] = "py::";
    if (strncmp(name->name, mark, sizeof mark - 1) != 0)
        return;
    const char *const function = name->name + sizeof mark - 1;
    const char *const colon = strchr(function, ':');
    if (!colon || colon == function)
        return;
    name->name = function;
    name->name_bytes = (size_t)(colon - function);
    name->file = colon + 1;
}

bool perf_map_find(const struct perf_map *map, uint64_t address, struct perf_map_name *out)
{
    size_t past;
    LOWER_BOUND(past, map->count, map->entries[past].start <= address);
    if (past == 0)
        return false;
    const struct perf_map_entry *const entry = &map->entries[past - 1];
    if (address - entry->start >= entry->bytes)
        return false;
    const char *const name = map->text + entry->name;
    *out = (struct perf_map_name){
        .name = name, .name_bytes = strlen(name), .start = entry->start, .bytes = entry->bytes
    };
    split_python(out);
    return true;
}
