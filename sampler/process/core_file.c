#define _GNU_SOURCE
#include "sampler/process/core_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/read_at.h"
#include "sampler/base/scoped.h"
#include "sampler/base/vec.h"
#include "sampler/process/core_unpack.h"
#include "sampler/process/file_below.h"
#include "sampler/process/memory.h"
#include "sampler/process/stored_process.h"
#include "sampler/process/system_call.h"

#if defined __aarch64__
enum { OUR_MACHINE = EM_AARCH64 };
#else
enum { OUR_MACHINE = EM_X86_64 };
#endif

/* The part of a file that distinguishes it from others, and at least so much of it. */
enum { IDENTITY_BYTES = 4096, IDENTITY_LEAST = sizeof(Elf64_Ehdr) };

/* A segment: memory that the core has, or lacks in whole or from `file_bytes` on. */
struct core_range {
    remote_addr start, end;
    uint64_t file_offset, file_bytes;
    uint32_t flags;
};

/* A file that was mapped. */
struct core_backing {
    const char *path;
    remote_addr start; /* where its first page was; 0: nowhere */
    enum core_backing_state state;
    int fd;
};

struct core_file {
    struct stored_process process;
    int fd;
    uint64_t bytes;
    uint64_t cut_bytes;
    uid_t owner;
    struct core_notes notes;
    struct core_range *ranges; /* by address */
    size_t range_count;
    struct core_backing *backings;
    size_t backing_count;
    uint32_t *backing_of;  /* by index of notes.mapped */
    size_t program;        /* index of backings; backing_count: unknown */
    int given_fd;          /* -1: no executable was given */
    pthread_mutex_t mutex; /* of the backings */
};

static struct core_file *core_of(struct stored_process *process)
{
    return (struct core_file *)(void *)process;
}

static struct core_range *find_range(const struct core_file *core, remote_addr addr)
{
    size_t at;
    LOWER_BOUND(at, core->range_count, core->ranges[at].end <= addr);
    return at < core->range_count && core->ranges[at].start <= addr ? &core->ranges[at] : NULL;
}

static const struct core_mapped *find_mapped(const struct core_file *core, remote_addr addr)
{
    const struct core_notes *const notes = &core->notes;
    size_t at;
    LOWER_BOUND(at, notes->mapped_count, notes->mapped[at].end <= addr);
    return at < notes->mapped_count && notes->mapped[at].start <= addr ? &notes->mapped[at]
                                                                       : NULL;
}

static struct core_backing *backing_of(const struct core_file *core,
                                       const struct core_mapped *mapped)
{
    return &core->backings[core->backing_of[mapped - core->notes.mapped]];
}

/* Reads what the core itself has from addr on, at most `bytes`; returns how many there are. */
static size_t read_dumped(const struct core_file *core, remote_addr addr, void *out,
                          size_t bytes)
{
    const struct core_range *const range = find_range(core, addr);
    const uint64_t at = range ? addr - range->start : 0;
    if (!range || at >= range->file_bytes)
        return 0;
    const uint64_t left = range->file_bytes - at;
    const size_t wanted = left < bytes ? (size_t)left : bytes;
    return read_at(core->fd, out, wanted, range->file_offset + at) ? wanted : 0;
}

