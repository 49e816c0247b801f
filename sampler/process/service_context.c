#include "sampler/process/service_context.h"

#include <stdbool.h>
#include <string.h>

#include "sampler/process/maps.h"

/* Field numbers of process_context.proto, resource.proto and common.proto. */
enum {
    CONTEXT_RESOURCE = 1,
    RESOURCE_ATTRIBUTES = 1,
    PAIR_KEY = 1,
    PAIR_VALUE = 2,
    ANY_STRING = 1
};

struct header {
    char signature[8];
    uint32_t version, bytes;
    uint64_t published_ns; /* 0: it is being changed */
    uint64_t message;
};

struct part {
    const unsigned char *at;
    size_t left;
};

static bool take_number(struct part *message, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && message->left; shift += 7) {
        const unsigned char byte = *message->at++;
        message->left--;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* The next field; of one that has no length, *part_out is empty.  false: there is none, or it is damaged. */
static bool take_field(struct part *message, unsigned *field_out, struct part *part_out)
{
    enum { NUMBER, EIGHT_BYTES, WITH_LENGTH, FOUR_BYTES = 5 };
    uint64_t key, length = 0;
    if (!take_number(message, &key))
        return false;
    const unsigned type = (unsigned)(key & 7);
    *field_out = (unsigned)(key >> 3);
    *part_out = (struct part){ 0 };
    if (type == NUMBER)
        return take_number(message, &length);
    if (type == WITH_LENGTH ? !take_number(message, &length)
                            : type != EIGHT_BYTES && type != FOUR_BYTES)
        return false;
    length = type == EIGHT_BYTES ? 8 : type == FOUR_BYTES ? 4 : length;
    if (length > message->left)
        return false;
    if (type == WITH_LENGTH)
        *part_out = (struct part){ message->at, (size_t)length };
    message->at += length;
    message->left -= (size_t)length;
    return true;
}

static bool find_field(struct part message, unsigned wanted, struct part *out)
{
    unsigned field;
    while (take_field(&message, &field, out))
        if (field == wanted)
            return true;
    return false;
}

void service_parse_context(const void *message, size_t bytes, struct service *service)
{
    struct part resource, pair;
    unsigned field;
    if (!find_field((struct part){ message, bytes }, CONTEXT_RESOURCE, &resource))
        return;
    while (take_field(&resource, &field, &pair))
        if (field == RESOURCE_ATTRIBUTES) {
            const struct {
                const char *key;
                char *value;
            } wanted[] = { { "service.name", service->name },
                           { "service.namespace", service->namespace },
                           { "service.version", service->version } };
            struct part key, any, value;
            if (find_field(pair, PAIR_KEY, &key) && find_field(pair, PAIR_VALUE, &any) &&
                find_field(any, ANY_STRING, &value) && value.left)
                for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
                    if (key.left == strlen(wanted[i].key) &&
                        memcmp(key.at, wanted[i].key, key.left) == 0)
                        service_keep((const char *)value.at, value.left, wanted[i].value);
        }
}

void service_read_header(struct memory *memory, remote_addr addr, struct service *service)
{
    enum { VERSION = 2 };
    unsigned char message[SERVICE_MAX_CONTEXT_BYTES];
    struct header header, after;
    if (memory_read(memory, addr, &header, sizeof header) ||
        memcmp(header.signature, "OTEL_CTX", sizeof header.signature) != 0 ||
        header.version != VERSION || !header.published_ns || header.bytes > sizeof message ||
        (header.bytes && memory_read(memory, header.message, message, header.bytes)) ||
        memory_read(memory, addr, &after, sizeof after) ||
        memcmp(&header, &after, sizeof header) != 0)
        return;
    service_parse_context(message, header.bytes, service);
}

static bool is_context(const struct mapping *mapping)
{
    static const char *const names[] = { "/memfd:OTEL_CTX", "/memfd:OTEL_CTX (deleted)",
                                         "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(mapping->path, names[i]) == 0)
            return mapping->readable;
    return false;
}

void service_read_context(int pid, struct memory *memory, struct service *service)
{
    struct maps maps = { 0 };
    if (!maps_read(&maps, pid, NULL))
        for (size_t i = 0; i < maps.count; i++)
            if (is_context(&maps.items[i])) {
                service_read_header(memory, maps.items[i].start, service);
                break;
            }
    maps_deinit(&maps);
}
