/*
 * formats - the readers of foreign formats.
 *
 * Each gives what it finds to a gather.  It may open the file as often as it needs to.
 */
#ifndef SAMPLER_FOREIGN_FORMATS_H
#define SAMPLER_FOREIGN_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

struct gather;

typedef enum err_code foreign_read(struct gather *gather, int fd, struct err *err);
/* Does a file that begins so have this format?  The bytes are unpacked. */
typedef bool foreign_begins(const unsigned char *data, size_t bytes);

foreign_read chrome_trace_read;
foreign_begins chrome_trace_begins;
foreign_read collapsed_read;
foreign_begins collapsed_begins;
foreign_read cpuprofile_read;
foreign_begins cpuprofile_begins;
foreign_read gecko_read;
foreign_begins gecko_begins;
foreign_read mojo_read;
foreign_begins mojo_begins;
foreign_read pprof_read;
foreign_begins pprof_begins;
foreign_read pstats_read;
foreign_begins pstats_begins;
foreign_read speedscope_read;
foreign_begins speedscope_begins;
foreign_read tachyon_read;
foreign_begins tachyon_begins;

#endif /* SAMPLER_FOREIGN_FORMATS_H */
