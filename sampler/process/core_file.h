/*
 * core_file - a process as its core file has it: memory, mappings, threads and their registers.
 *
 * An open core is a stored process (stored_process.h): its number stands for it wherever a pid stands for a process.
 *
 * Pages that a core lacks, because its process had only mapped them, are read from the files of its mappings (core_backings.h).
 *
 * A core may be sparse and far larger than memory: it is read with pread(2), and never mapped.  One that was compressed by
 * zstd, as systemd-coredump does, is first unpacked into a file without a name.
 *
 * Ownership: core_file_open makes, core_file_close frees; NULL is fine.  A core must outlive what reads it.
 * Threads: any, after core_file_open.
 * Limits: CORE_FILE_MAX_UNPACKED_BYTES, and those of core_segments.h and core_notes.h.
 */
#ifndef SAMPLER_PROCESS_CORE_FILE_H
#define SAMPLER_PROCESS_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/core_backings.h"
#include "sampler/process/core_notes.h"

struct core_file;
struct stored_process;
struct system_call;

#define CORE_FILE_MAX_UNPACKED_BYTES (UINT64_C(64) << 30)

/* executable NULL: files are found by their paths in the core.  ERR_INVALID: not a core file, or one of another machine; or
 * the executable is not the one of this core.  ERR_CORRUPT, ERR_LIMIT. */
MUST_CHECK enum err_code core_file_open(const char *path, const char *executable,
                                        struct core_file **out, struct err *err);
/* As core_file_open, of an open file, whose name is for messages. */
MUST_CHECK enum err_code core_file_open_fd(int fd, const char *name, const char *executable,
                                           struct core_file **out, struct err *err);
void core_file_close(struct core_file *core);

struct stored_process *core_file_process(struct core_file *core);
const struct core_notes *core_file_notes(const struct core_file *core);
/* NULL: the process is stored elsewhere, or runs. */
struct core_file *core_file_find(int number);
/* How many bytes are missing at the end of the file. */
uint64_t core_file_cut_bytes(const struct core_file *core);

/* NULL: the process had no such thread. */
const struct core_thread *core_file_thread(const struct core_file *core, int32_t tid);
/* The system call that the thread waited in, by its registers. */
void core_file_call(struct core_file *core, const struct core_thread *thread,
                    struct system_call *out);

/* How many files were needed and are in this state; *first_out is the path of one of them. */
size_t core_file_count(struct core_file *core, enum core_backing_state state,
                       const char **first_out);

#endif /* SAMPLER_PROCESS_CORE_FILE_H */