/* The dynamic linker writes into the dynamic section, which is in the first page of few files. */
static void clear_dynamic(unsigned char page[IDENTITY_BYTES])
{
    Elf64_Ehdr header;
    memcpy(&header, page, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return;
    for (size_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        const uint64_t at = header.e_phoff + i * sizeof segment;
        if (header.e_phoff > IDENTITY_BYTES || at + sizeof segment > IDENTITY_BYTES)
            return;
        memcpy(&segment, page + at, sizeof segment);
        if (segment.p_type != PT_DYNAMIC || segment.p_offset >= IDENTITY_BYTES ||
            segment.p_offset < sizeof header + header.e_phnum * sizeof segment)
            continue;
        const uint64_t left = IDENTITY_BYTES - segment.p_offset;
        memset(page + segment.p_offset, 0,
               (size_t)(segment.p_filesz < left ? segment.p_filesz : left));
    }
}

/* Does the file begin as the one that was mapped?  UNKNOWN: the core lacks that page. */
static enum core_backing_state compare_file(const struct core_file *core,
                                            const struct core_backing *backing, int fd)
{
    unsigned char dumped[IDENTITY_BYTES] = { 0 }, stored[IDENTITY_BYTES] = { 0 };
    const size_t bytes =
        backing->start ? read_dumped(core, backing->start, dumped, sizeof dumped) : 0;
    /* Zeros follow the end of a file in its last page. */
    const ssize_t n = pread(fd, stored, bytes < IDENTITY_LEAST ? SELFMAG : bytes, 0);
    if (bytes < IDENTITY_LEAST)
        return n == SELFMAG && memcmp(stored, ELFMAG, SELFMAG) == 0 ? CORE_BACKING_UNKNOWN
                                                                    : CORE_BACKING_DATA;
    if (n < IDENTITY_LEAST)
        return CORE_BACKING_OTHER;
    clear_dynamic(dumped);
    clear_dynamic(stored);
    return memcmp(dumped, stored, bytes) == 0 ? CORE_BACKING_OPEN : CORE_BACKING_OTHER;
}

/* Finds the file of a mapping, once. */
static void open_backing(struct core_file *core, struct core_backing *backing)
{
    SCOPED_FD int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    SCOPED_FD int fd = -1;
    const bool is_program = backing == core->backings + core->program;
    char first[SELFMAG];
    const bool has_first =
        backing->start && read_dumped(core, backing->start, first, sizeof first) == SELFMAG;
    const bool is_elf = has_first ? memcmp(first, ELFMAG, SELFMAG) == 0 : is_program;
    backing->state = is_elf ? CORE_BACKING_ABSENT : CORE_BACKING_DATA;
    if (core->given_fd >= 0) {
        const enum core_backing_state given = compare_file(core, backing, core->given_fd);
        if (given == CORE_BACKING_OPEN || (given == CORE_BACKING_UNKNOWN && is_program)) {
            backing->fd = fcntl(core->given_fd, F_DUPFD_CLOEXEC, 0);
            backing->state = backing->fd < 0 ? CORE_BACKING_ABSENT : CORE_BACKING_OPEN;
            return;
        }
    }
    if (*backing->path != '/' || root_fd < 0 ||
        file_below_open(root_fd, backing->path, core->owner, &fd) != FILE_BELOW_OPENED)
        return;
    backing->state = is_elf || !has_first ? compare_file(core, backing, fd) : CORE_BACKING_DATA;
    if (backing->state == CORE_BACKING_OPEN)
        backing->fd = scoped_take_fd(&fd);
}

/* -1: the file cannot be used. */
static int backing_fd(struct core_file *core, const struct core_mapped *mapped)
{
    struct core_backing *const backing = backing_of(core, mapped);
    pthread_mutex_lock(&core->mutex);
    if (backing->state == CORE_BACKING_UNTRIED)
        open_backing(core, backing);
    const int fd = backing->fd;
    pthread_mutex_unlock(&core->mutex);
    return fd;
}

/* Reads what the core lacks from the file that was mapped there.  Memory that could be written is not what the file has. */
static size_t read_backing(struct core_file *core, remote_addr addr, void *out, size_t bytes)
{
    const struct core_range *const range = find_range(core, addr);
    const struct core_mapped *const mapped = find_mapped(core, addr);
    if (!mapped || (range && range->flags & PF_W))
        return 0;
    const uint64_t left = mapped->end - addr;
    const int fd = backing_fd(core, mapped);
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
            size_t n = addr < spans[i].addr ? 0 : read_dumped(core, addr, out, left);
            if (!n && addr >= spans[i].addr)
                n = read_backing(core, addr, out, left);
            if (!n)
                return ERR_FAULT;
            done += n;
            *bytes_out += n;
        }
    return ERR_OK;
}

