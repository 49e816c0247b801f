#include "sampler/cpython/runtime/start.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/python_command.h"
#include "sampler/cpython/objects/dict.h"
#include "sampler/cpython/objects/object.h"

/* Appends "NAME=VALUE" and a NUL. */
static void append_variable(struct memory *memory, const struct layout *layout,
                            const char *name, remote_addr value, struct buffer *out)
{
    uint64_t bytes;
    if (memory_read_u64(memory, value + layout->bytes_length, &bytes) ||
        bytes > START_MAX_VARIABLE)
        return;
    buffer_text(out, name);
    buffer_char(out, '=');
    char *const room = buffer_reserve(out, (size_t)bytes + 1);
    if (!room)
        return;
    if (memory_read(memory, value + layout->bytes_data, room, (size_t)bytes))
        room[0] = '\0';
    room[bytes] = '\0';
    buffer_grow(out, (size_t)bytes + 1);
}

static void fill_text(char *text, const char *other)
{
    if (!*text)
        memcpy(text, other, SERVICE_BYTES);
}

void start_read_service(struct memory *memory, const struct layout *layout, remote_addr interp,
                        struct service *service)
{
    static const char *const names[] = { "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES" };
    struct dict_entries variables;
    struct buffer environment = { 0 };
    struct service found;
    remote_addr environ;
    if (dict_find_global(memory, layout, interp, "posix", "environ", &environ) ||
        dict_read(memory, layout, environ, 0, &variables))
        return;
    for (size_t i = 0; i < variables.count && i < START_MAX_VARIABLES; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            const size_t length = strlen(names[k]);
            char text[64];
            uint64_t bytes;
            if (length < sizeof text &&
                !memory_read_u64(memory, variables.items[i].key + layout->bytes_length,
                                 &bytes) &&
                bytes == length &&
                !memory_read(memory, variables.items[i].key + layout->bytes_data, text,
                             length) &&
                memcmp(text, names[k], length) == 0)
                append_variable(memory, layout, names[k], variables.items[i].value,
                                &environment);
        }
    dict_entries_deinit(&variables);
    if (!environment.failed) {
        service_parse(environment.data, environment.length, &found);
        fill_text(service->name, found.name);
        fill_text(service->namespace, found.namespace);
        fill_text(service->version, found.version);
    }
    buffer_deinit(&environment);
}

/* The items of a list: their number and an array of pointers. */
static size_t read_list(struct memory *memory, const struct layout *layout, remote_addr list,
                        remote_addr items[START_MAX_WORDS])
{
    uint64_t count, array;
    const remote_addr size = list + object_first_field(layout);
    if (memory_read_u64(memory, size, &count) ||
        memory_read_u64(memory, size + sizeof count, &array))
        return 0;
    count = count < START_MAX_WORDS ? count : START_MAX_WORDS;
    return memory_read(memory, array, items, (size_t)count * sizeof *items) ? 0 : (size_t)count;
}

/* The first word of sys.argv is the script itself, or the file of a module: of a package, __main__.py in its folder. */
static const char *name_script(size_t count, char *const *words, bool is_original)
{
    static const char main_file[] = "/__main__.py";
    if (is_original)
        return python_command_script(count, (const char *const *)words);
    if (count == 0 || words[0][0] == '-' || words[0][0] == '\0')
        return NULL;
    const size_t length = strlen(words[0]), tail = sizeof main_file - 1;
    if (length > tail && strcmp(words[0] + length - tail, main_file) == 0)
        words[0][length - tail] = '\0';
    return words[0];
}

void start_read_script(struct memory *memory, const struct layout *layout, remote_addr interp,
                       char out[SERVICE_BYTES])
{
    struct object_bytes texts[START_MAX_WORDS] = { 0 };
    char nothing[] = "", *words[START_MAX_WORDS];
    remote_addr list, items[START_MAX_WORDS];
    const bool is_original =
        !dict_find_global(memory, layout, interp, "sys", "orig_argv", &list);
    size_t count = 0;
    *out = '\0';
    if (is_original || !dict_find_global(memory, layout, interp, "sys", "argv", &list))
        count = read_list(memory, layout, list, items);
    for (size_t i = 0; i < count; i++) {
        const bool is_read =
            !object_read_str_start(memory, layout, items[i], START_MAX_WORD, &texts[i]) &&
            !object_bytes_reserve(&texts[i], texts[i].count + 1);
        if (is_read)
            texts[i].bytes[texts[i].count] = '\0';
        words[i] = is_read ? (char *)texts[i].bytes : nothing;
    }
    const char *const script = name_script(count, words, is_original);
    if (script)
        service_keep(python_command_last_part(script), strlen(python_command_last_part(script)),
                     out);
    for (size_t i = 0; i < count; i++)
        object_bytes_deinit(&texts[i]);
}
