#include "server/source/zip_member.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sampler/base/compress.h"
#include "sampler/base/read_at.h"
#include "sampler/base/scoped.h"

/* Bytes of the fixed parts, and offsets of their fields; all numbers have the lowest byte first. */
enum {
    END_BYTES = 22, /* of the end of the directory, which a comment of at most 64 KiB follows */
    END_DIRECTORY_BYTES = 12,
    END_DIRECTORY_OFFSET = 16,
    END_COMMENT_BYTES = 20,
    END_MAX_BYTES = END_BYTES + UINT16_MAX,
    ENTRY_BYTES = 46, /* of an entry of the directory, which its name and more follow */
    ENTRY_FLAGS = 8,
    ENTRY_METHOD = 10,
    ENTRY_CHECKSUM = 16,
    ENTRY_COMPRESSED_BYTES = 20,
    ENTRY_FILE_BYTES = 24,
    ENTRY_NAME_BYTES = 28,
    ENTRY_EXTRA_BYTES = 30,
    ENTRY_COMMENT_BYTES = 32,
    ENTRY_OFFSET = 42,
    LOCAL_BYTES =
        30, /* of what precedes the file itself, after which its name and more follow */
    LOCAL_NAME_BYTES = 26,
    LOCAL_EXTRA_BYTES = 28,
    METHOD_STORED = 0,
    METHOD_DEFLATED = 8,
    FLAG_ENCRYPTED = 1,
};

static const uint32_t END_MAGIC = 0x06054b50, ENTRY_MAGIC = 0x02014b50,
                      LOCAL_MAGIC = 0x04034b50;

/* The growth of data that deflate cannot make smaller is less than one percent. */
static const uint32_t MAX_COMPRESSED_BYTES = SOURCE_MAX_BYTES / 100 * 101;

static uint32_t u16_at(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8;
}

static uint32_t u32_at(const unsigned char *at)
{
    return u16_at(at) | u16_at(at + 2) << 16;
}

struct directory {
    unsigned char *entries;
    size_t bytes;
    uint64_t skipped_bytes; /* what precedes the archive */
};

static enum source_outcome read_directory(int fd, struct directory *out)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return SOURCE_FAILED;
    const uint64_t size = (uint64_t)status.st_size;
    const size_t bytes = size < END_MAX_BYTES ? (size_t)size : END_MAX_BYTES;
    SCOPED_FREE unsigned char *end = malloc(END_MAX_BYTES);
    if (!end)
        return SOURCE_FAILED;
    if (bytes < END_BYTES || !read_at(fd, end, bytes, size - bytes))
        return SOURCE_MISSING;
    size_t at = bytes - END_BYTES;
    while (at > 0 && (u32_at(end + at) != END_MAGIC ||
                      u16_at(end + at + END_COMMENT_BYTES) > bytes - at - END_BYTES))
        at--;
    const uint64_t end_at = size - bytes + at;
    const uint64_t offset = u32_at(end + at + END_DIRECTORY_OFFSET);
    out->bytes = u32_at(end + at + END_DIRECTORY_BYTES);
    if (u32_at(end + at) != END_MAGIC)
        return SOURCE_MISSING;
    if (out->bytes > ZIP_MAX_DIRECTORY_BYTES || out->bytes + offset > end_at)
        return SOURCE_BAD_ARCHIVE;
    out->skipped_bytes = end_at - out->bytes - offset;
    out->entries = malloc(out->bytes + 1);
    if (!out->entries)
        return SOURCE_FAILED;
    return read_at(fd, out->entries, out->bytes, end_at - out->bytes) ? SOURCE_DONE
                                                                      : SOURCE_BAD_ARCHIVE;
}

static size_t entry_bytes(const unsigned char *entry)
{
    return ENTRY_BYTES + u16_at(entry + ENTRY_NAME_BYTES) + u16_at(entry + ENTRY_EXTRA_BYTES) +
           u16_at(entry + ENTRY_COMMENT_BYTES);
}

