/* Input: a mangled name of C++ or Rust. */
#include <string.h>

#include "sampler/native/demangle.h"
#include "sampler/native/demangle_work.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[DEMANGLE_MAX_NAME + 1];
    uint32_t steps;
    char *const mangled = malloc(size + 1);
    if (!mangled)
        return 0;
    memcpy(mangled, data, size);
    mangled[size] = '\0';
    (void)demangle_counted(mangled, name, &steps);
    fuzz_check(steps <= DEMANGLE_MAX_STEPS);
    fuzz_check(strlen(name) <= DEMANGLE_MAX_NAME);
    free(mangled);
    return 0;
}
