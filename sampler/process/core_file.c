#define _GNU_SOURCE
#include "sampler/process/core_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/base/vec.h"
#include "sampler/process/core_unpack.h"
#include "sampler/process/maps.h"
#include "sampler/process/memory.h"
#include "sampler/process/stored_process.h"
#include "sampler/process/system_call.h"

/* All paths together, as in what procfs_read allows. */
enum { MAX_PATH_BYTES = 64 << 20 };

struct core_file {
    struct stored_process process;
    int fd;
    struct core_notes notes;
    struct core_segments segments;
    struct core_backings backings;
    bool has_backings;
};

static struct core_file *core_of(struct stored_process *process)
{
    return (struct core_file *)(void *)process;
}

/* Reads what the core lacks from the file that was mapped there.  Memory that could be written is not what the file has. */
static size_t read_backing(struct core_file *core, remote_addr addr, void *out, size_t bytes)
{
    const struct core_segment *const segment = core_segments_find(&core->segments, addr);
    const struct core_mapped *const mapped = core_notes_find(&core->notes, addr);
    if (!mapped || (segment && segment->flags & PF_W))
        return 0;
    const uint64_t left = mapped->end - addr;
    const int fd = core_backings_fd(&core->backings, mapped);
    const ssize_t n = fd < 0 ? -1
                             : pread(fd, out, left < bytes ? (size_t)left : bytes,
                                     (off_t)(mapped->offset + (addr - mapped->start)));
    return n > 0 ? (size_t)n : 0;
}

static enum err_code read_memory(struct stored_process *process,
                                 const struct memory_span *spans, size_t count,
                                 size_t *bytes_out)
{
    struct core_file *const core = core_of(process);
    *bytes_out = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t done = 0; done < spans[i].bytes;) {
            unsigned char *const out = (unsigned char *)spans[i].buffer + done;
            const size_t left = spans[i].bytes - done;
            const remote_addr addr = spans[i].addr + done;
            size_t n =
                addr < spans[i].addr ? 0 : core_segments_copy(&core->segments, addr, out, left);
            if (!n && addr >= spans[i].addr)
                n = read_backing(core, addr, out, left);
            if (!n)
                return ERR_FAULT;
            done += n;
            *bytes_out += n;
        }
    return ERR_OK;
}

static const struct core_backing *backing_of(const struct core_file *core,
                                             const struct core_mapped *mapped)
{
    return &core->backings.items[core_backings_index(&core->backings, mapped)];
}

/* Is this part of a file code, by the program headers in its first page?  Unknown counts as code. */
static bool is_code(struct core_file *core, const struct core_mapped *mapped)
{
    unsigned char page[4096];
    const struct memory_span span = { backing_of(core, mapped)->start, page, sizeof page };
    Elf64_Ehdr header;
    size_t bytes;
    if (!span.addr || read_memory(&core->process, &span, 1, &bytes))
        return true;
    memcpy(&header, page, sizeof header);
    for (size_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        const uint64_t at = header.e_phoff + i * sizeof segment;
        if (header.e_phoff > sizeof page || at + sizeof segment > sizeof page)
            return true;
        memcpy(&segment, page + at, sizeof segment);
        if (segment.p_type == PT_LOAD && segment.p_flags & PF_X &&
            mapped->offset < segment.p_offset + segment.p_filesz &&
            segment.p_offset < mapped->offset + (mapped->end - mapped->start))
            return true;
    }
    return false;
}

static bool add_mapping(struct core_file *core, struct maps *maps, remote_addr start,
                        remote_addr end, const struct core_mapped *mapped, uint32_t flags)
{
    const bool is_vdso = !mapped && start == core->notes.vdso;
    struct mapping *const added = &maps->items[maps->count];
    *added = (struct mapping){
        .start = start,
        .end = end,
        .readable = flags & PF_R,
        .writable = flags & PF_W,
        .executable = flags & PF_X,
        .path = strdup(mapped    ? backing_of(core, mapped)->path
                       : is_vdso ? "[vdso]"
                                 : ""),
    };
    if (mapped) {
        added->offset = mapped->offset + (start - mapped->start);
        added->inode = core_backings_index(&core->backings, mapped) + 1;
    }
    maps->count += added->path != NULL;
    return added->path != NULL;
}

