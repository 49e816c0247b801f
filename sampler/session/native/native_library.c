#include "sampler/session/native/native_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/scoped.h"
#include "sampler/base/utf8.h"
#include "sampler/native/function_names.h"
#include "sampler/process/elf.h"
#include "sampler/process/mapped_file.h"
#include "sampler/profile/views/native_frames.h"

static const char DELETED[] = " (deleted)", EVALUATION[] = "_PyEval_EvalFrameDefault",
                  INSTRUCTION[] = "_TAIL_CALL_";

void native_library_clean(char *text)
{
    for (size_t left = strlen(text), bytes; left; text += bytes, left -= bytes) {
        bytes = utf8_char_length(text, left);
        const bool is_shown = bytes > 1 || (bytes == 1 && *text >= ' ' && *text != 0x7f);
        bytes = bytes ? bytes : 1;
        if (!is_shown)
            *text = '?';
    }
}

/* The library greenlet, also before its version 1.0.  Those of gevent, which only call it, have similar names. */
static bool is_switcher(const char *path)
{
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    static const char GREENLET[] = "greenlet.";
    return strncmp(name + (*name == '_'), GREENLET, sizeof GREENLET - 1) == 0;
}

enum err_code native_library_init(struct native_library *library, const struct image *image)
{
    const size_t length = strlen(image->path), suffix = sizeof DELETED - 1;
    const bool is_deleted =
        length > suffix && strcmp(image->path + length - suffix, DELETED) == 0;
    *library = (struct native_library){ .inode = image->inode,
                                        .device_major = image->device_major,
                                        .device_minor = image->device_minor,
                                        .is_c_library = native_frames_is_c_library(image->path),
                                        .is_switcher = is_switcher(image->path),
                                        .path = strdup(image->path) };
    if (library->path && is_deleted)
        library->path[length - suffix] = 0;
    return library->path ? ERR_OK : ERR_NOMEM;
}

void native_library_deinit(struct native_library *library)
{
    free(library->path);
    function_names_destroy(library->names);
}

/* A file that is deleted while it is mapped stays the same file. */
bool native_library_is_of(const struct native_library *library, const struct image *image)
{
    return library->inode == image->inode && library->device_major == image->device_major &&
           library->device_minor == image->device_minor &&
           strncmp(library->path, image->path, strlen(library->path)) == 0;
}

enum err_code native_library_open(struct native_library *library, int pid, int root_fd,
                                  uid_t user, const struct image *image,
                                  struct deadline deadline)
{
    const struct mapping mapping = { .start = image->start,
                                     .end = image->end,
                                     .offset = image->offset,
                                     .inode = image->inode,
                                     .device_major = image->device_major,
                                     .device_minor = image->device_minor,
                                     .executable = true,
                                     .path = image->path };
    const struct debug_file_place place = { root_fd, library->path, user };
    SCOPED_FD int fd = -1;
    struct elf *elf;
    if (!image->inode || mapped_file_open(pid, &mapping, &fd) != MAPPED_FILE_OPENED ||
        elf_open(fd, deadline, &elf, NULL))
        return ERR_OK;

    unsigned char id[ELF_MAX_BUILD_ID_BYTES];
    const size_t bytes = elf_build_id(elf, id);
    for (size_t i = 0; i < bytes; i++)
        snprintf(library->build_id + 2 * i, 3, "%02x", id[i]);

    const enum err_code rc =
        function_names_load(elf, root_fd < 0 ? NULL : &place, deadline, &library->names, NULL);
    elf_close(elf);
    return rc == ERR_NOMEM ? rc : ERR_OK;
}

size_t native_library_bytes(const struct native_library *library)
{
    return library->names ? function_names_bytes(library->names) : 0;
}

/* Compilers make several functions of one: cold parts, and copies for certain arguments.  "@@" is before the
 * version of a symbol.  before: what a demangled name has in front of them. */
static void cut_suffix(char *symbol, const char *before)
{
    static const char *const suffixes[] = { ".cold",  ".part.",     ".constprop.",
                                            ".isra.", ".lto_priv.", "@@" };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char suffix[32];
        snprintf(suffix, sizeof suffix, "%s%s", before, suffixes[i]);
        char *const at = strstr(symbol + (*symbol != 0), suffix);
        if (at)
            *at = 0;
    }
}