/* The entry after this one; NULL: the first.  Returns NULL after the last. */
static const unsigned char *next_entry(const struct directory *directory,
                                       const unsigned char *entry)
{
    const unsigned char *const next = entry ? entry + entry_bytes(entry) : directory->entries;
    const size_t left = directory->bytes - (size_t)(next - directory->entries);
    return left >= ENTRY_BYTES && u32_at(next) == ENTRY_MAGIC && entry_bytes(next) <= left
               ? next
               : NULL;
}

/* The last of the entries of one name, as zipimport does; NULL: none. */
static const unsigned char *find_entry(const struct directory *directory, const char *name)
{
    const size_t length = strlen(name);
    const unsigned char *found = NULL;
    for (const unsigned char *entry = NULL; (entry = next_entry(directory, entry));)
        if (u16_at(entry + ENTRY_NAME_BYTES) == length &&
            memcmp(entry + ENTRY_BYTES, name, length) == 0)
            found = entry;
    return found;
}

static enum source_outcome read_member(int fd, const struct directory *directory,
                                       const unsigned char *entry, char *text)
{
    const uint32_t method = u16_at(entry + ENTRY_METHOD);
    const uint32_t packed_bytes = u32_at(entry + ENTRY_COMPRESSED_BYTES);
    const uint32_t bytes = u32_at(entry + ENTRY_FILE_BYTES);
    const uint64_t local_at = directory->skipped_bytes + u32_at(entry + ENTRY_OFFSET);
    unsigned char local[LOCAL_BYTES];
    if (u16_at(entry + ENTRY_FLAGS) & FLAG_ENCRYPTED || packed_bytes > MAX_COMPRESSED_BYTES ||
        !read_at(fd, local, sizeof local, local_at) || u32_at(local) != LOCAL_MAGIC)
        return SOURCE_BAD_ARCHIVE;
    const uint64_t data_at = local_at + sizeof local + u16_at(local + LOCAL_NAME_BYTES) +
                             u16_at(local + LOCAL_EXTRA_BYTES);
    bool is_read = false;
    if (method == METHOD_STORED && packed_bytes == bytes) {
        is_read = read_at(fd, text, bytes, data_at);
    } else if (method == METHOD_DEFLATED) {
        SCOPED_FREE unsigned char *packed = malloc(packed_bytes + 1);
        is_read = packed && read_at(fd, packed, packed_bytes, data_at) &&
                  !compress_inflate(packed, packed_bytes, text, bytes, NULL);
    }
    return is_read && compress_crc32(text, bytes) == u32_at(entry + ENTRY_CHECKSUM)
               ? SOURCE_DONE
               : SOURCE_BAD_ARCHIVE;
}

enum source_outcome zip_member_read(int fd, const char *name, char **text_out,
                                    size_t *length_out)
{
    struct directory directory = { .entries = NULL };
    char *text = NULL;
    enum source_outcome outcome = read_directory(fd, &directory);
    const unsigned char *const entry =
        outcome == SOURCE_DONE ? find_entry(&directory, name) : NULL;
    if (outcome == SOURCE_DONE && !entry)
        outcome = SOURCE_MISSING;
    if (entry && u32_at(entry + ENTRY_FILE_BYTES) > SOURCE_MAX_BYTES)
        outcome = SOURCE_TOO_LARGE;
    if (outcome == SOURCE_DONE && !(text = malloc(SOURCE_MAX_BYTES + 1)))
        outcome = SOURCE_FAILED;
    if (outcome == SOURCE_DONE)
        outcome = read_member(fd, &directory, entry, text);
    if (outcome == SOURCE_DONE) {
        *text_out = text;
        *length_out = u32_at(entry + ENTRY_FILE_BYTES);
    } else {
        free(text);
    }
    free(directory.entries);
    return outcome;
}

enum source_outcome zip_member_list(int fd, zip_member_found *found, void *context)
{
    struct directory directory = { .entries = NULL };
    const enum source_outcome outcome = read_directory(fd, &directory);
    if (outcome == SOURCE_DONE)
        for (const unsigned char *entry = NULL; (entry = next_entry(&directory, entry));)
            found(context, (const char *)entry + ENTRY_BYTES, u16_at(entry + ENTRY_NAME_BYTES));
    free(directory.entries);
    return outcome;
}
