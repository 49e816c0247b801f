#include "server/source/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "sampler/base/channel.h"
#include "sampler/base/clock.h"
#include "server/source/checkout.h"
#include "server/source/distribution.h"
#include "server/source/native_place.h"
#include "server/source/rights.h"
#include "server/source/rooted_file.h"
#include "server/source/source_reader.h"
#include "server/source/zip_member.h"

/* A descriptor for each that is held, and a few for the C library. */
enum { MAX_FILES = 32, MAX_CPU_S = 2 };
/* Folders in an archive, and of a path that leads nowhere. */
enum { MAX_ARCHIVE_DEPTH = 32 };

static bool is_running(const struct source_request *request, const int *fds)
{
    struct pollfd end = { .fd = fds[SOURCE_FD_PROCESS], .events = POLLIN };
    char byte;
    return poll(&end, 1, 0) == 0 &&
           pread(fds[SOURCE_FD_SPACE], &byte, 1, (off_t)request->mapped_addr) != 0;
}

static enum source_outcome identify_owner(const struct source_request *request, const int *fds,
                                          struct owner *out)
{
    switch (owner_read(request->pid, out, NULL)) {
    case ERR_OK: return is_running(request, fds) ? SOURCE_DONE : SOURCE_GONE;
    case ERR_GONE: return SOURCE_GONE;
    case ERR_PERM: return is_running(request, fds) ? SOURCE_MIXED_OWNER : SOURCE_GONE;
    case ERR_NOMEM:
    case ERR_SYS:
    case ERR_FAULT:
    case ERR_CORRUPT:
    case ERR_UNSUPPORTED:
    case ERR_INVALID:
    case ERR_LIMIT:
    case ERR_NOT_FOUND:
    case ERR_NOT_PYTHON: break;
    }
    return SOURCE_FAILED;
}

/* The root and whose it is belong together: what was before and after it was opened is the same. */
static enum source_outcome hold_root(const struct source_request *request, const int *fds,
                                     struct owner *owner, int *root_out)
{
    char path[48];
    struct owner again;
    struct stat root;
    enum source_outcome outcome = identify_owner(request, fds, owner);
    if (outcome != SOURCE_DONE)
        return outcome;
    snprintf(path, sizeof path, "/proc/%d/root", (int)request->pid);
    *root_out = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*root_out < 0 || fstat(*root_out, &root) != 0)
        return errno == ENOENT || errno == ESRCH ? SOURCE_GONE : SOURCE_FAILED;
    outcome = identify_owner(request, fds, &again);
    if (outcome != SOURCE_DONE)
        return outcome;
    return owner_same(owner, &again) && root.st_dev == again.root_device &&
                   root.st_ino == again.root_inode &&
                   (owner_same(&request->owner, owner) ||
                    (request->owner.uid == 0 && owner->uid != 0))
               ? SOURCE_DONE
               : SOURCE_OTHER_OWNER;
}

static void set_changed(struct source_answer *answer, const struct stat *status)
{
    answer->changed_ns =
        (uint64_t)status->st_mtim.tv_sec * NS_PER_S + (uint64_t)status->st_mtim.tv_nsec;
}

static enum source_outcome read_text(int fd, struct source_answer *answer, char **text_out)
{
    struct stat status;
    char *const text = malloc(SOURCE_MAX_BYTES + 1);
    if (!text || fstat(fd, &status) != 0)
        return SOURCE_FAILED;
    if (status.st_size > SOURCE_MAX_BYTES)
        return SOURCE_TOO_LARGE;
    const ssize_t length = channel_read(fd, text, SOURCE_MAX_BYTES + 1);
    if (length < 0)
        return rooted_file_outcome(errno);
    if (length > SOURCE_MAX_BYTES)
        return SOURCE_TOO_LARGE;
    answer->length = (uint32_t)length;
    set_changed(answer, &status);
    *text_out = text;
    return SOURCE_DONE;
}

/* Reads a file from an archive in its path: the names of modules in one begin with the
 * archive's. */
static enum source_outcome read_from_archive(const struct source_request *request, int root,
                                             struct source_answer *answer, char **text_out)
{
    char path[PATH_MAX];
    struct stat status;
    size_t length = 0;
    int file = -1;
    enum source_outcome outcome = SOURCE_MISSING;
    snprintf(path, sizeof path, "%s", request->path);
    for (int depth = 0; depth < MAX_ARCHIVE_DEPTH && outcome == SOURCE_MISSING; depth++) {
        char *const slash = strrchr(path, '/');
        if (!slash || slash == path)
            return SOURCE_MISSING;
        *slash = '\0';
        outcome = rooted_file_open(root, path, &file);
    }
    if (outcome != SOURCE_DONE)
        return outcome == SOURCE_NOT_REGULAR ? SOURCE_MISSING : outcome;
    if (fstat(file, &status) != 0)
        return SOURCE_FAILED;
    outcome = zip_member_read(file, request->path + strlen(path) + 1, text_out, &length);
    answer->length = (uint32_t)length;
    set_changed(answer, &status);
    return outcome;
}

/* The answer of debug information for one function. */
struct native_answer {
    enum source_outcome outcome;
    struct debug_line *place;
};

static void take_place(void *context, enum source_outcome outcome,
                       const struct debug_line *place)
{
    struct native_answer *const native = context;
    native->outcome = outcome;
    if (outcome == SOURCE_DONE)
        *native->place = *place;
}

