/*
 * service_context - the service that a process belongs to, as the process itself says: OpenTelemetry's process context.
 *
 * A mapping named OTEL_CTX begins with a header, which says where the context lies: a message of OpenTelemetry's
 * protocol with attributes of the process.  While a process changes it, the header has no time; it is read before and
 * after the message.  All of it is the target's: what is damaged says nothing.
 *
 * Limits: SERVICE_MAX_CONTEXT_BYTES of the message.
 * Source: OTEP 4719, version 2 of the header.
 */
#ifndef SAMPLER_PROCESS_SERVICE_CONTEXT_H
#define SAMPLER_PROCESS_SERVICE_CONTEXT_H

#include <stddef.h>

#include "sampler/process/memory.h"
#include "sampler/process/service.h"

enum { SERVICE_MAX_CONTEXT_BYTES = 1 << 14 };

/* Values of the context replace those of *service. */
void service_read_context(int pid, struct memory *memory, struct service *service);
/* Reads a header at this address. */
void service_read_header(struct memory *memory, remote_addr addr, struct service *service);
/* Reads a message. */
void service_parse_context(const void *message, size_t bytes, struct service *service);

#endif /* SAMPLER_PROCESS_SERVICE_CONTEXT_H */
