#include "server/push/protocol.h"

#include <string.h>

static const struct push_protocol protocols[] = {
    { "pyroscope", "Grafana Pyroscope", 4040, "/push.v1.PusherService/Push",
      "application/proto", false, true, push_encode_pyroscope },
    { "otlp", "OpenTelemetry Collector", 4318, "/v1development/profiles",
      "application/x-protobuf", true, false, push_encode_otlp },
    { "parca", "Parca", 7070, "/api/profiles/writeraw", "application/json", false, true,
      push_encode_parca },
};

const struct push_protocol *push_protocol_at(size_t index)
{
    return index < sizeof protocols / sizeof *protocols ? &protocols[index] : NULL;
}

const struct push_protocol *push_protocol_find(const char *scheme, size_t length)
{
    const struct push_protocol *protocol = NULL;
    for (size_t i = 0; (protocol = push_protocol_at(i)); i++)
        if (strlen(protocol->scheme) == length &&
            strncmp(protocol->scheme, scheme, length) == 0)
            return protocol;
    return NULL;
}
