#define _GNU_SOURCE
#include "sampler/process/core_notes.h"

#include <elf.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/byte_reader.h"
#include "sampler/base/read_at.h"
#include "sampler/base/vec.h"

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif

/* Notes as the kernel writes them on 64-bit machines. */
enum {
    STATUS_SIGNAL = 12,
    STATUS_TID = 32,
    STATUS_REGISTERS = 112,
    STATUS_TAIL = 8, /* after the registers */
    STATUS_MAX = STATUS_REGISTERS + CORE_REGISTERS * 8 + STATUS_TAIL,
    PROCESS_PID = 24,
    PROCESS_NAME = 40,
    PROCESS_COMMAND = PROCESS_NAME + CORE_NAME_BYTES,
    PROCESS_BYTES = PROCESS_COMMAND + CORE_COMMAND_BYTES,
    SIGNAL_CODE = 8,
    SIGNAL_SENDER = 16, /* or the address of a fault */
    SIGNAL_BYTES = 24,
    FILE_ENTRY_BYTES = 3 * 8,
    LARGEST_PAGE = 1 << 16,
    OWNER_BYTES = 8,
};

static int32_t int_at(const unsigned char *bytes, size_t at)
{
    int32_t value;
    memcpy(&value, bytes + at, sizeof value);
    return value;
}

static uint64_t word_at(const unsigned char *bytes, size_t at)
{
    uint64_t value;
    memcpy(&value, bytes + at, sizeof value);
    return value;
}

static enum err_code add_thread(struct core_notes *notes, const unsigned char *status,
                                size_t bytes)
{
    const int32_t tid = bytes >= STATUS_REGISTERS ? int_at(status, STATUS_TID) : 0;
    const size_t words = bytes > STATUS_REGISTERS + STATUS_TAIL
                             ? (bytes - STATUS_REGISTERS - STATUS_TAIL) / sizeof(uint64_t)
                             : 0;
    if (tid <= 0 || !words || notes->thread_count == CORE_MAX_THREADS)
        return ERR_OK;
    if (!VEC_RESERVE(notes->threads, notes->thread_room, notes->thread_count + 1))
        return ERR_NOMEM;
    struct core_thread *const thread = &notes->threads[notes->thread_count++];
    int16_t signal;
    memcpy(&signal, status + STATUS_SIGNAL, sizeof signal);
    *thread = (struct core_thread){ .tid = tid, .signal = signal, .call = CORE_NO_CALL };
    memcpy(thread->registers, status + STATUS_REGISTERS, words * sizeof(uint64_t));
    return ERR_OK;
}

static void take_process(struct core_notes *notes, const unsigned char *process, size_t bytes)
{
    if (bytes < PROCESS_BYTES || notes->pid)
        return;
    notes->is_by_debugger = notes->thread_count == 0;
    notes->pid = int_at(process, PROCESS_PID) > 0 ? int_at(process, PROCESS_PID) : 0;
    memcpy(notes->name, process + PROCESS_NAME, CORE_NAME_BYTES);
    memcpy(notes->command, process + PROCESS_COMMAND, CORE_COMMAND_BYTES);
    for (size_t length = strlen(notes->command); length && notes->command[length - 1] == ' ';)
        notes->command[--length] = '\0';
}

/* gdb writes one for each thread; the first is that of the thread that it had selected. */
static void take_signal(struct core_notes *notes, const unsigned char *info, size_t bytes)
{
    if (bytes < SIGNAL_BYTES || notes->has_signal)
        return;
    notes->has_signal = true;
    notes->signal = int_at(info, 0);
    notes->signal_code = int_at(info, SIGNAL_CODE);
    if (notes->signal_code > 0)
        notes->fault_addr = word_at(info, SIGNAL_SENDER);
    else
        notes->sender = int_at(info, SIGNAL_SENDER);
}

