#define _GNU_SOURCE
#include "sampler/cpython/runtime/runtime.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/hash.h"
#include "sampler/base/scoped.h"
#include "sampler/cpython/runtime/runtime_search.h"
#include "sampler/cpython/runtime/version_text.h"
#include "sampler/process/elf.h"
#include "sampler/process/mapped_file.h"
#include "sampler/process/ptrace_checks.h"

/* Time limits for a process and for one of its files, in a quick and in a thorough search.  A
 * gigabyte of symbols that is not cached takes some seconds. */
static const uint64_t QUICK_NS = 2 * NS_PER_S, QUICK_FILE_NS = NS_PER_S,
                      THOROUGH_NS = 60 * NS_PER_S, THOROUGH_FILE_NS = 20 * NS_PER_S,
                      SECTION_NS = 2 * NS_PER_S;

static bool is_quick(enum runtime_effort effort)
{
    return effort == RUNTIME_QUICK || effort == RUNTIME_HIDDEN_ONLY;
}

static uint64_t process_ns(enum runtime_effort effort)
{
    return is_quick(effort) ? QUICK_NS : THOROUGH_NS;
}

static uint64_t file_ns(enum runtime_effort effort)
{
    return is_quick(effort) ? QUICK_FILE_NS : THOROUGH_FILE_NS;
}

bool runtime_is_out_of_time(struct search *search)
{
    search->is_unfinished = search->is_unfinished || deadline_is_over(&search->deadline);
    return search->is_unfinished;
}

const char *runtime_way_text(enum runtime_way way)
{
    static const char *const texts[] = {
#define X(name, text) [RUNTIME_BY_##name] = text,
        RUNTIME_WAYS(X)
#undef X
    };
    return texts[way];
}

static enum err_code leads_back(struct memory *memory, const struct layout *layout,
                                remote_addr interp)
{
    uint64_t tstate, back;
    enum err_code rc = memory_read_u64(memory, interp + layout->interp_threads_head, &tstate);
    if (!rc && tstate == 0)
        rc = ERR_NOT_PYTHON;
    if (!rc)
        rc = memory_read_u64(memory, tstate + layout->tstate_interp, &back);
    return !rc && back != interp ? ERR_NOT_PYTHON : rc;
}

/* A sub-interpreter may have no thread (3.13 and later), so one interpreter with a thread is enough. */
enum err_code runtime_confirm(struct memory *memory, const struct runtime *runtime,
                              remote_addr *interp_out)
{
    const struct layout *const layout = &runtime->layout;
    uint64_t interp;
    enum err_code rc =
        memory_read_u64(memory, runtime->addr + layout->runtime_interpreters_head, &interp);
    for (int i = 0; !rc && i < RUNTIME_MAX_INTERPRETERS; i++) {
        rc = interp ? leads_back(memory, layout, interp) : ERR_NOT_PYTHON;
        if (!rc)
            *interp_out = interp;
        if (rc != ERR_NOT_PYTHON || !interp)
            return rc;
        rc = memory_read_u64(memory, interp + layout->interp_next, &interp);
    }
    return rc ? rc : ERR_NOT_PYTHON;
}

void runtime_refuse(struct search *search, enum err_code code, const struct err *why)
{
    if (search->refusal == ERR_UNSUPPORTED || search->refusal == ERR_PERM)
        return;
    search->refusal = code;
    if (search->err)
        *search->err = *why;
}

/* Python 3.6 and older have no _PyRuntime. */
static void refuse_old(struct search *search)
{
    struct err why = { .code = ERR_OK };
    (void)!err_set(
        &why, ERR_UNSUPPORTED,
        "a Python that is older than 3.7 is not supported: CPython 3.8 to 3.15 can be "
        "read");
    runtime_refuse(search, ERR_UNSUPPORTED, &why);
}

/* PyPy has some symbols of CPython, but not its interpreter. */
static void refuse_pypy(struct search *search)
{
    struct err why = { .code = ERR_OK };
    (void)!err_set(&why, ERR_UNSUPPORTED,
                   "PyPy is not supported: CPython 3.8 to 3.15 can be read");
    runtime_refuse(search, ERR_UNSUPPORTED, &why);
}

