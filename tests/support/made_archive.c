#include "tests/support/made_archive.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/compress.h"
#include "tests/support/test.h"

enum { GZIP_HEADER_BYTES = 10, GZIP_TRAILER_BYTES = 8, LOCAL_BYTES = 30, ENTRY_BYTES = 46 };
void made_archive_put(unsigned char *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

void made_archive_add(struct made_archive *archive, const char *name, const char *text,
                      bool deflated)
{
    const size_t name_bytes = strlen(name), bytes = strlen(text);
    unsigned char *packed = NULL;
    size_t packed_bytes = bytes;
    const void *data = text;
    struct err err = { 0 };
    if (deflated) {
        assert_ok(compress_gzip(text, bytes, 6, &packed, &packed_bytes, &err), &err);
        packed_bytes -= GZIP_HEADER_BYTES + GZIP_TRAILER_BYTES;
        data = packed + GZIP_HEADER_BYTES;
    }
    unsigned char *const entry = archive->directory + archive->directory_bytes;
    unsigned char *const local = archive->bytes + archive->count;
    memset(entry, 0, ENTRY_BYTES);
    memset(local, 0, LOCAL_BYTES);
    made_archive_put(entry, 0x02014b50, 4);
    made_archive_put(entry + 10, deflated ? 8 : 0, 2);
    made_archive_put(entry + 16, compress_crc32(text, bytes), 4);
    made_archive_put(entry + 20, packed_bytes, 4);
    made_archive_put(entry + 24, bytes, 4);
    made_archive_put(entry + 28, name_bytes, 2);
    made_archive_put(entry + 42, archive->count - archive->start, 4);
    memcpy(entry + ENTRY_BYTES, name, name_bytes);
    archive->directory_bytes += ENTRY_BYTES + name_bytes;
    made_archive_put(local, 0x04034b50, 4);
    made_archive_put(local + 26, name_bytes, 2);
    memcpy(local + LOCAL_BYTES, name, name_bytes);
    memcpy(local + LOCAL_BYTES + name_bytes, data, packed_bytes);
    archive->count += LOCAL_BYTES + name_bytes + packed_bytes;
    archive->entries++;
    free(packed);
}

unsigned char *made_archive_finish(struct made_archive *archive, const char *comment)
{
    unsigned char *const at = archive->bytes + archive->count;
    unsigned char *const end = at + archive->directory_bytes;
    memcpy(at, archive->directory, archive->directory_bytes);
    memset(end, 0, 22);
    made_archive_put(end, 0x06054b50, 4);
    made_archive_put(end + 8, archive->entries, 2);
    made_archive_put(end + 10, archive->entries, 2);
    made_archive_put(end + 12, archive->directory_bytes, 4);
    made_archive_put(end + 16, archive->count - archive->start, 4);
    made_archive_put(end + 20, strlen(comment), 2);
    memcpy(end + 22, comment, strlen(comment));
    archive->count += archive->directory_bytes + 22 + strlen(comment);
    return end;
}
