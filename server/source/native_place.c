#include "server/source/native_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdnoreturn.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/channel.h"
#include "server/source/confine.h"

/* For opening files; reading has CONFINE_TIME_MS of its own. */
static const uint64_t OPEN_NS = 300 * NS_PER_MS;

/* The record that the child sends for each function, before that many bytes of the file's
 * name. */
struct sent {
    uint32_t code; /* enum err_code */
    int32_t line;
    uint32_t length; /* less than PATH_MAX */
};

static bool send_all(const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        const ssize_t done = write(CONFINE_OUTPUT, at, bytes);
        if (done <= 0)
            return false;
        at += done;
        bytes -= (size_t)done;
    }
    return true;
}

static bool send_one(void *context, enum err_code rc, const struct debug_line *line)
{
    const bool is_found = !rc;
    const struct sent sent = { .code = rc,
                               .line = is_found ? line->line : 0,
                               .length = is_found ? (uint32_t)strlen(line->file) : 0 };
    (void)context;
    return send_all(&sent, sizeof sent) && (!is_found || send_all(line->file, sent.length));
}

static noreturn void find_and_end(const struct debug_lines_file *file, const uint64_t *entries,
                                  size_t count, int output)
{
    if (!confine(file->fd, output))
        _exit(1);
    const struct debug_lines_file kept = { CONFINE_INPUT, file->bytes };
    const enum err_code rc = debug_lines_find(&kept, entries, count, send_one, NULL);
    if (rc)
        (void)send_one(NULL, rc, NULL);
    _exit(0);
}

/* false: the child has ended before. */
static bool receive_bytes(int fd, void *out, size_t bytes)
{
    return channel_read(fd, out, bytes) == (ssize_t)bytes;
}

static bool receive_one(int fd, struct sent *sent, struct debug_line *place)
{
    if (!receive_bytes(fd, sent, sizeof *sent) || sent->length >= sizeof place->file ||
        !receive_bytes(fd, place->file, sent->length))
        return false;
    place->file[sent->length] = '\0';
    place->line = sent->line;
    return true;
}

static enum source_outcome receive_places(int fd, size_t count, native_place_found *found,
                                          void *context)
{
    static struct debug_line place;
    struct sent sent;
    size_t done = 0;
    for (; done < count && receive_one(fd, &sent, &place); done++) {
        const uint32_t code = sent.code;
        const enum source_outcome outcome = !code                   ? SOURCE_DONE
                                            : code == ERR_NOT_FOUND ? SOURCE_NO_LINE
                                            : code == ERR_SYS       ? SOURCE_FAILED
                                                                    : SOURCE_BAD_DEBUG;

        if (outcome != SOURCE_DONE && outcome != SOURCE_NO_LINE)
            return outcome;
        found(context, outcome, &place);
    }
    return done > 0 ? SOURCE_DONE : SOURCE_BAD_DEBUG;
}

static enum source_outcome ask_child(const struct debug_lines_file *file,
                                     const uint64_t *entries, size_t count,
                                     native_place_found *found, void *context)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return SOURCE_FAILED;
    const pid_t pid = fork();
    if (pid == 0)
        find_and_end(file, entries, count, ends[1]);
    close(ends[1]);
    const enum source_outcome outcome =
        pid > 0 ? receive_places(ends[0], count, found, context) : SOURCE_FAILED;
    close(ends[0]);
    return outcome;
}

enum source_outcome native_place_find(const struct source_request *request, int root,
                                      int library, native_place_found *found, void *context)
{
    struct debug_lines_file file;
    const enum err_code rc = debug_lines_open(library, root, request->path, request->build_id,
                                              deadline_after(OPEN_NS), &file);
    if (rc)
        return rc == ERR_GONE    ? SOURCE_OTHER_LIBRARY
               : rc == ERR_LIMIT ? SOURCE_LARGE_DEBUG
                                 : SOURCE_NO_DEBUG;
    const enum source_outcome outcome =
        ask_child(&file, request->entries, request->wants_places ? request->entry_count : 1,
                  found, context);
    close(file.fd);
    return outcome;
}