static void take_vector(struct core_notes *notes, const unsigned char *vector, size_t bytes)
{
    for (size_t at = 0; at + 2 * sizeof(uint64_t) <= bytes; at += 2 * sizeof(uint64_t)) {
        const uint64_t value = word_at(vector, at + sizeof(uint64_t));
        switch (word_at(vector, at)) {
        case AT_PHDR: notes->program_headers = value; break;
        /* The kernel has put these bytes above the frames of the first thread. */
        case AT_RANDOM: notes->stack_start = value; break;
        case AT_SYSINFO_EHDR: notes->vdso = value; break;
        default: break;
        }
    }
}

static int by_start(const void *a, const void *b)
{
    const struct core_mapped *const x = a, *const y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* How many entries, the size of a page, then start, end and page of each, then their paths. */
static enum err_code take_files(struct core_notes *notes, const unsigned char *note,
                                size_t bytes)
{
    struct byte_reader in = byte_reader_of(note, bytes);
    const uint64_t declared = byte_reader_u64(&in), page_bytes = byte_reader_u64(&in);
    const size_t most = byte_reader_left(&in) / FILE_ENTRY_BYTES;
    if (notes->mapped || in.is_bad || declared > most || declared > CORE_MAX_FILES ||
        declared == 0 || page_bytes == 0 || page_bytes > LARGEST_PAGE)
        return ERR_OK;
    const size_t count = (size_t)declared;
    const unsigned char *const entries = byte_reader_take(&in, count * FILE_ENTRY_BYTES);
    const size_t path_bytes = byte_reader_left(&in);
    notes->mapped = calloc(count, sizeof *notes->mapped);
    notes->paths = malloc(path_bytes + 1);
    if (!notes->mapped || !notes->paths)
        return ERR_NOMEM;
    if (path_bytes)
        memcpy(notes->paths, in.at, path_bytes);
    notes->paths[path_bytes] = '\0';
    /* Only entries that make sense and do not overlap are taken. */
    const char *path = notes->paths, *const end = notes->paths + path_bytes;
    size_t kept = 0;
    for (size_t i = 0; i < count && path < end; i++, path += strlen(path) + 1) {
        const unsigned char *const entry = entries + i * FILE_ENTRY_BYTES;
        const uint64_t pages = word_at(entry, 16);
        const struct core_mapped mapped = { .start = word_at(entry, 0),
                                            .end = word_at(entry, 8),
                                            .offset = pages * page_bytes,
                                            .path = path };
        if (mapped.start < mapped.end && pages <= INT64_MAX / page_bytes &&
            strlen(path) < PATH_MAX)
            notes->mapped[kept++] = mapped;
    }
    qsort(notes->mapped, kept, sizeof *notes->mapped, by_start);
    for (size_t i = 0; i < kept; i++)
        if (!notes->mapped_count ||
            notes->mapped[notes->mapped_count - 1].end <= notes->mapped[i].start)
            notes->mapped[notes->mapped_count++] = notes->mapped[i];
    return ERR_OK;
}

/* Notes of a thread follow its registers. */
static void add_to_thread(struct core_notes *notes, uint32_t type, const unsigned char *desc,
                          size_t bytes)
{
    struct core_thread *const thread =
        notes->thread_count ? &notes->threads[notes->thread_count - 1] : NULL;
    if (thread && type == NT_ARM_TLS && bytes >= sizeof(uint64_t))
        thread->thread_pointer = word_at(desc, 0);
    if (thread && type == NT_ARM_SYSTEM_CALL && bytes >= sizeof(int32_t))
        thread->call = int_at(desc, 0);
}

/* How much of a note is read; 0: it is of no interest. */
static size_t wanted_bytes(uint32_t type)
{
    switch (type) {
    case NT_PRSTATUS: return STATUS_MAX;
    case NT_PRPSINFO: return PROCESS_BYTES;
    case NT_SIGINFO: return SIGNAL_BYTES;
    case NT_AUXV: return CORE_MAX_VECTOR * 2 * sizeof(uint64_t);
    case NT_FILE: return CORE_MAX_FILE_NOTE_BYTES;
    case NT_ARM_TLS:
    case NT_ARM_SYSTEM_CALL: return sizeof(uint64_t);
    default: return 0;
    }
}

static enum err_code take_note(struct core_notes *notes, uint32_t type,
                               const unsigned char *desc, size_t bytes)
{
    switch (type) {
    case NT_PRSTATUS: return add_thread(notes, desc, bytes);
    case NT_FILE: return take_files(notes, desc, bytes);
    case NT_PRPSINFO: take_process(notes, desc, bytes); break;
    case NT_SIGINFO: take_signal(notes, desc, bytes); break;
    case NT_AUXV: take_vector(notes, desc, bytes); break;
    default: add_to_thread(notes, type, desc, bytes);
    }
    return ERR_OK;
}

/* Reads what a note holds.  Only as much is allocated as is wanted, and as is in the file. */
static enum err_code read_note(struct core_notes *notes, int fd, const Elf64_Nhdr *note,
                               uint64_t at)
{
    unsigned char small[CORE_MAX_VECTOR * 2 * sizeof(uint64_t)], *large = NULL;
    const size_t wanted = wanted_bytes(note->n_type);
    const size_t bytes = note->n_descsz < wanted ? note->n_descsz : wanted;
    if (!bytes || bytes > CORE_MAX_NOTE_BYTES - notes->read_bytes)
        return ERR_OK;
    notes->read_bytes += bytes;
    if (bytes > sizeof small && !(large = malloc(bytes)))
        return ERR_NOMEM;
    enum err_code rc = ERR_OK;
    if (read_at(fd, large ? large : small, bytes, at))
        rc = take_note(notes, note->n_type, large ? large : small, bytes);
    else
        notes->is_cut = true;
    free(large);
    return rc;
}

static uint64_t padded(uint32_t bytes)
{
    return ((uint64_t)bytes + 3) & ~UINT64_C(3);
}

enum err_code core_notes_read(struct core_notes *notes, int fd, uint64_t offset, uint64_t bytes,
                              uint64_t limit)
{
    struct {
        Elf64_Nhdr note;
        char owner[OWNER_BYTES];
    } head;
    enum err_code rc = ERR_OK;
    if (offset > limit || bytes > limit - offset) {
        notes->is_cut = true;
        bytes = offset > limit ? 0 : limit - offset;
    }
    const uint64_t end = offset + bytes;
    uint64_t at = offset;
    while (!rc && end - at >= sizeof head && notes->seen++ < CORE_MAX_NOTES) {
        if (!read_at(fd, &head, sizeof head, at))
            return ERR_OK;
        const uint64_t desc = at + sizeof head.note + padded(head.note.n_namesz);
        const uint64_t next = desc + padded(head.note.n_descsz);
        if (desc + head.note.n_descsz > end) {
            notes->is_cut = true;
            break;
        }
        /* All that tools write of a process is of "CORE" or "LINUX". */
        const uint32_t length = head.note.n_namesz;
        if ((length == sizeof "CORE" && memcmp(head.owner, "CORE", length) == 0) ||
            (length == sizeof "LINUX" && memcmp(head.owner, "LINUX", length) == 0))
            rc = read_note(notes, fd, &head.note, desc);
        if (next > end)
            break;
        at = next;
    }
    return rc;
}

const struct core_mapped *core_notes_find(const struct core_notes *notes, remote_addr addr)
{
    size_t at;
    LOWER_BOUND(at, notes->mapped_count, notes->mapped[at].end <= addr);
    return at < notes->mapped_count && notes->mapped[at].start <= addr ? &notes->mapped[at]
                                                                       : NULL;
}

static int by_tid(const void *a, const void *b)
{
    const struct core_thread *const x = a, *const y = b;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

void core_notes_sort(struct core_notes *notes)
{
    if (!notes->thread_count)
        return;
    notes->first_tid = notes->threads[0].tid;
    if (!notes->pid)
        notes->pid = notes->first_tid;
    qsort(notes->threads, notes->thread_count, sizeof *notes->threads, by_tid);
}

void core_notes_deinit(struct core_notes *notes)
{
    free(notes->threads);
    free(notes->mapped);
    free(notes->paths);
    *notes = (struct core_notes){ .pid = 0 };
}
