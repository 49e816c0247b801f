/*
 * names - the names of frames, threads and states in a report.
 */
#ifndef SERVER_REPORT_NAMES_H
#define SERVER_REPORT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/profile/profile.h"

struct buffer;

/* The parts of a frame's name.  Texts are not NUL-terminated and may be hostile. */
struct named_frame {
    struct strtab_string name, file;
    function_id function;
    struct strtab_string library; /* of native code: its path */
    int32_t first_line, line;     /* 0: unknown */
    bool is_synthetic;            /* not Python code but a mark: <native>, <GC>, ... */
    bool is_native;               /* native code of a library */
    bool is_kernel;               /* of the kernel, which counts as a library */
    bool has_source;              /* the file is one of source text */
};

struct named_frame names_frame(const struct profile_snapshot *snapshot, frame_id frame);
struct named_frame names_function(const struct profile_snapshot *snapshot,
                                  function_id function);

/* The name of the C function that a mark stands for ("<native> numpy.dot"); false: it stands for none, and *out is the
 * name of the frame. */
bool names_c_function(const struct named_frame *frame, struct strtab_string *out);

/* "MainThread (4711)", or "thread 4711" if it has no name. */
void names_put_thread(struct buffer *out, const struct profile_snapshot *snapshot,
                      thread_id thread);

/* The words of all facts that are true, and in brackets those that are unknown:
 * "on_cpu,has_gil,(in_native)"; "": none. */
void names_put_state(struct buffer *out, state_bits state);

/* The one short form of a path, as the page has it: of a library from the package on, of all else the file with its
 * folder. */
struct strtab_string names_short(struct strtab_string file);

/* The file without its folders. */
struct strtab_string names_base(struct strtab_string file);

#endif /* SERVER_REPORT_NAMES_H */