/* Is this part of a file code, by the program headers in its first page?  Unknown counts as code. */
static bool is_code(struct core_file *core, const struct core_mapped *mapped)
{
    unsigned char page[IDENTITY_BYTES];
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
        added->inode = core->backing_of[mapped - core->notes.mapped] + 1;
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
    const size_t most = core->range_count + notes->mapped_count;
    size_t range = 0, file = 0;
    bool is_well = true;
    *maps = (struct maps){ .items = calloc(most + 1, sizeof *maps->items) };
    if (!maps->items)
        return err_nomem(err);
    while (is_well && (range < core->range_count || file < notes->mapped_count)) {
        const struct core_range *const r =
            range < core->range_count ? &core->ranges[range] : NULL;
        const struct core_mapped *const f =
            file < notes->mapped_count ? &notes->mapped[file] : NULL;
        if (f && (!r || f->end <= r->start)) {
            is_well = add_mapping(core, maps, f->start, f->end, f,
                                  PF_R | (is_code(core, f) ? PF_X : 0u));
            file++;
        } else if (f && f->start <= r->start) {
            is_well = add_mapping(core, maps, r->start, r->end, f, r->flags);
            range++;
            file += f->end <= r->end;
        } else {
            is_well = add_mapping(core, maps, r->start, r->end, NULL, r->flags);
            range++;
            for (; file < notes->mapped_count && notes->mapped[file].start < r->end;)
                file++;
        }
    }
    return is_well ? ERR_OK : err_nomem(err);
}

