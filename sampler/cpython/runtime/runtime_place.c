#include <inttypes.h>

#include "sampler/cpython/runtime/runtime_search.h"
#include "sampler/cpython/runtime/version_text.h"

static enum err_code leads_back(struct memory *memory, const struct layout *layout,
                                remote_addr interp)
{
    uint64_t tstate, back;
    enum err_code rc = memory_read_u64(memory, interp + layout->interp_threads_head, &tstate);
    if (!rc && tstate == 0)
        rc = ERR_NOT_PYTHON;
    if (!rc)
        rc = memory_read_u64(memory, tstate + layout->tstate_interp, &back);
    return !rc && back != interp ? ERR_NOT_PYTHON : rc;
}

/* A sub-interpreter may have no thread (3.13 and later), so one interpreter with a thread is enough. */
enum err_code runtime_confirm(struct memory *memory, const struct runtime *runtime,
                              remote_addr *interp_out)
{
    const struct layout *const layout = &runtime->layout;
    uint64_t interp;
    enum err_code rc =
        memory_read_u64(memory, runtime->addr + layout->runtime_interpreters_head, &interp);
    for (int i = 0; !rc && i < RUNTIME_MAX_INTERPRETERS; i++) {
        rc = interp ? leads_back(memory, layout, interp) : ERR_NOT_PYTHON;
        if (!rc)
            *interp_out = interp;
        if (rc != ERR_NOT_PYTHON || !interp)
            return rc;
        rc = memory_read_u64(memory, interp + layout->interp_next, &interp);
    }
    return rc ? rc : ERR_NOT_PYTHON;
}

static enum err_code layout_at(struct search *search, remote_addr addr, uint32_t version,
                               struct layout *out, struct err *why)
{
    unsigned char bytes[LAYOUT_DEBUG_OFFSETS_BYTES];
    struct memory *const memory = &search->process->memory.memory;
    enum err_code rc = memory_read(memory, addr, bytes, sizeof bytes);
    if (rc)
        return err_set(why, rc, "its _PyRuntime at %#" PRIx64 " cannot be read: %s", addr,
                       err_text(rc));
    rc = layout_of_debug_offsets(bytes, sizeof bytes, out, why);
    if (rc != ERR_NOT_FOUND)
        return rc;
    if (!version)
        version = version_text_find(memory, &search->maps, addr);
    return version ? layout_of_version(version, out, why)
                   : err_set(why, ERR_UNSUPPORTED,
                             "a Python that does not say its version, or is older than 3.8, is "
                             "not supported: CPython 3.8 to 3.15 can be read");
}

/* An interpreter that was found by its pointers alone needs evidence too. */
static enum err_code confirm_evidence(struct search *search, struct runtime *runtime,
                                      struct err *why)
{
    struct memory *const memory = &search->process->memory.memory;
    remote_addr interp = 0;
    const enum err_code rc = runtime_confirm(memory, runtime, &interp);
    if (rc)
        return err_set(why, rc, "its Python interpreter has not started or is ending");
    runtime->evidence = evidence_gather(memory, &runtime->layout, interp);
    return runtime->way != RUNTIME_BY_POINTERS || runtime->evidence.frames ||
                   runtime->evidence.has_modules
               ? ERR_OK
               : err_set(why, ERR_NOT_PYTHON, "its Python interpreter runs nothing");
}

static bool is_known_place(const struct runtime_list *list, remote_addr addr)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].addr == addr)
            return true;
    return false;
}

bool runtime_try_place(struct search *search, remote_addr addr, uint32_t version,
                       enum runtime_way way)
{
    struct runtime_list *const list = search->out;
    struct runtime runtime = { .addr = addr, .way = way };
    struct err why = { .code = ERR_OK };
    if (list->count == RUNTIME_LIST_MAX || is_known_place(list, addr))
        return false;
    enum err_code rc = layout_at(search, addr, version, &runtime.layout, &why);
    if (!rc)
        rc = confirm_evidence(search, &runtime, &why);
    if (rc) {
        runtime_refuse(search, rc, &why);
        return false;
    }
    list->items[list->count++] = runtime;
    return search->effort != RUNTIME_EXHAUSTIVE && runtime.evidence.frames > 0;
}
