/* Once for each processor.  Input: registers, entry frames and the size of the stack, as offsets; the stack; the headers of an image; its
 * tables. */
#include <string.h>

#include "sampler/native/unwind.h"
#include "sampler/process/maps.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/fake_memory.h"

enum {
    BASE = 0x10000,
    HEADERS_BYTES = 0x200,
    CODE = 0x1000, /* offsets in the image */
    TABLES = 0x2000,
    IMAGE_BYTES = 0x8000,
    STACK = 0x700000,
    MAX_STACK_BYTES = 2048,
    MAX_FRAMES = 64,
    ENTRIES = 2,
};

static const char mappings[] = "10000-11000 r--p 00000000 fd:00 7 /a\n"
                               "11000-12000 r-xp 00001000 fd:00 7 /a\n"
                               "12000-18000 r--p 00002000 fd:00 7 /a\n"
                               "300000-301000 rwxp 00000000 00:00 0\n";

struct scene {
    struct fake_memory fake;
    struct native_registers registers;
    struct native_stack stack;
    remote_addr entries[ENTRIES];
    struct unwinder unwinder;
};

static void map_image(struct scene *scene, struct fuzz_input *input)
{
    unsigned char *const image = fake_memory_map(&scene->fake, BASE, IMAGE_BYTES);
    const size_t places[] = { 0, TABLES }, room[] = { HEADERS_BYTES, IMAGE_BYTES - TABLES };
    for (size_t i = 0; i < 2; i++) {
        const size_t left = (size_t)(input->end - input->at);
        const size_t bytes = left < room[i] ? left : room[i];
        memcpy(image + places[i], input->at, bytes);
        input->at += bytes;
    }
    /* Byte 0x20 of each 0x40 is behind a call. */
    for (size_t at = CODE + 0x20; at < TABLES; at += 0x40) {
        if (MACHINE_RETURN_BYTES)
            image[at - 5] = 0xe8;
        else
            image[at - 1] = 0x94;
    }
}

static void set_scene(struct scene *scene, struct fuzz_input *input)
{
    struct native_registers *const registers = &scene->registers;
    struct maps maps;
    registers->ip = BASE + fuzz_take(input, 2);
    registers->sp = STACK + fuzz_take(input, 2) % MAX_STACK_BYTES;
    registers->outer_sp = STACK + fuzz_take(input, 2);
    for (size_t i = 0; i < MACHINE_SAVED; i++)
        registers->saved[i] =
            (i == (size_t)MACHINE_RETURN_ADDRESS ? BASE : STACK) + fuzz_take(input, 2);
    for (size_t i = 0; i < ENTRIES; i++)
        scene->entries[i] = (i ? scene->entries[i - 1] : STACK) + fuzz_take(input, 2);
    size_t bytes = fuzz_take(input, 2) % (MAX_STACK_BYTES + 1);
    const size_t left = (size_t)(input->end - input->at);
    bytes = bytes < left ? bytes : left;
    scene->stack.spans[0] = (struct native_span){ STACK, input->at, bytes };
    scene->stack.span_count = 1;
    scene->stack.base = STACK + MAX_STACK_BYTES;
    input->at += bytes;
    map_image(scene, input);
    fuzz_check(!maps_parse(&maps, mappings, NULL));
    fuzz_check(!unwinder_take_maps(&scene->unwinder, &maps));
    maps_deinit(&maps);
}

static void check_frames(const struct native_walk *walk)
{
    fuzz_check(walk->count <= walk->room && walk->count > 0);
    fuzz_check(walk->end > NATIVE_GOES_ON && walk->end < NATIVE_ENDS_COUNT);
    for (size_t i = 0; i < walk->count; i++) {
        const struct native_frame *const frame = &walk->frames[i];
        fuzz_check(frame->cfa == 0 || frame->cfa >= frame->sp);
        fuzz_check((frame->left_by != NATIVE_NOT_LEFT) || frame->kind == NATIVE_GAP ||
                   i + 1 == walk->count || walk->frames[i + 1].kind == NATIVE_GAP);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct native_frame frames[2][MAX_FRAMES];
    struct scene scene = { 0 };
    struct fuzz_input input = { data, data + size };
    struct native_walk first = { .frames = frames[0], .room = MAX_FRAMES };
    struct native_walk second = { .frames = frames[1], .room = MAX_FRAMES };
    fake_memory_init(&scene.fake);
    fuzz_check(!unwinder_init(&scene.unwinder, &scene.fake.memory, 0, NULL));
    set_scene(&scene, &input);
    memset(frames, 0, sizeof frames);
    unwinder_walk(&scene.unwinder, &scene.registers, &scene.stack, scene.entries, ENTRIES, 0,
                  &first);
    /* A second walk, by what is remembered, gives the same stack. */
    unwinder_walk(&scene.unwinder, &scene.registers, &scene.stack, scene.entries, ENTRIES, 0,
                  &second);
    fuzz_check(first.count == second.count && first.end == second.end);
    fuzz_check(memcmp(frames[0], frames[1], first.count * sizeof *frames[0]) == 0);
    check_frames(&first);
    /* The walk goes on behind gaps too. */
    scene.unwinder.anchor.confirmations = 8;
    scene.unwinder.anchor.distance = 48;
    unwinder_walk(&scene.unwinder, &scene.registers, &scene.stack, scene.entries, ENTRIES, 0,
                  &first);
    check_frames(&first);
    unwinder_deinit(&scene.unwinder);
    fake_memory_deinit(&scene.fake);
    return 0;
}