/* Segments are mappings; gdb writes none for what it does not dump. */
static enum err_code read_maps(struct stored_process *process, struct maps *maps,
                               struct err *err)
{
    struct core_file *const core = core_of(process);
    const struct core_notes *const notes = &core->notes;
    const struct core_segments *const segments = &core->segments;
    size_t at = 0, file = 0, path_bytes = 0;
    bool is_well = true;
    *maps = (struct maps){ .items = calloc(segments->count + notes->mapped_count + 1,
                                           sizeof *maps->items) };
    if (!maps->items)
        return err_nomem(err);
    while (is_well && (at < segments->count || file < notes->mapped_count)) {
        const struct core_segment *const s = at < segments->count ? &segments->items[at] : NULL;
        const struct core_mapped *const f =
            file < notes->mapped_count ? &notes->mapped[file] : NULL;
        if (f && (!s || f->end <= s->start)) {
            /* A part of it may have been a segment. */
            if (maps->count && f->start < maps->items[maps->count - 1].end) {
                file++;
                continue;
            }
            is_well = add_mapping(core, maps, f->start, f->end, f,
                                  PF_R | (is_code(core, f) ? PF_X : 0u));
            file++;
        } else {
            const bool is_of_file = f && f->start <= s->start;
            is_well =
                add_mapping(core, maps, s->start, s->end, is_of_file ? f : NULL, s->flags);
            at++;
            while (file < notes->mapped_count &&
                   (is_of_file ? notes->mapped[file].end : notes->mapped[file].start + 1) <=
                       s->end)
                file++;
        }
        path_bytes += is_well ? strlen(maps->items[maps->count - 1].path) : 0;
        if (path_bytes > MAX_PATH_BYTES)
            return err_set(err, ERR_LIMIT, "the paths of its mappings take more than %d MiB",
                           MAX_PATH_BYTES >> 20);
    }
    return is_well ? ERR_OK : err_nomem(err);
}

