#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/compress.h"
#include "sampler/process/core_file.h"
#include "sampler/process/core_unpack.h"
#include "sampler/process/mapped_file.h"
#include "sampler/process/maps.h"
#include "sampler/process/memory.h"
#include "sampler/process/process.h"
#include "sampler/process/stored_process.h"
#include "sampler/process/system_call.h"
#include "sampler/process/thread_ids.h"
#include "tests/support/made_core.h"
#include "tests/support/test.h"
#include "tests/unit/process/elf_file.h"

/* A core of a process that had mapped `program`, which has two pages and data. */
struct place {
    char folder[64], program[96], path[96], other[96];
    unsigned char *bytes;
    size_t count;
    struct core_file *core;
};

static void write_file(const char *path, const void *bytes, size_t count)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), (ssize_t)count);
    close(fd);
}

static void write_program(const char *path, const char *code)
{
    unsigned char pages[3 * MADE_CORE_PAGE] = { 0 };
    made_core_page(pages);
    snprintf((char *)pages + MADE_CORE_PAGE, MADE_CORE_PAGE, "%s", code);
    write_file(path, pages, sizeof pages);
}

static void make(struct place *place)
{
    unsigned char page[MADE_CORE_PAGE];
    *place = (struct place){ .count = 0 };
    snprintf(place->folder, sizeof place->folder, "/tmp/core_file-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    assert_int_equal(chmod(place->folder, 0755), 0);
    snprintf(place->program, sizeof place->program, "%s/python3", place->folder);
    snprintf(place->path, sizeof place->path, "%s/core", place->folder);
    snprintf(place->other, sizeof place->other, "%s/other", place->folder);
    write_program(place->program, "code");
    made_core_page(page);
    place->bytes = made_core(place->program, page, &place->count);
    assert_non_null(place->bytes);
    write_file(place->path, place->bytes, place->count);
}

static void begin(struct place *place)
{
    struct err err = { 0 };
    make(place);
    assert_ok(core_file_open(place->path, NULL, &place->core, &err), &err);
}

static void end(struct place *place)
{
    core_file_close(place->core);
    (void)unlink(place->program);
    (void)unlink(place->path);
    (void)unlink(place->other);
    assert_int_equal(rmdir(place->folder), 0);
    free(place->bytes);
}

static void assert_refused(const char *path, const char *executable, enum err_code code,
                           const char *why)
{
    struct core_file *core = NULL;
    struct err err = { 0 };
    assert_int_equal(core_file_open(path, executable, &core, &err), code);
    assert_non_null(strstr(err.message, why));
    assert_null(strchr(err.message, '\n'));
}

static int number_of(const struct place *place)
{
    return core_file_process(place->core)->number;
}

static enum err_code read_at_addr(const struct place *place, remote_addr addr, void *out,
                                  size_t bytes)
{
    struct process_memory memory;
    process_memory_init(&memory, number_of(place));
    return memory_read(&memory.memory, addr, out, bytes);
}

static void core_says_what_ended_the_process(void **state)
{
    struct place place;
    (void)state;
    begin(&place);
    const struct core_notes *const notes = core_file_notes(place.core);
    assert_int_equal(notes->pid, MADE_CORE_PID);
    assert_int_equal(notes->first_tid, MADE_CORE_PID);
    assert_string_equal(notes->command, "python3 app.py -v");
    assert_true(notes->has_signal);
    assert_int_equal(notes->signal, SIGSEGV);
    assert_int_equal(notes->fault_addr, 0xdead);
    assert_int_equal(core_file_cut_bytes(place.core), 0);
    end(&place);
}

static void a_core_is_a_process_of_a_number_of_its_own(void **state)
{
    struct place place;
    struct process process;
    struct thread_ids ids;
    (void)state;
    begin(&place);
    const int number = number_of(&place);
    assert_true(number < 0);
    assert_ptr_equal(core_file_find(number), place.core);
    assert_ok(process_open(&process, number, NULL), NULL);
    assert_int_equal(process.argc, 3);
    assert_string_equal(process.argv[1], "app.py");
    assert_string_equal(process.executable, place.program);
    assert_true(process_runs(&process, MADE_CORE_MEMORY));
    thread_ids_init(&ids, number);
    assert_int_equal(thread_ids_count(&ids), 2);
    assert_int_equal(thread_ids_find(&ids, MADE_CORE_OTHER), MADE_CORE_OTHER);
    assert_int_equal(thread_ids_find(&ids, getpid()), 0);
    assert_int_equal(thread_ids_inner_pid(number), MADE_CORE_PID);
    thread_ids_deinit(&ids);
    process_close(&process);
    end(&place);
    assert_null(core_file_find(number));
}

static void memory_is_that_of_the_core_and_of_the_files_it_names(void **state)
{
    struct place place;
    unsigned char bytes[2 * MADE_CORE_PAGE];
    (void)state;
    begin(&place);
    assert_ok(read_at_addr(&place, MADE_CORE_MEMORY + 1, bytes, 4), NULL);
    assert_memory_equal(bytes, "\2\3\4\5", 4);
    assert_int_equal(read_at_addr(&place, MADE_CORE_MEMORY + MADE_CORE_PAGE - 1, bytes, 2),
                     ERR_FAULT);
    /* From the core into the file. */
    assert_ok(read_at_addr(&place, MADE_CORE_FILE, bytes, sizeof bytes), NULL);
    assert_memory_equal(bytes + MADE_CORE_PAGE, "code", 5);
    /* The process may have written other bytes than the file has there. */
    assert_int_equal(read_at_addr(&place, MADE_CORE_DATA, bytes, 1), ERR_FAULT);
    assert_int_equal(read_at_addr(&place, UINT64_MAX - 1, bytes, 8), ERR_FAULT);
    end(&place);
}

static void mappings_are_those_of_the_core(void **state)
{
    struct place place;
    struct maps maps = { 0 };
    int fd = -1;
    (void)state;
    begin(&place);
    assert_ok(maps_read(&maps, number_of(&place), NULL), NULL);
    assert_int_equal(maps.count, 4);
    assert_string_equal(maps_file_at(&maps, MADE_CORE_FILE), place.program);
    assert_false(maps.items[0].executable);
    /* Not a segment: the file says what it is. */
    assert_true(maps.items[1].executable && maps.items[1].readable && !maps.items[1].writable);
    assert_int_equal(maps.items[1].offset, MADE_CORE_PAGE);
    assert_true(maps.items[2].writable);
    assert_string_equal(maps.items[3].path, "");
    assert_int_equal(maps.items[0].inode, mapped_file_program_inode(number_of(&place)));
    assert_int_equal(mapped_file_open(number_of(&place), &maps.items[0], &fd),
                     MAPPED_FILE_OPENED);
    close(fd);
    maps_deinit(&maps);
    end(&place);
}

static void a_file_that_is_another_one_now_is_not_read(void **state)
{
    struct place place;
    char byte;
    const char *first = "";
    (void)state;
    begin(&place);
    write_file(place.program, "#!/bin/sh\n", 10);
    assert_int_equal(read_at_addr(&place, MADE_CORE_FILE + MADE_CORE_PAGE, &byte, 1),
                     ERR_FAULT);
    assert_int_equal(core_file_count(place.core, CORE_BACKING_OTHER, &first), 1);
    assert_string_equal(first, place.program);
    end(&place);
}

static void a_file_that_is_gone_is_read_from_the_one_that_is_named(void **state)
{
    struct place place;
    char bytes[5];
    const char *first = "";
    (void)state;
    begin(&place);
    assert_int_equal(rename(place.program, place.other), 0);
    assert_int_equal(read_at_addr(&place, MADE_CORE_FILE + MADE_CORE_PAGE, bytes, 5),
                     ERR_FAULT);
    assert_int_equal(core_file_count(place.core, CORE_BACKING_ABSENT, &first), 1);
    core_file_close(place.core);
    assert_ok(core_file_open(place.path, place.other, &place.core, NULL), NULL);
    assert_ok(read_at_addr(&place, MADE_CORE_FILE + MADE_CORE_PAGE, bytes, 5), NULL);
    assert_string_equal(bytes, "code");
    end(&place);
}

static void a_file_of_which_the_core_has_nothing_is_read_if_its_name_is_given(void **state)
{
    struct place place;
    char bytes[5];
    const char *first = "";
    (void)state;
    make(&place);
    /* The first page is not in the core. */
    Elf64_Phdr *const segments = (Elf64_Phdr *)(void *)(place.bytes + sizeof(Elf64_Ehdr));
    segments[1].p_filesz = 0;
    write_file(place.path, place.bytes, place.count);
    assert_ok(core_file_open(place.path, NULL, &place.core, NULL), NULL);
    assert_int_equal(read_at_addr(&place, MADE_CORE_FILE + MADE_CORE_PAGE, bytes, 5),
                     ERR_FAULT);
    assert_int_equal(core_file_count(place.core, CORE_BACKING_UNKNOWN, &first), 1);
    core_file_close(place.core);
    place.core = NULL;
    assert_int_equal(link(place.program, place.other), 0);
    assert_refused(place.path, place.other, ERR_INVALID, "is not the program of");
    assert_ok(core_file_open(place.path, place.program, &place.core, NULL), NULL);
    assert_ok(read_at_addr(&place, MADE_CORE_FILE + MADE_CORE_PAGE, bytes, 5), NULL);
    end(&place);
}

static void a_file_that_the_owner_of_the_core_cannot_read_is_not_opened(void **state)
{
    struct place place;
    char byte;
    const char *first = "";
    (void)state;
    if (geteuid() != 0)
        skip();
    make(&place);
    assert_int_equal(chown(place.path, 65534, 65534), 0);
    assert_int_equal(chmod(place.program, 0600), 0);
    assert_ok(core_file_open(place.path, NULL, &place.core, NULL), NULL);
    assert_int_equal(read_at_addr(&place, MADE_CORE_FILE + MADE_CORE_PAGE, &byte, 1),
                     ERR_FAULT);
    assert_int_equal(core_file_count(place.core, CORE_BACKING_ABSENT, &first), 1);
    end(&place);
}

static void an_executable_of_another_core_is_refused(void **state)
{
    struct place place;
    (void)state;
    make(&place);
    write_file(place.other, "#!/bin/sh\n", 10);
    assert_refused(place.path, place.other, ERR_INVALID, "is not the program of");
    assert_refused(place.path, "/nonexistent", ERR_NOT_FOUND, "/nonexistent");
    end(&place);
}

static void a_fifo_at_the_place_of_a_mapped_file_is_not_opened(void **state)
{
    struct place place;
    char byte;
    (void)state;
    begin(&place);
    assert_int_equal(unlink(place.program), 0);
    assert_int_equal(mkfifo(place.program, 0644), 0);
    assert_int_equal(read_at_addr(&place, MADE_CORE_FILE + MADE_CORE_PAGE, &byte, 1),
                     ERR_FAULT);
    end(&place);
}

static void registers_say_in_which_call_a_thread_waited(void **state)
{
    struct place place;
    struct system_call call;
    (void)state;
    begin(&place);
    core_file_call(place.core, core_file_thread(place.core, MADE_CORE_PID), &call);
    assert_false(call.is_known);
    core_file_call(place.core, core_file_thread(place.core, MADE_CORE_OTHER), &call);
    assert_true(call.is_known && call.is_timed);
    assert_int_equal(system_call_kind(call.number), CALL_FUTEX);
    assert_int_equal(call.sp, MADE_CORE_MEMORY + 256);
    assert_null(core_file_thread(place.core, MADE_CORE_PID + 1));
    end(&place);
}

static void what_is_no_core_is_refused_with_a_word_what_to_do(void **state)
{
    struct place place;
    (void)state;
    make(&place);
    assert_refused(place.program, NULL, ERR_INVALID, "name the core, and the program with");
    assert_int_equal(symlink(place.path, place.other), 0);
    assert_refused(place.other, NULL, ERR_INVALID, "symbolic link");
    assert_int_equal(unlink(place.other), 0);
    assert_int_equal(mkfifo(place.other, 0644), 0);
    assert_refused(place.other, NULL, ERR_INVALID, "not a regular file");
    assert_int_equal(unlink(place.other), 0);
    assert_refused(place.folder, NULL, ERR_INVALID, "not a regular file");
    write_file(place.other, "", 0);
    assert_refused(place.other, NULL, ERR_INVALID, "not a core file");
    write_file(place.other,
               "\xfd"
               "7zXZ\0\0\0\0",
               9);
    assert_refused(place.other, NULL, ERR_INVALID, "xz -d");
    ((Elf64_Ehdr *)(void *)place.bytes)->e_machine = EM_S390;
    write_file(place.other, place.bytes, place.count);
    assert_refused(place.other, NULL, ERR_INVALID, "read it on such a machine");
    place.bytes[EI_CLASS] = ELFCLASS32;
    write_file(place.other, place.bytes, place.count);
    assert_refused(place.other, NULL, ERR_INVALID, "32-bit");
    end(&place);
}

static void more_segments_than_a_process_has_mappings_are_refused(void **state)
{
    struct place place;
    (void)state;
    make(&place);
    Elf64_Ehdr *const header = (Elf64_Ehdr *)(void *)place.bytes;
    Elf64_Shdr section = { .sh_info = CORE_MAX_SEGMENTS + 1 };
    unsigned char *const end_of_file = place.bytes + place.count - sizeof section;
    header->e_phnum = PN_XNUM;
    header->e_shoff = place.count - sizeof section;
    memcpy(end_of_file, &section, sizeof section);
    write_file(place.path, place.bytes, place.count);
    assert_refused(place.path, NULL, ERR_LIMIT, "segments");
    /* As many as are allowed, and not in the file. */
    section.sh_info = CORE_MAX_SEGMENTS;
    memcpy(end_of_file, &section, sizeof section);
    write_file(place.path, place.bytes, place.count);
    assert_refused(place.path, NULL, ERR_CORRUPT, "truncated");
    end(&place);
}

/* Reads all that can be asked of a core, whatever it is. */
static void read_everything(struct core_file *core)
{
    const int number = core_file_process(core)->number;
    const struct core_notes *const notes = core_file_notes(core);
    struct maps maps = { 0 };
    struct system_call call;
    unsigned char bytes[64];
    struct process_memory memory;
    process_memory_init(&memory, number);
    if (!maps_read(&maps, number, NULL))
        for (size_t i = 0; i < maps.count; i++)
            (void)!memory_read(&memory.memory, maps.items[i].start, bytes, sizeof bytes);
    maps_deinit(&maps);
    for (size_t i = 0; i < notes->thread_count; i++)
        core_file_call(core, &notes->threads[i], &call);
}

static void a_core_that_was_cut_anywhere_is_refused_or_read(void **state)
{
    struct place place;
    bool was_cut = false;
    (void)state;
    make(&place);
    for (size_t count = 0; count < place.count; count++) {
        struct core_file *core = NULL;
        struct err err = { 0 };
        const int fd = elf_file(place.bytes, count);
        if (core_file_open_fd(fd, "core", NULL, &core, &err)) {
            assert_true(*err.message);
        } else {
            assert_int_equal(core_file_cut_bytes(core), place.count - count);
            was_cut = true;
            read_everything(core);
            core_file_close(core);
        }
        close(fd);
    }
    assert_true(was_cut);
    end(&place);
}

static void a_core_with_any_byte_changed_is_refused_or_read(void **state)
{
    struct place place;
    (void)state;
    make(&place);
    const size_t headers = place.count - (size_t)2 * MADE_CORE_PAGE;
    for (size_t at = 0; at < headers; at++)
        for (unsigned mask = 1; mask < 256; mask = mask * 16 + 15) {
            struct core_file *core = NULL;
            place.bytes[at] = (unsigned char)(place.bytes[at] ^ mask);
            const int fd = elf_file(place.bytes, place.count);
            if (!core_file_open_fd(fd, "core", NULL, &core, NULL)) {
                read_everything(core);
                core_file_close(core);
            }
            close(fd);
            place.bytes[at] = (unsigned char)(place.bytes[at] ^ mask);
        }
    end(&place);
}

static void a_core_that_zstd_compressed_is_read_as_it_was(void **state)
{
    struct place place;
    unsigned char *packed = NULL, byte = 0;
    size_t count = 0;
    (void)state;
    make(&place);
    assert_ok(compress_zstd(place.bytes, place.count, 3, &packed, &count, NULL), NULL);
    write_file(place.other, packed, count);
    assert_ok(core_file_open(place.other, NULL, &place.core, NULL), NULL);
    assert_int_equal(core_file_cut_bytes(place.core), 0);
    assert_ok(read_at_addr(&place, MADE_CORE_MEMORY, &byte, 1), NULL);
    assert_int_equal(byte, 1);
    /* Most of it is missing. */
    write_file(place.other, packed, 16);
    assert_refused(place.other, NULL, ERR_CORRUPT, "");
    free(packed);
    end(&place);
}

static void a_small_file_does_not_unpack_to_any_size(void **state)
{
    enum { ZEROS = 1 << 22 };
    struct place place;
    unsigned char *zeros = calloc(1, ZEROS), *packed = NULL;
    size_t count = 0;
    struct err err = { 0 };
    struct stat st;
    int plain_fd = -1;
    (void)state;
    make(&place);
    assert_ok(compress_zstd(zeros, ZEROS, 3, &packed, &count, NULL), NULL);
    const int fd = elf_file(packed, count);
    assert_int_equal(core_unpack(fd, "core.zst", ZEROS / 2, &plain_fd, &err), ERR_LIMIT);
    assert_int_equal(plain_fd, -1);
    /* Zeros take no room. */
    assert_ok(core_unpack(fd, "core.zst", ZEROS, &plain_fd, &err), &err);
    assert_int_equal(fstat(plain_fd, &st), 0);
    assert_int_equal(st.st_size, ZEROS);
    assert_true(st.st_blocks < ZEROS / 512 / 4);
    close(plain_fd);
    close(fd);
    free(zeros);
    free(packed);
    end(&place);
}

TEST_GROUP(cmocka_unit_test(core_says_what_ended_the_process),
           cmocka_unit_test(a_core_is_a_process_of_a_number_of_its_own),
           cmocka_unit_test(memory_is_that_of_the_core_and_of_the_files_it_names),
           cmocka_unit_test(mappings_are_those_of_the_core),
           cmocka_unit_test(a_file_that_is_another_one_now_is_not_read),
           cmocka_unit_test(a_file_that_is_gone_is_read_from_the_one_that_is_named),
           cmocka_unit_test(a_file_of_which_the_core_has_nothing_is_read_if_its_name_is_given),
           cmocka_unit_test(a_file_that_the_owner_of_the_core_cannot_read_is_not_opened),
           cmocka_unit_test(an_executable_of_another_core_is_refused),
           cmocka_unit_test(a_fifo_at_the_place_of_a_mapped_file_is_not_opened),
           cmocka_unit_test(registers_say_in_which_call_a_thread_waited),
           cmocka_unit_test(what_is_no_core_is_refused_with_a_word_what_to_do),
           cmocka_unit_test(more_segments_than_a_process_has_mappings_are_refused),
           cmocka_unit_test(a_core_that_was_cut_anywhere_is_refused_or_read),
           cmocka_unit_test(a_core_with_any_byte_changed_is_refused_or_read),
           cmocka_unit_test(a_core_that_zstd_compressed_is_read_as_it_was),
           cmocka_unit_test(a_small_file_does_not_unpack_to_any_size))
