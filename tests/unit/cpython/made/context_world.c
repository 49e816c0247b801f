#include "tests/unit/cpython/made/context_world.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/threads/sub_interpreter_stacks.h"
#include "tests/support/test.h"

enum { TYPE_FLAGS = 168 };

struct layout *context_world_layout(struct context_world *world)
{
    return &world->python.runtime.layout;
}

void context_world_put(struct context_world *world, remote_addr addr, uint64_t value)
{
    fake_memory_put_u64(&world->python.memory, addr, value);
}

remote_addr context_world_make(struct context_world *world, remote_addr type,
                               const uint64_t *words, size_t count)
{
    const remote_addr addr = fake_alloc(&world->python, 64 + count * CONTEXT_WORLD_WORD);
    context_world_put(world, addr + context_world_layout(world)->object_type, type);
    for (size_t i = 0; i < count; i++)
        context_world_put(world,
                          addr + object_first_field(context_world_layout(world)) +
                              i * CONTEXT_WORLD_WORD,
                          words[i]);
    return addr;
}

remote_addr context_world_type(struct context_world *world, const char *name, uint64_t flags)
{
    const remote_addr type = fake_type(&world->python, name);
    context_world_put(world, type + TYPE_FLAGS, flags);
    return type;
}

remote_addr context_world_variable(struct context_world *world, const char *name, uint64_t hash)
{
    const uint64_t words[] = { fake_str(&world->python, name), 0, 0, 0, 0, hash };
    return context_world_make(world, world->types[1], words, 6);
}

remote_addr context_world_str(struct context_world *world, const char *text)
{
    const remote_addr addr = fake_str(&world->python, text);
    context_world_put(world, addr + context_world_layout(world)->object_type, world->types[2]);
    return addr;
}

remote_addr context_world_int(struct context_world *world, bool is_negative,
                              const uint32_t *digits, unsigned count)
{
    uint64_t words[4] = { context_world_layout(world)->has_int_tag
                              ? (uint64_t)count << 3 | (is_negative ? 2 : count == 0)
                          : is_negative ? UINT64_C(0) - count
                                        : count };
    if (count)
        memcpy(words + 1, digits, count * sizeof *digits);
    return context_world_make(world, world->types[3], words, 4);
}

remote_addr context_world_node(struct context_world *world, remote_addr type, uint32_t bits,
                               const uint64_t *items, size_t count)
{
    uint64_t words[2 + 64] = { count, bits };
    if (count)
        memcpy(words + 2, items, count * CONTEXT_WORLD_WORD);
    return context_world_make(world, type, words, 2 + count);
}

remote_addr context_world_map(struct context_world *world, remote_addr root, uint64_t count)
{
    const uint64_t words[] = { root, 0, count };
    return context_world_make(world, world->map, words, 3);
}

uint32_t context_world_branch(const struct context_world *world, int level)
{
    const uint32_t folded = (uint32_t)world->hash ^ (uint32_t)(world->hash >> 32);
    return folded >> 5 * level & 31;
}

remote_addr context_world_root(struct context_world *world, remote_addr value)
{
    const uint64_t items[] = { world->variable, value };
    return context_world_node(world, world->bitmap, 1u << context_world_branch(world, 0), items,
                              2);
}

void context_world_set_map(struct context_world *world, remote_addr map)
{
    context_world_put(world,
                      world->context + object_first_field(context_world_layout(world)) +
                          CONTEXT_WORLD_WORD,
                      map);
}

void context_world_set_value(struct context_world *world, remote_addr value)
{
    context_world_set_map(world, context_world_map(world, context_world_root(world, value), 1));
}

remote_addr context_world_place(struct context_world *world)
{
    return world->thread.addr +
           (context_world_layout(world)->tstate_bytes / CONTEXT_WORLD_WORD - 1) *
               CONTEXT_WORLD_WORD;
}

struct context_world *context_world_begin(unsigned minor)
{
    struct context_world *const world = calloc(1, sizeof *world);
    assert_non_null(world);
    fake_python_init(&world->python, minor);
    const remote_addr interp = fake_interp(&world->python, 0);
    fake_thread_init(&world->thread, &world->python, interp, 0x7000, 100);
    world->types[0] =
        context_world_type(world, minor < 10 ? "Context" : "_contextvars.Context", 0);
    world->types[1] =
        context_world_type(world, minor < 10 ? "ContextVar" : "_contextvars.ContextVar", 0);
    world->types[2] = context_world_type(world, "str", OBJECT_IS_STR);
    world->types[3] = context_world_type(world, "int", OBJECT_IS_INT);
    world->types[4] = context_world_type(world, "bytes", OBJECT_IS_BYTES);
    world->map = context_world_type(world, "hamt", 0);
    world->bitmap = context_world_type(world, "hamt_bitmap_node", 0);
    world->array = context_world_type(world, "hamt_array_node", 0);
    world->collision = context_world_type(world, "hamt_collision_node", 0);
    world->hash = UINT64_C(0x123456789abcdef7);
    world->variable = context_world_variable(world, CONTEXT_WORLD_NAME, world->hash);
    world->context = context_world_make(world, world->types[0], (uint64_t[]){ 0, 0 }, 2);
    context_world_set_value(world, context_world_str(world, "4711"));
    context_world_put(world, context_world_place(world), world->context);
    thread_list_init(&world->list, &world->python.memory.memory, &world->python.runtime);
    assert_int_equal(thread_list_walk(&world->list), ERR_OK);
    sub_stacks_find(&world->list);
    assert_int_equal(contexts_create(CONTEXT_WORLD_NAME, context_world_layout(world),
                                     &world->list, &world->contexts),
                     ERR_OK);
    return world;
}

void context_world_end(struct context_world *world)
{
    contexts_destroy(world->contexts);
    thread_list_deinit(&world->list);
    fake_python_deinit(&world->python);
    free(world);
}

struct context_value *context_world_read_at(struct context_world *world, uint64_t now_ns)
{
    struct memory *const memory = &world->python.memory.memory;
    struct thread *const thread = world->list.items[0];
    contexts_locate(world->contexts, now_ns);
    contexts_read_places(world->contexts);
    assert_int_equal(memory_read(memory, thread->head.addr, thread->stack.copy.tstate,
                                 thread->stack.copy.tstate_bytes),
                     ERR_OK);
    return contexts_read(world->contexts, thread, memory, CONTEXT_OF_READING, now_ns);
}

struct context_value *context_world_read(struct context_world *world)
{
    return context_world_read_at(world, CONTEXT_WORLD_NOW_NS);
}

void context_world_expect(struct context_world *world, const char *text)
{
    const struct context_value *const value = context_world_read(world);
    assert_int_equal(value->kind, CONTEXT_SET);
    assert_string_equal(value->text, text);
}

void context_world_expect_kind(struct context_world *world, enum context_kind kind)
{
    assert_int_equal(context_world_read(world)->kind, kind);
}

void context_world_in_every_version(void (*test)(struct context_world *world))
{
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct context_world *const world = context_world_begin(minor);
        test(world);
        context_world_end(world);
    }
}
