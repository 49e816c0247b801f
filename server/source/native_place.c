#include "server/source/native_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdnoreturn.h>
#include <unistd.h>

#include "server/source/confine.h"

/* For opening files; reading has CONFINE_TIME_MS of its own. */
static const uint64_t OPEN_NS = 300 * NS_PER_MS;

/* What the child sends. */
struct found {
    uint32_t code; /* enum err_code */
    struct debug_line place;
};

static noreturn void find_and_end(const struct debug_lines_file *file, uint64_t entry,
                                  int output)
{
    static struct found found;
    if (!confine(file->fd, output))
        _exit(1);
    const struct debug_lines_file kept = { CONFINE_INPUT, file->bytes };
    found.code = debug_lines_find(&kept, entry, &found.place);
    _exit(write(CONFINE_OUTPUT, &found, sizeof found) != sizeof found);
}

/* false: the child has ended before. */
static bool receive(int fd, struct found *out)
{
    size_t done = 0;
    while (done < sizeof *out) {
        const ssize_t got = read(fd, (char *)out + done, sizeof *out - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    out->place.file[sizeof out->place.file - 1] = '\0';
    return true;
}

static enum source_outcome outcome_of(uint32_t code)
{
    return code == ERR_OK          ? SOURCE_DONE
           : code == ERR_NOT_FOUND ? SOURCE_NO_LINE
           : code == ERR_SYS       ? SOURCE_FAILED
                                   : SOURCE_BAD_DEBUG;
}

static enum source_outcome ask_child(const struct debug_lines_file *file, uint64_t entry,
                                     struct debug_line *out)
{
    static struct found found;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return SOURCE_FAILED;
    const pid_t pid = fork();
    if (pid == 0)
        find_and_end(file, entry, ends[1]);
    close(ends[1]);
    const bool is_received = pid > 0 && receive(ends[0], &found);
    close(ends[0]);
    if (pid < 0)
        return SOURCE_FAILED;
    if (!is_received)
        return SOURCE_BAD_DEBUG;
    *out = found.place;
    return outcome_of(found.code);
}

enum source_outcome native_place_find(const struct source_request *request, int root,
                                      int library, struct debug_line *out)
{
    struct debug_lines_file file;
    const enum err_code rc = debug_lines_open(library, root, request->path, request->build_id,
                                              deadline_after(OPEN_NS), &file);
    if (rc != ERR_OK)
        return rc == ERR_GONE    ? SOURCE_OTHER_LIBRARY
               : rc == ERR_LIMIT ? SOURCE_LARGE_DEBUG
                                 : SOURCE_NO_DEBUG;
    const enum source_outcome outcome = ask_child(&file, request->entry, out);
    close(file.fd);
    return outcome;
}
