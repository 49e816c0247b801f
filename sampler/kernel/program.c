#define _GNU_SOURCE
#include "sampler/kernel/program.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "sampler/base/compress.h"
#include "sampler/kernel/refusal.h"

/* The packed object file, from program.S. */
extern const unsigned char kernel_program_start[], kernel_program_end[];

/* Unpacks the object file, once: it is there until the process ends. */
static const void *unpack_object(size_t *bytes_out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static unsigned char *object;
    static size_t object_bytes;
    pthread_mutex_lock(&lock);
    if (!object && compress_gunzip(kernel_program_start,
                                   (size_t)(kernel_program_end - kernel_program_start), &object,
                                   &object_bytes, NULL))
        object_bytes = 0;
    *bytes_out = object_bytes;
    pthread_mutex_unlock(&lock);
    return object;
}

static PRINTF_LIKE(2, 0) int note_warning(enum libbpf_print_level level, const char *format,
                                          va_list arguments)
{
    if (level == LIBBPF_WARN)
        refusal_note(format, arguments);
    return 0;
}

/* The number of our pid namespace; 0: the first one, where the kernel's own numbers are valid.  /proc does not say how
 * deep it is: the one of a container shows no number above its own. */
static uint32_t own_namespace(void)
{
    const ino_t FIRST = 0xeffffffcu; /* PROC_PID_INIT_INO of the kernel */
    struct stat namespace;
    return stat("/proc/self/ns/pid", &namespace) || namespace.st_ino == FIRST
               ? 0
               : (uint32_t) namespace.st_ino;
}

/* A map whose values have these bytes; NULL: there is none.  The names of sections begin with a dot. */
static struct bpf_map *find_map(const struct program *program, const char *name, size_t bytes)
{
    struct bpf_map *const map = bpf_object__find_map_by_name(program->object, name);
    return map && bpf_map__value_size(map) == bytes ? map : NULL;
}

static enum err_code attach_program(const struct program *program, const char *name,
                                    const char *what, struct bpf_link **out, struct err *err)
{
    struct bpf_program *const found = bpf_object__find_program_by_name(program->object, name);
    *out = found ? bpf_program__attach(found) : NULL;
    return *out ? ERR_OK : refusal_explain(err, found ? errno : ENOENT, what);
}

enum err_code program_load(struct program *program, const struct program *lender,
                           size_t processors, struct err *err)
{
    static const char WHAT[] = "the BPF program";
    const struct bpf_object_open_opts options = { .sz = sizeof options,
                                                  .object_name = "stacks" };
    const uint32_t namespace = own_namespace();
    size_t bytes;
    *program = (struct program){ 0 };
    refusal_forget();
    libbpf_set_print(note_warning);
    const void *const object = unpack_object(&bytes);
    if (!object)
        return err_nomem(err);
    program->object = bpf_object__open_mem(object, bytes, &options);
    if (!program->object)
        return refusal_explain(err, errno, WHAT);
    struct bpf_map *const constants = find_map(program, ".rodata", sizeof namespace);
    struct bpf_map *const switches = find_map(program, ".bss", sizeof *program->switches);
    program->processes = find_map(program, "processes", sizeof(struct kernel_process));
    program->threads = find_map(program, "threads", sizeof(struct kernel_thread));
    program->ring = find_map(program, "ring", 0);
    program->counters = find_map(program, "counters", sizeof(uint64_t));
    program->areas = bpf_object__find_map_by_name(program->object, "areas");
    program->residents = find_map(program, "residents", sizeof(struct kernel_resident));
    program->on_tick = bpf_object__find_program_by_name(program->object, "on_tick");
    program->on_fault = bpf_object__find_program_by_name(program->object, "on_fault");
    if (!constants || !switches || !program->processes || !program->threads || !program->ring ||
        !program->counters || !program->areas || !program->residents || !program->on_tick ||
        !program->on_fault)
        return err_set(err, ERR_CORRUPT, "%s is not that of this build", WHAT);
    int sys = bpf_map__set_initial_value(constants, &namespace, sizeof namespace);
    if (!sys)
        sys = lender ? bpf_map__reuse_fd(program->areas, bpf_map__fd(lender->areas))
                     : bpf_map__set_max_entries(program->areas, (uint32_t)processors);
    if (!sys)
        sys = bpf_object__load(program->object);
    if (sys)
        return refusal_explain(err, -sys, WHAT);
    void *const mapped = mmap(NULL, sizeof *program->switches, PROT_READ | PROT_WRITE,
                              MAP_SHARED, bpf_map__fd(switches), 0);
    if (mapped == MAP_FAILED)
        return refusal_explain(err, errno, "the variables of the BPF program");
    program->switches = mapped;
    enum err_code rc = attach_program(program, "on_switch", "the tracepoint sched_switch",
                                      &program->links[0], err);
    if (!rc)
        rc = attach_program(program, "on_waking", "the tracepoint sched_waking",
                            &program->links[1], err);
    return rc;
}

enum err_code program_follow_memory(struct program *program, struct err *err)
{
    return attach_program(program, "on_resident", "the tracepoint rss_stat", &program->resident,
                          err);
}

void program_leave_memory(struct program *program)
{
    if (program->resident)
        bpf_link__destroy(program->resident);
    program->resident = NULL;
}

void program_unload(struct program *program)
{
    for (size_t i = 0; i < sizeof program->links / sizeof program->links[0]; i++)
        bpf_link__destroy(program->links[i]);
    program_leave_memory(program);
    if (program->switches)
        munmap(program->switches, sizeof *program->switches);
    bpf_object__close(program->object);
    *program = (struct program){ 0 };
}
