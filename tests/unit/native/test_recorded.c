/*
 * Walks recorded stacks of real programs, and compares them with what libunwind found when they were recorded.
 *
 * A file of the processor's folder in recorded/ has, in hexadecimal: for each stack a line `registers` (ip, sp, outer_sp,
 * those of enum machine_register), lines `stack` (an address, the word there), lines `frame` (a program counter) and a line `end`;
 * then lines `map`, as in /proc/PID/maps, and lines `memory` (an address, the bytes there).  record_stacks writes
 * it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/native/unwind.h"
#include "sampler/process/maps.h"
#include "tests/support/fake_memory.h"
#include "tests/support/test.h"

enum { MAX_FRAMES = 512, MAX_STACK_BYTES = 1 << 20, MAX_MAPS_BYTES = 1 << 16, PAGE = 4096 };

static const char folder[] = TEST_SOURCE_DIR "/unit/native/recorded/" MACHINE_NAME;

struct recording {
    struct fake_memory fake;
    struct unwinder unwinder;
    struct native_registers registers;
    unsigned char stack[MAX_STACK_BYTES]; /* from the red zone on */
    remote_addr expected[MAX_FRAMES];
    size_t expected_count;
    unsigned stacks;
};

/* The bytes behind the address of a line. */
static size_t parse_bytes(const char *line, remote_addr *addr_out, unsigned char bytes[PAGE])
{
    int at = 0;
    size_t count = 0;
    unsigned byte;
    assert_int_equal(sscanf(line, "%*s %" SCNx64 " %n", addr_out, &at), 1);
    for (line += at; sscanf(line, "%2x", &byte) == 1; line += 2) {
        assert_true(count < PAGE);
        bytes[count++] = (unsigned char)byte;
    }
    return count;
}

static void take_memory(struct recording *recording, const char *line)
{
    unsigned char bytes[PAGE];
    remote_addr addr;
    const size_t count = parse_bytes(line, &addr, bytes);
    if (!fake_memory_is_mapped(&recording->fake, addr - addr % PAGE))
        fake_memory_map(&recording->fake, addr - addr % PAGE, PAGE);
    fake_memory_put(&recording->fake, addr, bytes, count);
}

static void take_registers(struct recording *recording, const char *line)
{
    struct native_registers *const r = &recording->registers;
    uint64_t values[3 + MACHINE_SAVED];
    char *end = NULL;
    line += strlen("registers");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++, line = end)
        values[i] = strtoull(line, &end, 16);
    assert_string_equal(line, "\n");
    *r = (struct native_registers){ .ip = values[0], .sp = values[1], .outer_sp = values[2] };
    memcpy(r->saved, values + 3, sizeof r->saved);
    memset(recording->stack, 0, sizeof recording->stack);
    recording->expected_count = 0;
}

static void take_stack(struct recording *recording, const char *line)
{
    remote_addr addr;
    uint64_t word;
    assert_int_equal(sscanf(line, "stack %" SCNx64 " %" SCNx64, &addr, &word), 2);
    const uint64_t at = addr - (recording->registers.sp - MACHINE_RED_ZONE_BYTES);
    assert_true(at < MAX_STACK_BYTES - sizeof word);
    memcpy(recording->stack + at, &word, sizeof word);
}

static void check_stack(struct recording *recording)
{
    static struct native_frame frames[MAX_FRAMES];
    struct native_walk walk = { .frames = frames, .room = MAX_FRAMES };
    const struct native_stack stack = {
        .spans = { { recording->registers.sp - MACHINE_RED_ZONE_BYTES, recording->stack,
                     sizeof recording->stack } },
        .span_count = 1,
    };
    unwinder_walk(&recording->unwinder, &recording->registers, &stack, NULL, 0, 0, &walk);
    assert_int_equal(walk.end, NATIVE_COMPLETE);
    assert_int_equal(walk.count, recording->expected_count);
    for (size_t i = 0; i < walk.count; i++)
        assert_int_equal(walk.frames[i].pc, recording->expected[i]);
    recording->stacks++;
}

static void take_line(struct recording *recording, const char *line)
{
    if (strncmp(line, "registers ", 10) == 0)
        take_registers(recording, line);
    else if (strncmp(line, "stack ", 6) == 0)
        take_stack(recording, line);
    else if (strncmp(line, "frame ", 6) == 0 && recording->expected_count < MAX_FRAMES)
        recording->expected[recording->expected_count++] = strtoull(line + 6, NULL, 16);
    else if (strcmp(line, "end\n") == 0)
        check_stack(recording);
}

/* Reads the memory and maps that all stacks need, which come last in the file. */
static void take_process(struct recording *recording, FILE *file)
{
    static char text[MAX_MAPS_BYTES];
    struct maps maps;
    struct err err = { 0 };
    char *line = NULL;
    size_t room = 0, used = 0;
    while (getline(&line, &room, file) > 0) {
        if (strncmp(line, "memory ", 7) == 0)
            take_memory(recording, line);
        else if (strncmp(line, "map ", 4) == 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s", line + 4);
        assert_true(used < sizeof text);
    }
    free(line);
    assert_ok(maps_parse(&maps, text, &err), &err);
    assert_int_equal(unwinder_take_maps(&recording->unwinder, &maps), ERR_OK);
    maps_deinit(&maps);
}

static unsigned check_file(const char *path)
{
    static struct recording recording;
    FILE *const file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    assert_non_null(file);
    memset(&recording, 0, sizeof recording);
    fake_memory_init(&recording.fake);
    assert_int_equal(unwinder_init(&recording.unwinder, &recording.fake.memory, 0, NULL),
                     ERR_OK);
    take_process(&recording, file);
    rewind(file);
    while (getline(&line, &room, file) > 0)
        take_line(&recording, line);
    free(line);
    fclose(file);
    unwinder_deinit(&recording.unwinder);
    fake_memory_deinit(&recording.fake);
    return recording.stacks;
}

static void recorded_stacks_are_found_again(void **state)
{
    DIR *const dir = opendir(folder);
    struct dirent *entry;
    unsigned stacks = 0;
    (void)state;
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        char path[512];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        print_message("%s\n", entry->d_name);
        stacks += check_file(path);
    }
    closedir(dir);
    assert_true(stacks >= 10);
}

TEST_GROUP(cmocka_unit_test(recorded_stacks_are_found_again))