/* True if the function calls the C function of a built-in: the interpreter has one of them for
 * each kind of arguments. */
static bool is_c_caller(const char *name)
{
    static const char *const callers[] = { "cfunction_vectorcall_", "method_vectorcall_" };
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++)
        if (strncmp(name, callers[i], strlen(callers[i])) == 0)
            return true;
    return strcmp(name, "cfunction_call") == 0;
}

/* True if the evaluation function may call this one to reach it. */
static bool is_call_step(const char *name)
{
    static const char *const steps[] = {
        "PyObject_Vectorcall",      "_PyObject_Vectorcall", "PyObject_Call",
        "_PyObject_Call",           "PyVectorcall_Call",    "_PyVectorcall_Call",
        "_PyObject_MakeTpCall",     "method_vectorcall",    "do_call_core",
        "trace_call_function",      "call_function",        "PyCFunction_Call",
        "_PyEval_EvalFrameDefault",
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (strcmp(name, steps[i]) == 0)
            return true;
    return false;
}

/* True if the function runs a greenlet first, in the part of a C stack that is its own. */
static bool is_coroutine_start(const char *name)
{
    static const char *const starts[] = { "greenlet::UserGreenlet::g_initialstub",
                                          "greenlet::UserGreenlet::inner_bootstrap" };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return strcmp(name, "g_initialstub") == 0;
}

/* True if the function switches from one part of a C stack to another, in C and in C++. */
static bool is_switch(const char *name)
{
    static const char *const switches[] = { "slp_switch", "slp_save_state", "slp_restore_state",
                                            "g_switchstack",
                                            "greenlet::Greenlet::g_switchstack" };
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (strncmp(name, switches[i], strlen(switches[i])) == 0)
            return true;
    return false;
}

/* True if the function of CUDA or HIP waits for the GPU, often in a loop.  Variants of CUDA's for streams of each thread, and of later
 * versions, have an end. */
static bool is_gpu_wait(const char *name)
{
    static const char *const waits[] = {
        "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaStreamSynchronize",
        "cuCtxSynchronize",      "cuEventSynchronize",   "cuStreamSynchronize",
        "hipDeviceSynchronize",  "hipEventSynchronize",  "hipStreamSynchronize",
    };
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        const size_t length = strlen(waits[i]);
        const char *const end = name + length;
        if (strncmp(name, waits[i], length) == 0 &&
            (!*end || strcmp(end, "_ptsz") == 0 || strcmp(end, "_v2") == 0))
            return true;
    }
    return false;
}

bool native_library_name(const struct native_library *library, uint64_t vaddr,
                         struct native_function_name *out)
{
    struct function_name name;
    struct symbol found;
    *out = (struct native_function_name){ .module_bytes = 0 };
    if (!library->names || !function_names_find(library->names, vaddr, &found))
        return false;
    function_names_read(library->names, found.id, &name);
    if (name.language == FUNCTION_PLAIN)
        cut_suffix(name.text, "");
    else if (name.language == FUNCTION_CPP)
        cut_suffix(name.text, " [clone ");
    out->is_evaluation = strcmp(name.text, EVALUATION) == 0;
    out->is_call_step = is_call_step(name.text);
    out->is_c_caller = is_c_caller(name.text);
    out->is_instruction = strncmp(name.text, INSTRUCTION, sizeof INSTRUCTION - 1) == 0;
    out->is_jit_entry = strcmp(name.text, "_PyJIT_Entry") == 0;
    out->is_start = strcmp(name.text, "_start") == 0;
    out->is_main = strcmp(name.text, "main") == 0;
    out->is_coroutine_start = is_coroutine_start(name.text);
    out->is_switch = is_switch(name.text);
    out->is_gpu_wait = is_gpu_wait(name.text);
    out->is_wrapper = name.is_wrapper;
    out->is_cython = name.language == FUNCTION_CYTHON;
    out->module_bytes = name.language == FUNCTION_MYPYC ? name.module_bytes : 0;
    snprintf(out->text, sizeof out->text, "%s", name.text);
    native_library_clean(out->text);
    return *out->text != 0;
}
