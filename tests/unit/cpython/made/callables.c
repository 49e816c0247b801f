#include "tests/unit/cpython/made/callables.h"

#include <string.h>

enum {
    FIRST = 16,  /* m_ml, d_type */
    SECOND = 24, /* m_self, d_name */
    THIRD = 32,  /* m_module */
    FOURTH = 40, /* d_method */
    DEFINITION_CODE = 8,
    TYPE_CALL = 128,
    TYPE_FLAGS = 168,
};

static void put(struct fake_python *python, remote_addr addr, uint64_t value)
{
    fake_memory_put_u64(&python->memory, addr, value);
}

remote_addr callable_type(struct fake_python *python, const char *name, bool is_heap,
                          bool has_call, bool makes_types)
{
    const remote_addr type = fake_type(python, name);
    put(python, type + TYPE_FLAGS, (uint64_t)is_heap << 9 | (uint64_t)makes_types << 31);
    put(python, type + TYPE_CALL, has_call);
    return type;
}

struct callable_types callable_types_make(struct fake_python *python)
{
    return (struct callable_types){
        .function = callable_type(python, "builtin_function_or_method", false, true, false),
        .method = callable_type(python, "method_descriptor", false, true, false),
        .python = callable_type(python, "function", false, true, false),
        .type = callable_type(python, "type", false, true, true),
        .module = callable_type(python, "module", false, false, false),
        .str = callable_type(python, "str", false, false, false),
    };
}

remote_addr callable_object(struct fake_python *python, remote_addr type)
{
    const remote_addr addr = fake_alloc(python, CALLABLE_BYTES);
    put(python, addr + python->runtime.layout.object_type, type);
    return addr;
}

static remote_addr make_definition(struct fake_python *python, const char *name)
{
    const remote_addr definition = fake_alloc(python, 32),
                      text = fake_alloc(python, strlen(name) + 1);
    fake_memory_put(&python->memory, text, name, strlen(name) + 1);
    put(python, definition, text);
    put(python, definition + DEFINITION_CODE, callable_code(name));
    return definition;
}

remote_addr callable_code(const char *name)
{
    return 0x400000 + (remote_addr)strlen(name) * 0x10;
}

void callable_put_function(struct fake_python *python, remote_addr addr,
                           const struct callable_types *types, const char *name,
                           remote_addr self, remote_addr module)
{
    put(python, addr + python->runtime.layout.object_type, types->function);
    put(python, addr + FIRST, make_definition(python, name));
    put(python, addr + SECOND, self);
    put(python, addr + THIRD, module);
}

remote_addr callable_function(struct fake_python *python, const struct callable_types *types,
                              const char *name, remote_addr self, remote_addr module)
{
    const remote_addr addr = callable_object(python, types->function);
    callable_put_function(python, addr, types, name, self, module);
    return addr;
}

remote_addr callable_method(struct fake_python *python, const struct callable_types *types,
                            remote_addr of_type, const char *name)
{
    const remote_addr addr = callable_object(python, types->method);
    put(python, addr + FIRST, of_type);
    put(python, addr + SECOND, callable_str(python, types, name));
    put(python, addr + FOURTH, make_definition(python, name));
    return addr;
}

remote_addr callable_str(struct fake_python *python, const struct callable_types *types,
                         const char *text)
{
    const remote_addr addr = fake_str(python, text);
    put(python, addr + python->runtime.layout.object_type, types->str);
    return addr;
}
