#include "tests/support/made_profile.h"

#include <stdio.h>
#include <string.h>

#include "sampler/profile/run.h"
#include "tests/support/test.h"

struct profile *made_profile(void)
{
    struct profile *profile;
    struct err err = { 0 };
    assert_ok(profile_create(&profile, &err), &err);
    return profile;
}

static str_id intern(struct profile *profile, const char *text, size_t length)
{
    str_id id;
    struct err err = { 0 };
    assert_ok(strtab_intern(profile_strings(profile), text, length, &id, &err), &err);
    return id;
}

str_id made_string(struct profile *profile, const char *text)
{
    return intern(profile, text, strlen(text));
}

function_id made_function(struct profile *profile, const char *name, const char *file,
                          int32_t first_line)
{
    const str_id file_id = made_string(profile, file), name_id = made_string(profile, name);
    function_id function = 0;
    struct err err = { 0 };
    assert_ok(profile_function(profile, name_id, file_id, first_line, &function, &err), &err);
    return function;
}

library_id made_library(struct profile *profile, const char *path)
{
    const bool is_interpreter = strcmp(path, "/usr/bin/python3") == 0;
    const struct profile_library row = {
        .path = made_string(profile, path),
        .build_id = made_string(profile, is_interpreter ? "00ff" : "a1b2c3"),
        .flags = is_interpreter                           ? PROFILE_LIBRARY_INTERPRETER
                 : strcmp(path, PROFILE_KERNEL_PATH) == 0 ? PROFILE_LIBRARY_KERNEL
                                                          : 0,
    };
    library_id id = 0;
    struct err err = { 0 };
    assert_ok(profile_library(profile, &row, &id, &err), &err);
    return id;
}

function_id made_native_function(struct profile *profile, const char *name, const char *library,
                                 const char *file, int32_t first_line)
{
    const struct profile_function row = { .file = made_string(profile, file ? file : library),
                                          .name = made_string(profile, name),
                                          .first_line = first_line,
                                          .library = made_library(profile, library) };
    function_id id = 0;
    struct err err = { 0 };
    assert_ok(profile_function_row(profile, &row, &id, &err), &err);
    return id;
}

static frame_id frame_of(struct profile *profile, str_id name, int32_t line)
{
    const str_id file = made_string(profile, "made.py");
    function_id function;
    frame_id frame;
    struct err err = { 0 };
    assert_ok(profile_function(profile, name, file, 1, &function, &err), &err);
    assert_ok(profile_frame(profile, function, line, &frame, &err), &err);
    return frame;
}

void made_spare(struct profile *profile, unsigned count)
{
    struct err err = { 0 };
    node_id node = 0;
    for (unsigned i = 0; i < count; i++) {
        const frame_id frame = made_frame(profile, "spare", (int32_t)i);
        assert_ok(profile_node(profile, node, frame, &node, &err), &err);
    }
}

frame_id made_frame(struct profile *profile, const char *name, int32_t line)
{
    return frame_of(profile, made_string(profile, name), line);
}

static frame_id stack_frame(struct profile *profile, const char *text, size_t length)
{
    const char *const at = memchr(text, '@', length);
    char name[256], library[256];
    frame_id frame = 0;
    struct err err = { 0 };
    if (!at && *text != '<')
        return frame_of(profile, intern(profile, text, length), 1);
    snprintf(name, sizeof name, "%.*s", (int)(at ? (size_t)(at - text) : length), text);
    snprintf(library, sizeof library, "%.*s", at ? (int)(text + length - at - 1) : 0,
             at ? at + 1 : "");
    const function_id function = at ? made_native_function(profile, name, library, NULL, 0)
                                    : made_function(profile, name, "~", 0);
    assert_ok(profile_frame(profile, function, 0, &frame, &err), &err);
    return frame;
}

node_id made_node(struct profile *profile, const char *stack)
{
    struct err err = { 0 };
    node_id node = 0;
    while (*stack) {
        const size_t length = strcspn(stack, ";");
        const frame_id frame = stack_frame(profile, stack, length);
        assert_ok(profile_node(profile, node, frame, &node, &err), &err);
        stack += length + (stack[length] == ';');
    }
    return node;
}

thread_id made_thread(struct profile *profile, int32_t pid, int32_t tid)
{
    struct profile_thread row = { .tid = tid, .is_main = pid == tid };
    thread_id thread;
    struct err err = { 0 };
    assert_ok(profile_process(profile, pid, made_string(profile, "made"), &row.process, &err),
              &err);
    assert_ok(profile_thread(profile, &row, &thread, &err), &err);
    return thread;
}

void made_add(struct profile *profile, thread_id thread, state_bits state, const char *stack,
              uint32_t count)
{
    struct err err = { 0 };
    const node_id node = made_node(profile, stack);
    assert_ok(profile_add(profile, thread, state, node, count, &err), &err);
}

void made_add_at(struct profile *profile, thread_id thread, const char *stack,
                 uint64_t first_ns, uint64_t period_ns, uint32_t count)
{
    made_add(profile, thread, STATE_ON_CPU, stack, count);
    profile_order(profile, &(struct run){ .thread = thread,
                                          .node = made_node(profile, stack),
                                          .spot = PROFILE_NO_SPOT,
                                          .count = count,
                                          .state = STATE_ON_CPU,
                                          .first_ns = first_ns,
                                          .step_ns = count > 1 ? period_ns : 0 });
}

void made_seal(struct profile *profile, uint64_t seconds)
{
    struct err err = { 0 };
    assert_ok(profile_seal(profile, seconds * NS_PER_S, &err), &err);
}

struct profile_snapshot made_snapshot(struct profile *profile)
{
    struct profile_snapshot snapshot;
    struct err err = { 0 };
    assert_ok(profile_snapshot(profile, &snapshot, &err), &err);
    return snapshot;
}

size_t made_bytes(struct profile *profile)
{
    struct profile_snapshot snapshot = made_snapshot(profile);
    const size_t bytes = snapshot.bytes;
    profile_snapshot_release(&snapshot);
    return bytes;
}

struct view made_view(const struct profile_snapshot *snapshot, const struct view_query *query)
{
    struct view view;
    struct err err = { 0 };
    assert_ok(view_init(&view, snapshot, query, &err), &err);
    return view;
}

uint64_t made_self(const struct view *view, node_id node)
{
    for (size_t i = 0; i < view->count; i++)
        if (view->node[i] == node)
            return view->self[i];
    return 0;
}