static enum err_code layout_at(struct search *search, remote_addr addr, uint32_t version,
                               struct layout *out, struct err *why)
{
    unsigned char bytes[LAYOUT_DEBUG_OFFSETS_BYTES];
    struct memory *const memory = &search->process->memory.memory;
    enum err_code rc = memory_read(memory, addr, bytes, sizeof bytes);
    if (rc)
        return err_set(why, rc, "its _PyRuntime at %#" PRIx64 " cannot be read: %s", addr,
                       err_text(rc));
    rc = layout_of_debug_offsets(bytes, sizeof bytes, out, why);
    if (rc != ERR_NOT_FOUND)
        return rc;
    if (!version)
        version = version_text_find(memory, &search->maps, addr);
    return version ? layout_of_version(version, out, why)
                   : err_set(why, ERR_UNSUPPORTED,
                             "a Python that does not say its version, or is older than 3.8, is "
                             "not supported: CPython 3.8 to 3.15 can be read");
}

/* An interpreter that was found by its pointers alone needs evidence too. */
static enum err_code confirm(struct search *search, struct runtime *runtime, struct err *why)
{
    struct memory *const memory = &search->process->memory.memory;
    remote_addr interp = 0;
    const enum err_code rc = runtime_confirm(memory, runtime, &interp);
    if (rc)
        return err_set(why, rc, "its Python interpreter has not started or is ending");
    runtime->evidence = evidence_gather(memory, &runtime->layout, interp);
    return runtime->way != RUNTIME_BY_POINTERS || runtime->evidence.frames ||
                   runtime->evidence.has_modules
               ? ERR_OK
               : err_set(why, ERR_NOT_PYTHON, "its Python interpreter runs nothing");
}

static bool is_known_place(const struct runtime_list *list, remote_addr addr)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].addr == addr)
            return true;
    return false;
}

bool runtime_try_place(struct search *search, remote_addr addr, uint32_t version,
                       enum runtime_way way)
{
    struct runtime_list *const list = search->out;
    struct runtime runtime = { .addr = addr, .way = way };
    struct err why = { .code = ERR_OK };
    if (list->count == RUNTIME_LIST_MAX || is_known_place(list, addr))
        return false;
    enum err_code rc = layout_at(search, addr, version, &runtime.layout, &why);
    if (!rc)
        rc = confirm(search, &runtime, &why);
    if (rc) {
        runtime_refuse(search, rc, &why);
        return false;
    }
    list->items[list->count++] = runtime;
    return search->effort != RUNTIME_EXHAUSTIVE && runtime.evidence.frames > 0;
}

/* The value of the symbol Py_Version (3.11 and later); 0: none. */
static uint32_t read_version(struct search *search, struct elf *elf, uint64_t bias)
{
    struct elf_place place;
    uint64_t version;
    if (!elf_find_symbol(elf, "Py_Version", &place) ||
        memory_read_u64(&search->process->memory.memory, bias + place.vaddr, &version) ||
        version > UINT32_MAX)
        return 0;
    return (uint32_t)version;
}

/* Excludes devices and named memory. */
static bool may_be_program(const struct mapping *mapping)
{
    static const char *const others[] = { "/dev/", "/memfd:", "/SYSV", "/anon_hugepage" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(mapping->path, others[i], strlen(others[i])) == 0)
            return false;
    return *mapping->path == '/';
}

struct opened {
    int fd;
    struct elf *elf;
};

/* OPENED with a NULL elf: the file is not an ELF file. */
static enum mapped_file open_elf(int pid, const struct mapping *mapping,
                                 const struct deadline *deadline, uint64_t file_ns,
                                 struct opened *out)
{
    const enum mapped_file state = mapped_file_open(pid, mapping, &out->fd);
    if (state != MAPPED_FILE_OPENED)
        return state;
    if (elf_open(out->fd, deadline_within(deadline, file_ns), &out->elf, NULL) == ERR_OK)
        return state;
    close(out->fd);
    *out = (struct opened){ .fd = -1, .elf = NULL };
    return MAPPED_FILE_OPENED;
}

static void close_elf(const struct opened *opened)
{
    elf_close(opened->elf);
    if (opened->fd >= 0)
        close(opened->fd);
}

