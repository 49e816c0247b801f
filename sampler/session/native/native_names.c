#define _GNU_SOURCE
#include "sampler/session/native/native_names.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/native/python_names.h"
#include "sampler/owner.h"
#include "sampler/process/file_below.h"
#include "sampler/process/thread_ids.h"
#include "sampler/profile/views/native_frames.h"
#include "sampler/session/native/native_library.h"
#include "sampler/session/origins.h"

static const uid_t NOBODY = (uid_t)-1;
static const char UNKNOWN[] = "[unknown]", GENERATED[] = "<generated code>";

/* The bytes that the names of all processes take together. */
static atomic_size_t all_held_bytes;

/* The function at an address. */
struct named_function {
    remote_addr addr;
    uint32_t image;
    struct native_name name;
};

/* The address of the code that a frame executes; a return address is behind the call. */
static remote_addr code_of(const struct native_frame *frame)
{
    return frame->pc - !frame->is_exact;
}

/* A process may change its user while it runs, so this is read before each use.  One with the rights of several users is
 * nobody's. */
static void update_user(struct native_names *names)
{
    struct owner owner;
    names->writer.user = !owner_read(names->process->pid, &owner, NULL) ? owner.uid : NOBODY;
}

/* When it began, since 1970. */
static uint64_t started_ns(const struct process *process)
{
    const uint64_t boot_ns = clock_wall_ns() - clock_boot_ns();
    return boot_ns + process->start_time * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

void native_names_init(struct native_names *names, struct native_names_profile to,
                       const struct process *process, struct unwinder *unwinder,
                       remote_addr anchor)
{
    const int pid = process->pid;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/root", pid);
    const int root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    *names = (struct native_names){ .to = to,
                                    .process = process,
                                    .unwinder = unwinder,
                                    .anchor = anchor,
                                    .root_fd = root_fd,
                                    .begun_ns = clock_now_ns() };
    names->writer = (struct perf_map_process){
        .root_fd = root_fd,
        .inner_pid = thread_ids_inner_pid(process->pid),
        .user = NOBODY,
        .started_ns = started_ns(process),
    };
    pool_init(&names->functions, sizeof(struct named_function), NATIVE_NAMES_MAX);
    idmap_init(&names->by_addr);
}

void native_names_deinit(struct native_names *names)
{
    if (!names->to.profile)
        return;
    for (size_t i = 0; i < names->library_count; i++)
        native_library_deinit(&names->libraries[i]);
    free(names->libraries);
    pool_deinit(&names->functions);
    idmap_deinit(&names->by_addr);
    perf_map_deinit(&names->perf_map);
    if (names->root_fd >= 0)
        close(names->root_fd);
    atomic_fetch_sub(&all_held_bytes, names->held_bytes);
    memset(names, 0, sizeof *names);
}

size_t native_names_bytes(const struct native_names *names)
{
    return names->held_bytes + names->library_room * sizeof *names->libraries +
           pool_bytes(&names->functions) + idmap_bytes(&names->by_addr);
}

static enum err_code intern(struct native_names *names, const char *text, str_id *out)
{
    const enum err_code rc = memory_confirm(&names->process->memory.memory);
    return rc ? rc
              : strtab_intern(profile_strings(names->to.profile), text, strlen(text), out,
                              NULL);
}

static void note_held(struct native_names *names)
{
    size_t bytes = perf_map_bytes(&names->perf_map);
    for (size_t i = 0; i < names->library_count; i++)
        bytes += native_library_bytes(&names->libraries[i]);
    atomic_fetch_add(&all_held_bytes, bytes - names->held_bytes);
    names->held_bytes = bytes;
}

/* Reading files stops the session meanwhile. */
static bool has_time(const struct native_names *names, uint64_t now_ns)
{
    return names->spent_ns <
           NATIVE_NAMES_FIRST_NS + (now_ns - names->begun_ns) / NATIVE_NAMES_COST_SHARE;
}

static bool has_room(void)
{
    return atomic_load(&all_held_bytes) < NATIVE_NAMES_MAX_ALL_BYTES;
}

static enum err_code library_of(struct native_names *names, const struct image *image,
                                uint64_t now_ns, struct native_library **out)
{
    for (size_t i = 0; i < names->library_count; i++)
        if (native_library_is_of(&names->libraries[i], image)) {
            *out = &names->libraries[i];
            return ERR_OK;
        }

    struct native_library library;
    if (names->library_count == NATIVE_NAMES_MAX_LIBRARIES)
        return ERR_LIMIT;
    if (!VEC_RESERVE(names->libraries, names->library_room, names->library_count + 1))
        return ERR_NOMEM;
    enum err_code rc = native_library_init(&library, image);
    if (rc)
        return rc;

    /* The data of a file lies above its code, and below that of the next one. */
    const struct images *const images = &names->unwinder->images;
    size_t at;
    LOWER_BOUND(at, images->count, images->items[at].start <= names->anchor);
    library.is_interpreter = image->inode && at && images->items[at - 1].id == image->id;

    if (names->held_bytes < NATIVE_NAMES_MAX_SYMBOL_BYTES && has_room() &&
        has_time(names, now_ns)) {
        const uint64_t from_ns = clock_now_ns();
        update_user(names);
        rc = native_library_open(&library, names->process->pid, names->root_fd,
                                 names->writer.user, image,
                                 deadline_after(NATIVE_NAMES_DEADLINE_NS));
        names->spent_ns += clock_now_ns() - from_ns;
    }
    if (!rc) {
        struct profile_library row = { .flags = library.is_interpreter
                                                    ? PROFILE_LIBRARY_INTERPRETER
                                                    : 0 };
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s", library.path);
        native_library_clean(path);
        rc = intern(names, path, &row.path);
        if (!rc && *library.build_id)
            rc = intern(names, library.build_id, &row.build_id);
        if (!rc)
            rc = profile_library(names->to.profile, &row, &library.id, NULL);
    }
    if (rc) {
        native_library_deinit(&library);
        return rc;
    }
    *out = &names->libraries[names->library_count++];
    **out = library;
    note_held(names);
    return ERR_OK;
}

/* Finds the source of Python code that mypyc or Cython compiled, if it is there. */
static bool find_source(const struct native_names *names, const struct native_library *library,
                        const struct native_function_name *name, char out[PATH_MAX])
{
    for (unsigned which = 0;
         names->root_fd >= 0 &&
         (name->is_cython
              ? cython_source(library->path, which, out, PATH_MAX)
              : name->module_bytes && mypyc_source(library->path, name->text,
                                                   name->module_bytes, which, out, PATH_MAX));
         which++) {
        const int fd = file_below_find(names->root_fd, out);
        if (fd >= 0) {
            close(fd);
            return true;
        }
    }
    return false;
}

/* Only the library and the entry of `row` count; name and file are interned. */
static enum err_code make_frame(struct native_names *names, const char *name, const char *file,
                                struct profile_function row, frame_id *out)
{
    function_id function;
    enum err_code rc = intern(names, name, &row.name);
    if (!rc)
        rc = intern(names, file, &row.file);
    if (!rc)
        rc = profile_function_row(names->to.profile, &row, &function, NULL);
    if (!rc)
        origins_note(names->to.origins, names->to.profile, function, names->to.origin);
    if (!rc)
        profile_set_entry(names->to.profile, function, row.entry);
    return rc ? rc : profile_frame(names->to.profile, function, 0, out, NULL);
}

static enum err_code name_by_library(struct native_names *names, struct image *image,
                                     const struct native_frame *frame, uint64_t now_ns,
                                     struct native_name *out)
{
    struct native_function_name name;
    struct native_library *library;
    char path[PATH_MAX], source[PATH_MAX] = "";
    const remote_addr pc = code_of(frame), start = frame->function ? frame->function : pc;
    const uint64_t bias = image->state == IMAGE_ELF ? image->load_bias : image->low;
    enum err_code rc = library_of(names, image, now_ns, &library);
    if (rc)
        return rc;
    snprintf(path, sizeof path, "%s", library->path);
    native_library_clean(path);
    if (image->state != IMAGE_ELF || !native_library_name(library, pc - bias, &name)) {
        name = (struct native_function_name){ .module_bytes = 0 };
        const char *const slash = strrchr(path, '/');
        snprintf(name.text, sizeof name.text, "<%.255s+0x%llx>", slash ? slash + 1 : path,
                 (unsigned long long)(start - bias));
        native_library_clean(name.text);
        name.is_switch = library->is_switcher;
    }
    out->is_evaluation = name.is_evaluation;
    out->is_wrapper = name.is_wrapper;
    out->is_interpreter = library->is_interpreter;
    out->is_call_step = library->is_interpreter && name.is_call_step;
    out->is_c_caller = library->is_interpreter && name.is_c_caller;
    out->is_instruction = library->is_interpreter && name.is_instruction;
    out->is_jit_entry = library->is_interpreter && name.is_jit_entry;
    out->is_start = library->is_c_library || name.is_start;
    out->is_main = name.is_main;
    out->is_coroutine_start = name.is_coroutine_start;
    out->is_switch = name.is_switch;
    out->is_switcher = library->is_switcher || name.is_switch;
    out->is_gpu_wait = name.is_gpu_wait;
    const uint64_t from_ns = clock_now_ns();
    const bool has_source =
        has_time(names, now_ns) && find_source(names, library, &name, source);
    names->spent_ns += clock_now_ns() - from_ns;
    native_library_clean(source);
    const struct profile_function row = { .library = library->id,
                                          .entry =
                                              image->state == IMAGE_ELF ? start - bias : 0 };
    return make_frame(names, name.text, has_source ? source : path, row, &out->frame);
}

/* A library for code without a file. */
static enum err_code make_unknown(struct native_names *names, const char *name, frame_id *out)
{
    struct profile_library row = { 0 };
    library_id library = 0;
    enum err_code rc = intern(names, UNKNOWN, &row.path);
    if (!rc)
        rc = profile_library(names->to.profile, &row, &library, NULL);
    const struct profile_function function = { .library = library };
    return rc ? rc : make_frame(names, name, UNKNOWN, function, out);
}

/* The trampolines of `-X perf` have no name of their own. */
static enum err_code name_generated(struct native_names *names,
                                    const struct native_frame *frame, uint64_t now_ns,
                                    struct native_name *out)
{
    struct perf_map_name found;
    char name[PERF_MAP_MAX_NAME + 1];
    const remote_addr pc = code_of(frame);
    bool is_found = perf_map_find(&names->perf_map, pc, &found);
    if (!is_found && names->root_fd >= 0 && perf_map_is_due(&names->perf_map, now_ns) &&
        has_time(names, now_ns) && has_room()) {
        const uint64_t from_ns = clock_now_ns();
        update_user(names);
        is_found = perf_map_update(&names->perf_map, &names->writer, now_ns) &&
                   perf_map_find(&names->perf_map, pc, &found);
        names->spent_ns += clock_now_ns() - from_ns;
        note_held(names);
    }
    out->is_trampoline = is_found && found.file;
    snprintf(name, sizeof name, "%.*s", is_found ? (int)found.name_bytes : 0,
             is_found ? found.name : "");
    native_library_clean(name);
    out->is_generated = !*name;
    return make_unknown(names, *name ? name : GENERATED, &out->frame);
}

static enum err_code name_frame(struct native_names *names, const struct native_frame *frame,
                                uint64_t now_ns, struct native_name *out)
{
    struct image *const image = images_find(&names->unwinder->images, code_of(frame));
    *out = (struct native_name){ .frame = 0 };
    if (!image || image->id != frame->image)
        return make_unknown(names, UNKNOWN, &out->frame);
    images_examine(image, &names->unwinder->blocks);
    return image->state == IMAGE_ANONYMOUS ? name_generated(names, frame, now_ns, out)
                                           : name_by_library(names, image, frame, now_ns, out);
}

enum err_code native_names_gap(struct native_names *names, frame_id *out)
{
    return make_unknown(names, NATIVE_GAP_NAME, out);
}

enum err_code native_names_find(struct native_names *names, const struct native_frame *frame,
                                uint64_t now_ns, struct native_name *out)
{
    struct named_function function = { .addr = code_of(frame), .image = frame->image };
    const uint32_t hash = hash_mix(function.addr, function.image);
    struct idmap_slot *at;
    uint32_t id;
    IDMAP_FIND(at, &names->by_addr, hash,
               ((struct named_function *)pool_at(&names->functions, at->id))->addr ==
                       function.addr &&
                   ((struct named_function *)pool_at(&names->functions, at->id))->image ==
                       function.image);
    if (at) {
        *out = ((struct named_function *)pool_at(&names->functions, at->id))->name;
        return ERR_OK;
    }
    enum err_code rc = name_frame(names, frame, now_ns, &function.name);
    if (rc)
        return rc;
    *out = function.name;
    if (names->functions.count == NATIVE_NAMES_MAX) {
        pool_deinit(&names->functions);
        pool_init(&names->functions, sizeof(struct named_function), NATIVE_NAMES_MAX);
        idmap_clear(&names->by_addr);
    }
    rc = pool_push(&names->functions, &function, &id, NULL);
    return rc ? rc : idmap_add(&names->by_addr, hash, id, NULL);
}
