/*
 * three_valued - yes, no or unknown.
 */
#ifndef SAMPLER_BASE_THREE_VALUED_H
#define SAMPLER_BASE_THREE_VALUED_H

enum three_valued { VALUE_UNKNOWN, VALUE_NO, VALUE_YES };

#endif /* SAMPLER_BASE_THREE_VALUED_H */