/* The source file of a function of a library, as the library's debug information has it. */
static enum source_outcome open_native(const struct source_request *request, int root,
                                       int library, struct debug_line *place, int *out)
{
    struct native_answer native = { SOURCE_NO_LINE, place };
    const enum source_outcome outcome =
        native_place_find(request, root, library, take_place, &native);
    if (outcome != SOURCE_DONE || native.outcome != SOURCE_DONE)
        return outcome != SOURCE_DONE ? outcome : native.outcome;
    return rooted_file_open(root, place->file, out);
}

/* The places of the functions of a request, for its answer. */
struct listing {
    char *text;
    size_t length, room;
};

static void list_place(void *context, enum source_outcome outcome,
                       const struct debug_line *place)
{
    struct listing *const listing = context;
    const bool is_found = outcome == SOURCE_DONE;
    const struct source_found_row found = {
        .line = is_found ? place->line : 0,
        .path_length = is_found ? (uint32_t)strlen(place->file) : 0,
    };
    if (listing->room - listing->length < sizeof found + found.path_length)
        return;
    memcpy(listing->text + listing->length, &found, sizeof found);
    memcpy(listing->text + listing->length + sizeof found, place->file, found.path_length);
    listing->length += sizeof found + found.path_length;
}

static enum source_outcome read_native(const struct source_request *request, int root,
                                       struct source_answer *answer, struct debug_line *place,
                                       char **text_out)
{
    int library = -1, file = -1;
    enum source_outcome outcome = rooted_file_open(root, request->path, &library);
    if (outcome != SOURCE_DONE)
        return outcome == SOURCE_MISSING || outcome == SOURCE_NOT_REGULAR ? SOURCE_OTHER_LIBRARY
                                                                          : outcome;
    if (request->wants_places) {
        struct listing listing = { .room = SOURCE_MAX_PLACES *
                                           (sizeof(struct source_found_row) + PATH_MAX) };
        listing.text = malloc(listing.room);
        if (!listing.text)
            return SOURCE_FAILED;
        outcome = native_place_find(request, root, library, list_place, &listing);
        *text_out = listing.text;
        answer->length = (uint32_t)listing.length;
        return outcome;
    }
    outcome = open_native(request, root, library, place, &file);
    close(library);
    return outcome == SOURCE_DONE ? read_text(file, answer, text_out) : outcome;
}

static enum source_outcome read_source(const struct source_request *request, const int *fds,
                                       struct source_answer *answer, struct debug_line *place,
                                       char **text_out)
{
    struct owner owner;
    int root = -1, file = -1;
    enum source_outcome outcome = hold_root(request, fds, &owner, &root);
    if (outcome != SOURCE_DONE)
        return outcome;
    close(fds[SOURCE_FD_PROCESS]);
    close(fds[SOURCE_FD_SPACE]);
    if (!rights_become(&owner))
        return SOURCE_NOT_OURS;
    if (request->wants_checkout) {
        struct source_checkout *const checkout = malloc(sizeof *checkout);
        if (!checkout)
            return SOURCE_FAILED;
        answer->length = sizeof *checkout;
        *text_out = (char *)checkout;
        return checkout_find(root, request->path, checkout) ? SOURCE_DONE : SOURCE_MISSING;
    }
    if (request->wants_distribution) {
        struct source_distribution *const distribution = malloc(sizeof *distribution);
        if (!distribution)
            return SOURCE_FAILED;
        answer->length = sizeof *distribution;
        *text_out = (char *)distribution;
        distribution_find(root, request->path, distribution);
        return SOURCE_DONE;
    }
    if (request->entry_count)
        return read_native(request, root, answer, place, text_out);
    outcome = rooted_file_open(root, request->path, &file);
    if (outcome == SOURCE_MISSING)
        return read_from_archive(request, root, answer, text_out);
    return outcome == SOURCE_DONE ? read_text(file, answer, text_out) : outcome;
}

static void put_bytes(int fd, const void *data, size_t bytes)
{
    if (!channel_write(fd, data, bytes))
        _exit(1);
}

noreturn void reader_run(const struct source_request *request, const int *fds)
{
    static struct debug_line place;
    struct source_answer answer = { 0 };
    char *text = NULL;

    const struct rlimit none = { 0, 0 };
    const struct rlimit files = { MAX_FILES, MAX_FILES };
    const struct rlimit cpu = { MAX_CPU_S, MAX_CPU_S };
    const struct itimerval end = { .it_value.tv_sec = SOURCE_DEADLINE_MS / 1000,
                                   .it_value.tv_usec = SOURCE_DEADLINE_MS % 1000 * 1000 };
    sigset_t nothing;
    sigemptyset(&nothing);
    signal(SIGALRM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &nothing, NULL);
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &none);
    setrlimit(RLIMIT_NOFILE, &files);
    setrlimit(RLIMIT_CPU, &cpu);
    setitimer(ITIMER_REAL, &end, NULL);

    answer.outcome = read_source(request, fds, &answer, &place, &text);
    answer.line = place.line;
    answer.path_length = (uint32_t)strlen(place.file);
    put_bytes(fds[SOURCE_FD_ANSWER], &answer, sizeof answer);
    put_bytes(fds[SOURCE_FD_ANSWER], place.file, answer.path_length);
    if (answer.outcome == SOURCE_DONE)
        put_bytes(fds[SOURCE_FD_ANSWER], text, answer.length);
    _exit(0);
}
