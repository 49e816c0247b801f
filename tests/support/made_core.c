#include "tests/support/made_core.h"

#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "sampler/base/buffer.h"
#include "sampler/process/core_notes.h"

#if defined __aarch64__
enum {
    MACHINE = EM_AARCH64,
    REGISTERS = 34,
    RESULT = 0,
    CALL = 8,
    TIMEOUT = 3,
    SP = 31,
    IP = 32
};
#else
enum {
    MACHINE = EM_X86_64,
    REGISTERS = 27,
    RESULT = 10,
    CALL = 15,
    TIMEOUT = 7,
    SP = 19,
    IP = 16
};
#endif

enum { SEGMENTS = 5, STATUS_BYTES = 112 + REGISTERS * 8 + 8, PROCESS_BYTES = 136 };

static void put(unsigned char *out, size_t at, uint64_t value, size_t bytes)
{
    memcpy(out + at, &value, bytes);
}

static void put_note(struct buffer *out, uint32_t type, const void *bytes, size_t count)
{
    static const char padding[4];
    buffer_u32(out, sizeof "CORE");
    buffer_u32(out, (uint32_t)count);
    buffer_u32(out, type);
    buffer_append(out, "CORE\0\0\0", 8);
    buffer_append(out, bytes, count);
    buffer_append(out, padding, -count & 3);
}

static void put_thread(struct buffer *out, int32_t tid, int signal, int64_t result)
{
    unsigned char status[STATUS_BYTES] = { 0 };
    put(status, 12, (uint64_t)signal, 2);
    put(status, 32, (uint64_t)tid, 4);
    put(status, 112 + RESULT * 8, (uint64_t)result, 8);
    put(status, 112 + CALL * 8, result ? SYS_futex : UINT64_MAX, 8);
    put(status, 112 + TIMEOUT * 8, MADE_CORE_MEMORY, 8);
    put(status, 112 + SP * 8, MADE_CORE_MEMORY + 256, 8);
    put(status, 112 + IP * 8, MADE_CORE_FILE + 512 + 4, 8);
    put_note(out, NT_PRSTATUS, status, sizeof status);
}

static void put_notes(struct buffer *out, const char *path)
{
    unsigned char process[PROCESS_BYTES] = { 0 }, info[128] = { 0 };
    const uint64_t vector[] = { AT_PHDR,   MADE_CORE_FILE + 64,
                                AT_RANDOM, MADE_CORE_MEMORY + 4000,
                                AT_NULL,   0 };
    struct buffer files = { 0 };
    put_thread(out, MADE_CORE_PID, SIGSEGV, 0);
    put(process, 24, MADE_CORE_PID, 4);
    memcpy(process + 40, "python3", sizeof "python3");
    memcpy(process + 56, "python3 app.py -v ", sizeof "python3 app.py -v ");
    put_note(out, NT_PRPSINFO, process, sizeof process);
    put(info, 0, SIGSEGV, 4);
    put(info, 8, SEGV_MAPERR, 4);
    put(info, 16, 0xdead, 8);
    put_note(out, NT_SIGINFO, info, sizeof info);
    put_note(out, NT_AUXV, vector, sizeof vector);
    buffer_u64(&files, 3);
    buffer_u64(&files, MADE_CORE_PAGE);
    for (uint64_t page = 0; page < 3; page++) {
        buffer_u64(&files, MADE_CORE_FILE + page * MADE_CORE_PAGE);
        buffer_u64(&files, MADE_CORE_FILE + (page + 1) * MADE_CORE_PAGE);
        buffer_u64(&files, page);
    }
    for (unsigned i = 0; i < 3; i++)
        buffer_append(&files, path, strlen(path) + 1);
    put_note(out, NT_FILE, files.data, files.length);
    buffer_deinit(&files);
    put_thread(out, MADE_CORE_OTHER, 0, -512);
}

void made_core_page(unsigned char out[MADE_CORE_PAGE])
{
    const Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                                             ELFDATA2LSB, EV_CURRENT },
                                .e_type = ET_DYN,
                                .e_machine = MACHINE,
                                .e_phoff = sizeof header,
                                .e_phentsize = sizeof(Elf64_Phdr),
                                .e_phnum = 1 };
    const Elf64_Phdr code = { .p_type = PT_LOAD,
                              .p_flags = PF_R | PF_X,
                              .p_offset = MADE_CORE_PAGE,
                              .p_filesz = MADE_CORE_PAGE };
    memset(out, 0, MADE_CORE_PAGE);
    memcpy(out, &header, sizeof header);
    memcpy(out + sizeof header, &code, sizeof code);
    put(out, 512, 0xd4000001, 4); /* svc #0 */
}

unsigned char *made_core(const char *path, const unsigned char file[MADE_CORE_PAGE],
                         size_t *bytes_out)
{
    struct buffer out = { 0 }, notes = { 0 };
    unsigned char memory[MADE_CORE_PAGE];
    const Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                                             ELFDATA2LSB, EV_CURRENT },
                                .e_type = ET_CORE,
                                .e_machine = MACHINE,
                                .e_version = EV_CURRENT,
                                .e_phoff = sizeof header,
                                .e_phentsize = sizeof(Elf64_Phdr),
                                .e_phnum = SEGMENTS };
    put_notes(&notes, path);
    const uint64_t notes_at = MADE_CORE_HEADER_BYTES, file_at = notes_at + notes.length;
    const Elf64_Phdr segments[SEGMENTS] = {
        { .p_type = PT_NOTE, .p_offset = notes_at, .p_filesz = notes.length },
        { .p_type = PT_LOAD,
          .p_flags = PF_R,
          .p_vaddr = MADE_CORE_FILE,
          .p_offset = file_at,
          .p_filesz = MADE_CORE_PAGE,
          .p_memsz = MADE_CORE_PAGE },
        { .p_type = PT_LOAD,
          .p_flags = PF_R | PF_W,
          .p_vaddr = MADE_CORE_DATA,
          .p_memsz = MADE_CORE_PAGE },
        { .p_type = PT_LOAD,
          .p_flags = PF_R | PF_W,
          .p_vaddr = MADE_CORE_MEMORY,
          .p_offset = file_at + MADE_CORE_PAGE,
          .p_filesz = MADE_CORE_PAGE,
          .p_memsz = MADE_CORE_PAGE },
        { .p_type = PT_NULL },
    };
    for (size_t i = 0; i < sizeof memory; i++)
        memory[i] = (unsigned char)(1 + i % 255);
    buffer_append(&out, &header, sizeof header);
    buffer_append(&out, segments, sizeof segments);
    buffer_append(&out, notes.data, notes.length);
    buffer_append(&out, file, MADE_CORE_PAGE);
    buffer_append(&out, memory, sizeof memory);
    buffer_deinit(&notes);
    return (unsigned char *)buffer_take(&out, bytes_out);
}