static bool search_file(struct search *search, const struct mapping *mapping)
{
    struct opened opened = { .fd = -1, .elf = NULL };
    struct elf_place place;
    uint64_t bias;
    const enum mapped_file state = open_elf(search->process->pid, mapping, &search->deadline,
                                            file_ns(search->effort), &opened);
    struct elf *const elf = opened.elf;
    search->has_closed_file =
        search->has_closed_file || (state != MAPPED_FILE_OPENED && may_be_program(mapping));
    if (!elf)
        return false;
    bool found = false;
    if (elf_load_bias(elf, mapping->start, mapping->offset, &bias)) {
        const bool is_section = elf_find_section(elf, ".PyRuntime", &place);
        if (is_section || elf_find_symbol(elf, "_PyRuntime", &place))
            found =
                runtime_try_place(search, bias + place.vaddr, read_version(search, elf, bias),
                                  is_section ? RUNTIME_BY_SECTION : RUNTIME_BY_SYMBOL);
        else if (search->effort != RUNTIME_QUICK &&
                 elf_find_symbol(elf, "rpython_startup_code", &place))
            refuse_pypy(search);
        else if (search->effort != RUNTIME_QUICK &&
                 elf_find_symbol(elf, "Py_GetVersion", &place))
            refuse_old(search);
        else if (mapping->inode == search->program_inode)
            search->has_hidden_file = !elf_has_symbols(elf);
    }
    search->is_unfinished = search->is_unfinished || elf_is_unfinished(elf);
    close_elf(&opened);
    return found;
}

enum runtime_presence runtime_in_file(int pid, const struct mapping *mapping,
                                      const struct deadline *deadline)
{
    struct opened opened = { .fd = -1, .elf = NULL };
    struct elf_place place;
    const enum mapped_file state =
        open_elf(pid, mapping, deadline, file_ns(RUNTIME_QUICK), &opened);
    if (state == MAPPED_FILE_BUSY)
        return RUNTIME_UNKNOWN;
    if (!opened.elf)
        return state == MAPPED_FILE_REFUSED && may_be_program(mapping) &&
                       mapping->inode == mapped_file_program_inode(pid)
                   ? RUNTIME_HIDDEN
                   : RUNTIME_ABSENT;
    enum runtime_presence presence = RUNTIME_ABSENT;
    if (elf_find_section(opened.elf, ".PyRuntime", &place) ||
        elf_find_symbol(opened.elf, "_PyRuntime", &place))
        presence = RUNTIME_PRESENT;
    else if (elf_is_unfinished(opened.elf))
        presence = RUNTIME_UNKNOWN;
    else if (mapping->inode == mapped_file_program_inode(pid) && !elf_has_symbols(opened.elf))
        presence = RUNTIME_HIDDEN;
    close_elf(&opened);
    return presence;
}

static bool find_section(int pid, const struct mapping *mapping, const char *name,
                         const struct deadline *deadline, remote_addr *out)
{
    struct opened opened = { .fd = -1, .elf = NULL };
    struct elf_place place;
    uint64_t bias;
    (void)open_elf(pid, mapping, deadline, file_ns(RUNTIME_QUICK), &opened);
    const bool is = opened.elf && elf_find_section(opened.elf, name, &place) &&
                    elf_load_bias(opened.elf, mapping->start, mapping->offset, &bias);
    if (is)
        *out = bias + place.vaddr;
    close_elf(&opened);
    return is;
}

static bool is_begin_of_file(const struct maps *maps, size_t index)
{
    return maps->items[index].inode &&
           (index == 0 || maps->items[index - 1].inode != maps->items[index].inode);
}

enum err_code runtime_find_section(int pid, const char *name, remote_addr *out)
{
    const struct deadline deadline = deadline_after(SECTION_NS);
    struct maps maps;
    enum err_code rc = maps_read(&maps, pid, NULL);
    if (rc)
        return rc;
    rc = ERR_NOT_FOUND;
    for (size_t i = 0; i < maps.count && rc && !deadline_is_over(&deadline); i++)
        if (is_begin_of_file(&maps, i) &&
            find_section(pid, &maps.items[i], name, &deadline, out))
            rc = ERR_OK;
    maps_deinit(&maps);
    return rc;
}

static uint32_t file_hash(const struct mapping *m)
{
    return hash_mix(m->inode, (uint64_t)m->device_major << 32 | m->device_minor);
}

static bool is_same_file(const struct mapping *a, const struct mapping *b)
{
    return a->inode == b->inode && a->device_major == b->device_major &&
           a->device_minor == b->device_minor;
}

static bool is_known_file(const struct search *search, const struct mapping *m)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &search->files, file_hash(m), is_same_file(&search->maps.items[at->id], m));
    return at != NULL;
}

/* Searches each file at its first mapping; libraries have several mappings. */
static bool search_files(struct search *search)
{
    for (uint32_t i = 0; i < search->maps.count; i++) {
        const struct mapping *const m = &search->maps.items[i];
        if (!m->inode || is_known_file(search, m))
            continue;
        if (runtime_is_out_of_time(search))
            return false;
        if (idmap_add(&search->files, file_hash(m), i, NULL))
            return false;
        if (search_file(search, m))
            return true;
    }
    return false;
}