static int open_mapped(struct stored_process *process, const struct mapping *mapping)
{
    struct core_file *const core = core_of(process);
    const struct core_mapped *const mapped = find_mapped(core, mapping->start);
    const int fd = mapped ? backing_fd(core, mapped) : -1;
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

size_t core_file_count(struct core_file *core, enum core_backing_state state,
                       const char **first_out)
{
    size_t count = 0;
    pthread_mutex_lock(&core->mutex);
    for (size_t i = core->backing_count; i-- > 0;)
        if (core->backings[i].state == state) {
            *first_out = core->backings[i].path;
            count++;
        }
    pthread_mutex_unlock(&core->mutex);
    return count;
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

static const char *name_machine(unsigned machine)
{
    return machine == EM_X86_64 ? "x86-64" : machine == EM_AARCH64 ? "aarch64" : "another kind";
}

static enum err_code check_header(const Elf64_Ehdr *header, const char *name, struct err *err)
{
    static const char *const kinds[] = { [ET_REL] = "an object file",
                                         [ET_EXEC] = "a program",
                                         [ET_DYN] = "a program or a library" };
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return err_set(err, ERR_INVALID,
                       "%s is not a core file: name one that the kernel, gcore or "
                       "systemd-coredump has written",
                       name);
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return err_set(err, ERR_INVALID,
                       "%s is of a 32-bit or big-endian program: only 64-bit little-endian "
                       "ones can be read",
                       name);
    if (header->e_type != ET_CORE)
        return err_set(err, ERR_INVALID,
                       "%s is not a core file but %s: name the core, and "
                       "the program with --executable",
                       name,
                       header->e_type >= ET_REL && header->e_type <= ET_DYN
                           ? kinds[header->e_type]
                           : "another ELF file");
    if (header->e_machine != OUR_MACHINE)
        return err_set(err, ERR_INVALID,
                       "%s is of a processor of %s: read it on such a machine", name,
                       name_machine(header->e_machine));
    return ERR_OK;
}

static enum err_code refuse_cut(const char *name, struct err *err)
{
    return err_set(err, ERR_CORRUPT,
                   "%s is truncated before its list of threads: nothing can be read from it "
                   "(was the disk full, or its size limited by ulimit -c?)",
                   name);
}

/* The first section has the number where it is too large for the header. */
static enum err_code count_segments(const struct core_file *core, const Elf64_Ehdr *header,
                                    const char *name, uint64_t *out, struct err *err)
{
    Elf64_Shdr section;
    *out = header->e_phnum;
    if (header->e_phnum == PN_XNUM) {
        if (!read_at(core->fd, &section, sizeof section, header->e_shoff))
            return refuse_cut(name, err);
        *out = section.sh_info;
    }
    if (*out > CORE_FILE_MAX_SEGMENTS)
        return err_set(err, ERR_LIMIT, "%s has %" PRIu64 " segments: at most %d can be read",
                       name, *out, CORE_FILE_MAX_SEGMENTS);
    if (header->e_phentsize != sizeof(Elf64_Phdr))
        return err_set(err, ERR_CORRUPT, "%s makes no sense: its table of segments is damaged",
                       name);
    if (header->e_phoff > core->bytes ||
        *out > (core->bytes - header->e_phoff) / sizeof(Elf64_Phdr))
        return refuse_cut(name, err);
    return ERR_OK;
}

static void add_range(struct core_file *core, const Elf64_Phdr *segment)
{
    const uint64_t at = segment->p_offset, bytes = segment->p_filesz;
    if (!segment->p_memsz || segment->p_vaddr > UINT64_MAX - segment->p_memsz ||
        at > INT64_MAX || bytes > INT64_MAX - at)
        return;
    const uint64_t there = at >= core->bytes ? 0 : core->bytes - at;
    if (at + bytes > core->bytes && at + bytes - core->bytes > core->cut_bytes)
        core->cut_bytes = at + bytes - core->bytes;
    const uint64_t present = bytes < there ? bytes : there;
    core->ranges[core->range_count++] = (struct core_range){
        .start = segment->p_vaddr,
        .end = segment->p_vaddr + segment->p_memsz,
        .file_offset = at,
        .file_bytes = present < segment->p_memsz ? present : segment->p_memsz,
        .flags = segment->p_flags,
    };
}

static int by_start(const void *a, const void *b)
{
    const struct core_range *const x = a, *const y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Overlapping segments make no sense: the first one counts. */
static void sort_ranges(struct core_file *core)
{
    size_t kept = 0;
    qsort(core->ranges, core->range_count, sizeof *core->ranges, by_start);
    for (size_t i = 0; i < core->range_count; i++)
        if (!kept || core->ranges[kept - 1].end <= core->ranges[i].start)
            core->ranges[kept++] = core->ranges[i];
    core->range_count = kept;
}

static enum err_code read_segments(struct core_file *core, const Elf64_Ehdr *header,
                                   const char *name, struct err *err)
{
    uint64_t count;
    enum err_code rc = count_segments(core, header, name, &count, err);
    if (rc)
        return rc;
    core->ranges = calloc((size_t)count + 1, sizeof *core->ranges);
    if (!core->ranges)
        return err_nomem(err);
    for (uint64_t i = 0; i < count && !rc; i++) {
        Elf64_Phdr segment;
        if (!read_at(core->fd, &segment, sizeof segment, header->e_phoff + i * sizeof segment))
            return refuse_cut(name, err);
        if (segment.p_type == PT_LOAD)
            add_range(core, &segment);
        else if (segment.p_type == PT_NOTE && segment.p_offset <= UINT64_MAX - segment.p_filesz)
            rc = core_notes_read(&core->notes, core->fd, segment.p_offset, segment.p_filesz,
                                 core->bytes);
    }
    if (rc)
        return err_nomem(err);
    sort_ranges(core);
    core_notes_sort(&core->notes);
    if (core->notes.thread_count)
        return ERR_OK;
    return core->notes.is_cut
               ? refuse_cut(name, err)
               : err_set(err, ERR_CORRUPT,
                         "%s lists no threads: it is not the core of a process", name);
}

static int by_path(const void *a, const void *b, void *mapped)
{
    const struct core_mapped *const all = mapped;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const int order = strcmp(all[x].path, all[y].path);
    return order ? order : (x > y) - (x < y);
}

/* Sorted by their paths, the parts of one file follow each other, the lowest first. */
static enum err_code list_backings(struct core_file *core, struct err *err)
{
    struct core_notes *const notes = &core->notes;
    SCOPED_FREE uint32_t *order = calloc(notes->mapped_count + 1, sizeof *order);
    core->backings = calloc(notes->mapped_count + 1, sizeof *core->backings);
    core->backing_of = calloc(notes->mapped_count + 1, sizeof *core->backing_of);
    if (!order || !core->backings || !core->backing_of)
        return err_nomem(err);
    for (uint32_t i = 0; i < notes->mapped_count; i++)
        order[i] = i;
    qsort_r(order, notes->mapped_count, sizeof *order, by_path, notes->mapped);
    for (size_t i = 0; i < notes->mapped_count; i++) {
        const struct core_mapped *const mapped = &notes->mapped[order[i]];
        struct core_backing *const last = &core->backings[core->backing_count];
        if (i == 0 || strcmp(last[-1].path, mapped->path) != 0) {
            *last = (struct core_backing){ .path = mapped->path, .fd = -1 };
            core->backing_count++;
        }
        struct core_backing *const backing = &core->backings[core->backing_count - 1];
        if (mapped->offset == 0 && !backing->start)
            backing->start = mapped->start;
        core->backing_of[order[i]] = (uint32_t)(core->backing_count - 1);
    }
    const struct core_mapped *const program =
        notes->program_headers ? find_mapped(core, notes->program_headers) : NULL;
    core->program = program ? core->backing_of[program - notes->mapped] : core->backing_count;
    return ERR_OK;
}

/* Opens a file that the user names.  Nothing but a regular file is opened: opening a FIFO or a device does something. */
static enum err_code open_named(const char *path, int flags, int *fd_out, struct stat *st,
                                struct err *err)
{
    SCOPED_FD int path_fd = open(path, O_PATH | O_CLOEXEC | flags);
    if (path_fd < 0 || fstat(path_fd, st) != 0)
        return err_sys(err, errno, "cannot open %s", path);
    if (S_ISLNK(st->st_mode))
        return err_set(err, ERR_INVALID, "%s is a symbolic link: name the file itself", path);
    if (!S_ISREG(st->st_mode))
        return err_set(err, ERR_INVALID, "%s is not a regular file", path);
    if (file_below_open_again(path_fd, fd_out) != FILE_BELOW_OPENED)
        return err_sys(err, errno, "cannot open %s", path);
    return ERR_OK;
}

/* A file that is none of those in the core is a mistake. */
static enum err_code take_executable(struct core_file *core, const char *name,
                                     const char *executable, struct err *err)
{
    struct stat st;
    const enum err_code rc = open_named(executable, 0, &core->given_fd, &st, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < core->backing_count; i++) {
        const enum core_backing_state state =
            compare_file(core, &core->backings[i], core->given_fd);
        if (state == CORE_BACKING_OPEN || (state == CORE_BACKING_UNKNOWN && i == core->program))
            return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "%.90s is not the program of %.90s, which ran %.90s: name that build of it",
                   executable, name,
                   core->program < core->backing_count ? core->backings[core->program].path
                                                       : core->notes.name);
}

/* The rest of this folder reads it from now on. */
static enum err_code store(struct core_file *core, struct err *err)
{
    const struct core_notes *const notes = &core->notes;
    const bool knows_program = core->program < core->backing_count;
    core->process = (struct stored_process){
        .pid = notes->pid,
        .program = knows_program ? core->backings[core->program].path : "",
        .command = *notes->command ? notes->command : notes->name,
        .thread_count = notes->thread_count,
        .program_inode = knows_program ? core->program + 1 : 0,
        .readv = read_memory,
        .read_maps = read_maps,
        .open_mapped = open_mapped,
        .has_thread = has_thread,
    };
    return stored_process_add(&core->process, err);
}

static enum err_code read_core(struct core_file *core, const char *name, const char *executable,
                               struct err *err)
{
    Elf64_Ehdr header = { .e_ident = { 0 } };
    struct stat st;
    if (fstat(core->fd, &st) != 0)
        return err_sys(err, errno, "cannot read %s", name);
    core->bytes = st.st_size > 0 ? (uint64_t)st.st_size : 0;
    if (pread(core->fd, &header, sizeof header, 0) < (ssize_t)sizeof header &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0)
        return refuse_cut(name, err);
    enum err_code rc = check_header(&header, name, err);
    if (!rc)
        rc = read_segments(core, &header, name, err);
    if (!rc)
        rc = list_backings(core, err);
    if (!rc && executable)
        rc = take_executable(core, name, executable, err);
    return rc ? rc : store(core, err);
}

static enum err_code create(int fd, uid_t owner, const char *name, const char *executable,
                            struct core_file **out, struct err *err)
{
    struct core_file *const core = calloc(1, sizeof *core);
    if (!core)
        return err_nomem(err);
    core->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    core->given_fd = -1;
    core->owner = owner;
    pthread_mutex_init(&core->mutex, NULL);
    const enum err_code rc = core->fd < 0 ? err_sys(err, errno, "cannot read %s", name)
                                          : read_core(core, name, executable, err);
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
    enum err_code rc = open_named(path, O_NOFOLLOW, &fd, &st, err);
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
    for (size_t i = 0; i < core->backing_count; i++)
        if (core->backings[i].fd >= 0)
            close(core->backings[i].fd);
    if (core->given_fd >= 0)
        close(core->given_fd);
    if (core->fd >= 0)
        close(core->fd);
    core_notes_deinit(&core->notes);
    free(core->ranges);
    free(core->backings);
    free(core->backing_of);
    pthread_mutex_destroy(&core->mutex);
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

uint64_t core_file_cut_bytes(const struct core_file *core)
{
    return core->cut_bytes;
}
