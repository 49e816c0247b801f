/*
 * fact - something that is so, or is not, or that could not be found out.
 *
 * Depends on: nothing.
 */
#ifndef SAMPLER_BASE_THREE_VALUED_H
#define SAMPLER_BASE_THREE_VALUED_H

enum fact { FACT_UNKNOWN, FACT_NO, FACT_YES };

#endif /* SAMPLER_BASE_THREE_VALUED_H */
