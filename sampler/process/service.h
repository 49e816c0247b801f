/*
 * service - the service that a process belongs to, as OpenTelemetry's variables in its environment say.
 *
 * OTEL_SERVICE_NAME, else service.name of OTEL_RESOURCE_ATTRIBUTES; service.namespace and service.version of the
 * latter.  An environment may be secret: of all other variables nothing is kept, and what was read
 * is overwritten.  It may also be hostile: values are cut, and lose what is not printable UTF-8.
 *
 * Limits: SERVICE_MAX_ENVIRONMENT_BYTES of the environment, SERVICE_BYTES of each value.
 * Source: OpenTelemetry's specification of environment variables; W3C Baggage for the encoding.
 */
#ifndef SAMPLER_PROCESS_SERVICE_H
#define SAMPLER_PROCESS_SERVICE_H

#include <stddef.h>

enum { SERVICE_BYTES = 128, SERVICE_MAX_ENVIRONMENT_BYTES = 1 << 20 };

struct service {
    char name[SERVICE_BYTES]; /* "": not known, and so for the others */
    char namespace[SERVICE_BYTES];
    char version[SERVICE_BYTES];
};

/* Keeps what is printable of a value. */
void service_keep(const char *text, size_t length, char out[SERVICE_BYTES]);
/* If the environment cannot be read, nothing is known. */
void service_of(int pid, struct service *out);
/* Fills in the service from an environment: strings, each ended by a NUL. */
void service_parse(const char *environment, size_t bytes, struct service *out);

#endif /* SAMPLER_PROCESS_SERVICE_H */
