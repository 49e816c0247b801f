/*
 * compress - gzip and zstd, one shot and as streams, and a checksum.  The only place that sees zlib
 * and zstd.
 *
 * Ownership: the returned buffer is the caller's (free).
 * Threads: any.
 * Limits: gzip takes 3.5 GiB in one shot, then ERR_LIMIT; a stream takes any amount.  Pieces of a
 * zstd stream refer to at most ZSTD_STREAM_WINDOW_BYTES before them; reading takes no more memory
 * than eight times that, whatever the pieces say.
 */
#ifndef SAMPLER_BASE_COMPRESS_H
#define SAMPLER_BASE_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

MUST_CHECK enum err_code compress_gzip(const void *data, size_t bytes, int level,
                                       unsigned char **out, size_t *bytes_out, struct err *err);
MUST_CHECK enum err_code compress_zstd(const void *data, size_t bytes, int level,
                                       unsigned char **out, size_t *bytes_out, struct err *err);

/* One member of gzip.  ERR_CORRUPT: the data are none. */
MUST_CHECK enum err_code compress_gunzip(const void *data, size_t bytes, unsigned char **out,
                                         size_t *bytes_out, struct err *err);
/* The deflated data of a zip archive.  ERR_CORRUPT: they do not decompress to exactly out_bytes. */
MUST_CHECK enum err_code compress_inflate(const void *data, size_t bytes, void *out,
                                          size_t out_bytes, struct err *err);
/* ERR_CORRUPT: the data do not decompress to exactly out_bytes. */
MUST_CHECK enum err_code compress_unzstd(const void *data, size_t bytes, void *out,
                                         size_t out_bytes, struct err *err);
/* Decompresses a file of any size to `take`, which ends it by returning false.  ERR_CORRUPT: also if its end is missing; what
 * came before that has been taken.  Takes at most 128 MiB of memory. */
MUST_CHECK enum err_code compress_unzstd_file(
    int fd, bool (*take)(void *to, const char *data, size_t bytes), void *to, struct err *err);

/* Reads a part of a file, as it is or unpacked: gzip and zstd are known by their first bytes. */
struct compress_reader;

/* fd: stays the caller's, and must outlive the reader.  to: where the part ends; UINT64_MAX: with the file. */
MUST_CHECK enum err_code compress_reader_create(int fd, uint64_t from, uint64_t to,
                                                struct compress_reader **out, struct err *err);
/* NULL is fine. */
void compress_reader_destroy(struct compress_reader *reader);
/* The next bytes, at most so many; *bytes_out 0: the end.  ERR_CORRUPT: what is packed is damaged, or its end is missing. */
MUST_CHECK enum err_code compress_reader_read(struct compress_reader *reader, void *out,
                                              size_t bytes, size_t *bytes_out, struct err *err);

/* A zstd stream in pieces.  Each piece is complete when it is made.  Reading it takes all pieces of the
 * stream before it.  What pieces have in common is stored once. */
enum { ZSTD_STREAM_WINDOW_BYTES = 1 << 18 };

struct zstd_writer;
struct zstd_reader;

MUST_CHECK enum err_code zstd_writer_create(struct zstd_writer **out, struct err *err);
/* NULL is fine. */
void zstd_writer_destroy(struct zstd_writer *writer);
/* level: begins another stream, at this level; 0: continues the one before. */
MUST_CHECK enum err_code zstd_writer_add(struct zstd_writer *writer, int level,
                                         const void *data, size_t bytes, unsigned char **out,
                                         size_t *bytes_out, struct err *err);

MUST_CHECK enum err_code zstd_reader_create(struct zstd_reader **out, struct err *err);
/* NULL is fine. */
void zstd_reader_destroy(struct zstd_reader *reader);
/* ERR_CORRUPT: not the next piece of the stream, or one of another size than out_bytes. */
MUST_CHECK enum err_code zstd_reader_add(struct zstd_reader *reader, bool is_first,
                                         const void *data, size_t bytes, void *out,
                                         size_t out_bytes, struct err *err);

/* CRC-32 as in gzip. */
uint32_t compress_crc32(const void *data, size_t bytes);
/* The CRC of data in pieces; crc is that of the pieces before, 0: there are none. */
uint32_t compress_crc32_add(uint32_t crc, const void *data, size_t bytes);

struct gzip_stream;

MUST_CHECK enum err_code gzip_stream_create(int level, struct gzip_stream **out,
                                            struct err *err);
/* NULL is fine. */
void gzip_stream_destroy(struct gzip_stream *stream);
/* Compressed bytes go to `take` as they come; is_last: nothing follows.  false: `take` returned false. */
bool gzip_stream_write(struct gzip_stream *stream, const void *data, size_t bytes, bool is_last,
                       bool (*take)(void *to, const char *data, size_t bytes), void *to);

#endif /* SAMPLER_BASE_COMPRESS_H */