/* Reads one byte of the program to learn whether its memory can be read. */
static enum err_code probe(struct search *search)
{
    unsigned char byte;
    for (size_t i = 0; i < search->maps.count; i++) {
        const struct mapping *const m = &search->maps.items[i];
        if (!m->readable || !m->inode)
            continue;
        return memory_read(&search->process->memory.memory, m->start, &byte, 1);
    }
    return ERR_OK;
}

static bool is_32_bit_program(int pid)
{
    unsigned char ident[EI_NIDENT] = { 0 };
    SCOPED_FD int fd = -1;
    return mapped_file_open_program(pid, &fd) == MAPPED_FILE_OPENED &&
           read(fd, ident, sizeof ident) == (ssize_t)sizeof ident &&
           memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS32;
}

static enum err_code not_found(const struct search *search)
{
    const struct process *const process = search->process;
    const uint64_t mib = 1 << 20;
    if (search->is_unfinished)
        return err_set(
            search->err, ERR_LIMIT,
            "process %d (%s) was not searched to the end: its files or its memory take "
            "longer to read than the %u s that a process is given",
            process->pid, process->executable,
            (unsigned)(process_ns(search->effort) / NS_PER_S));
    if (is_32_bit_program(process->pid))
        return err_set(search->err, ERR_NOT_PYTHON,
                       "process %d (%s) is a 32-bit program: only 64-bit ones can be read",
                       process->pid, process->executable);
    if (search->skipped_bytes == 0)
        return err_set(search->err, ERR_NOT_PYTHON, "process %d (%s) is not a Python process",
                       process->pid, process->executable);
    return err_set(search->err, ERR_NOT_PYTHON,
                   "process %d (%s) is not a Python process, as far as was searched: %" PRIu64
                   " MiB of its memory, and not the other %" PRIu64 " MiB",
                   process->pid, process->executable, search->scanned_bytes / mib,
                   search->skipped_bytes / mib);
}

static enum err_code find(struct search *search)
{
    const int pid = search->process->pid;
    struct err *const err = search->err;
    enum err_code rc = maps_read(&search->maps, pid, err);
    if (rc == ERR_PERM)
        return ptrace_checks_explain(pid, err);
    if (rc)
        return rc;
    if (search->maps.count == 0)
        return err_set(err, ERR_NOT_PYTHON,
                       "process %d is not a Python process (it has no memory of its own: a "
                       "kernel thread, or it is just ending)",
                       pid);
    rc = probe(search);
    if (rc == ERR_PERM || rc == ERR_UNSUPPORTED) /* UNSUPPORTED: no process_vm_readv */
        return ptrace_checks_explain(pid, err);
    search->program_inode = mapped_file_program_inode(pid);
    if (search->effort == RUNTIME_HIDDEN_ONLY)
        search->has_hidden_file = true;
    else if (search_files(search))
        return ERR_OK;
    if (search->out->count == 0 || search->effort == RUNTIME_EXHAUSTIVE)
        (void)runtime_scan(search);
    if (search->out->count)
        return ERR_OK;
    if (search->refusal)
        return err_wrap(err, search->refusal, "process %d", pid);
    return not_found(search);
}

static enum err_code find_in(struct process *process, enum runtime_effort effort,
                             struct runtime_list *out, struct err *err)
{
    const struct deadline forever = { .at_ns = UINT64_MAX,
                                      .is_cancelled = process->is_cancelled };
    struct search search = { .process = process,
                             .effort = effort,
                             .deadline = deadline_within(&forever, process_ns(effort)),
                             .out = out,
                             .err = err };
    out->count = 0;
    idmap_init(&search.files);
    const enum err_code rc = find(&search);
    idmap_deinit(&search.files);
    maps_deinit(&search.maps);
    return rc;
}

enum err_code runtime_find(struct process *process, enum runtime_effort effort,
                           struct runtime *out, struct err *err)
{
    struct runtime_list list;
    const enum err_code rc = find_in(process, effort, &list, err);
    if (rc)
        return rc;
    /* An interpreter that runs code ended the search, so it is the last one. */
    const struct runtime *const last = &list.items[list.count - 1];
    *out = last->evidence.frames ? *last : list.items[0];
    return ERR_OK;
}

enum err_code runtime_find_all(struct process *process, struct runtime_list *out,
                               struct err *err)
{
    return find_in(process, RUNTIME_EXHAUSTIVE, out, err);
}