static int open_mapped(struct stored_process *process, const struct mapping *mapping)
{
    struct core_file *const core = core_of(process);
    const struct core_mapped *const mapped = core_notes_find(&core->notes, mapping->start);
    const int fd = mapped ? core_backings_fd(&core->backings, mapped) : -1;
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

const struct core_thread *core_file_thread(const struct core_file *core, int32_t tid)
{
    const struct core_notes *const notes = &core->notes;
    size_t at;
    LOWER_BOUND(at, notes->thread_count, notes->threads[at].tid < tid);
    return at < notes->thread_count && notes->threads[at].tid == tid ? &notes->threads[at]
                                                                     : NULL;
}

static bool has_thread(const struct stored_process *process, int32_t tid)
{
    return core_file_thread((const struct core_file *)(const void *)process, tid) != NULL;
}

/* A signal that interrupts a call leaves one of these numbers in the register of its result. */
static bool is_interrupted(uint64_t result)
{
    enum { ERESTARTSYS = 512, ERESTART_RESTARTBLOCK = 516 };
    const int64_t number = -(int64_t)result;
    return number == EINTR || (number >= ERESTARTSYS && number <= ERESTART_RESTARTBLOCK);
}

void core_file_call(struct core_file *core, const struct core_thread *thread,
                    struct system_call *out)
{
    const uint64_t *const r = thread->registers;
    *out = (struct system_call){ .is_known = false };
#if defined __aarch64__
    enum { NUMBER = 8, TIMEOUT = 3, SP = 31, IP = 32 };
    static const uint32_t CALL_INSTRUCTION = 0xd4000001; /* svc #0 */
    uint32_t instruction = 0;
    const struct memory_span before = { r[IP] - sizeof instruction, &instruction,
                                        sizeof instruction };
    size_t bytes;
    if (!is_interrupted(r[0]) || read_memory(&core->process, &before, 1, &bytes) ||
        instruction != CALL_INSTRUCTION)
        return;
    const uint64_t number =
        thread->call == CORE_NO_CALL ? r[NUMBER] : (uint64_t)(uint32_t)thread->call;
    const uint64_t first = 0, second = r[1]; /* the result has taken the place of the first */
#else
    enum { TIMEOUT = 7, RESULT = 10, SECOND = 13, FIRST = 14, NUMBER = 15, IP = 16, SP = 19 };
    (void)core;
    if (!is_interrupted(r[RESULT]))
        return;
    const uint64_t number = r[NUMBER], first = r[FIRST], second = r[SECOND];
#endif
    if (number > INT32_MAX)
        return;
    *out = (struct system_call){ .is_known = true,
                                 .number = (int32_t)number,
                                 .args = { first, second },
                                 .sp = r[SP],
                                 .ip = r[IP] };
    /* A call that the kernel has begun again is one that ends after a time. */
    out->is_timed = (r[TIMEOUT] && system_call_kind(out->number) == CALL_FUTEX) ||
                    out->number == SYS_restart_syscall;
}

static enum err_code create(int fd, uid_t owner, const char *name, const char *executable,
                            struct core_file **out, struct err *err)
{
    struct core_file *const core = calloc(1, sizeof *core);
    if (!core)
        return err_nomem(err);
    core->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    enum err_code rc = core->fd < 0 ? err_sys(err, errno, "cannot read %s", name) : ERR_OK;
    if (!rc)
        rc = core_segments_read(&core->segments, &core->notes, core->fd, name, err);
    if (!rc) {
        core->has_backings = true;
        rc = core_backings_init(&core->backings, &core->segments, &core->notes, owner, err);
    }
    if (!rc && executable)
        rc = core_backings_give(&core->backings, executable, name, err);
    if (!rc) {
        /* The rest of this folder reads the core from now on. */
        const struct core_notes *const notes = &core->notes;
        const struct core_backings *const backings = &core->backings;
        const bool knows_program = backings->program < backings->count;
        core->process = (struct stored_process){
            .pid = notes->pid,
            .program = knows_program ? backings->items[backings->program].path : "",
            .command = *notes->command ? notes->command : notes->name,
            .thread_count = notes->thread_count,
            .program_inode = knows_program ? backings->program + 1 : 0,
            .readv = read_memory,
            .read_maps = read_maps,
            .open_mapped = open_mapped,
            .has_thread = has_thread,
        };
        rc = stored_process_add(&core->process, err);
    }
    if (rc)
        core_file_close(core);
    else
        *out = core;
    return rc;
}

enum err_code core_file_open_fd(int fd, const char *name, const char *executable,
                                struct core_file **out, struct err *err)
{
    struct stat st;
    return fstat(fd, &st) != 0 ? err_sys(err, errno, "cannot read %s", name)
                               : create(fd, st.st_uid, name, executable, out, err);
}

enum err_code core_file_open(const char *path, const char *executable, struct core_file **out,
                             struct err *err)
{
    SCOPED_FD int fd = -1;
    SCOPED_FD int plain_fd = -1;
    struct stat st;
    enum err_code rc = core_backings_open_named(path, O_NOFOLLOW, &fd, &st, err);
    if (!rc)
        rc = core_unpack(fd, path, CORE_FILE_MAX_UNPACKED_BYTES, &plain_fd, err);
    return rc ? rc
              : create(plain_fd >= 0 ? plain_fd : fd, st.st_uid, path, executable, out, err);
}

void core_file_close(struct core_file *core)
{
    if (!core)
        return;
    stored_process_remove(&core->process);
    if (core->has_backings)
        core_backings_deinit(&core->backings);
    if (core->fd >= 0)
        close(core->fd);
    core_segments_deinit(&core->segments);
    core_notes_deinit(&core->notes);
    free(core);
}

struct stored_process *core_file_process(struct core_file *core)
{
    return &core->process;
}

struct core_file *core_file_find(int number)
{
    struct stored_process *const process = stored_process_find(number);
    return process && process->readv == read_memory ? core_of(process) : NULL;
}

const struct core_notes *core_file_notes(const struct core_file *core)
{
    return &core->notes;
}

size_t core_file_count(struct core_file *core, enum core_backing_state state,
                       const char **first_out)
{
    return core_backings_count(&core->backings, state, first_out);
}

uint64_t core_file_cut_bytes(const struct core_file *core)
{
    return core->segments.cut_bytes;
}
