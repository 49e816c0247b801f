/*
 * fact - something that is so, or is not, or that could not be found out.
 *
 * Depends on: nothing.
 */
#ifndef SAMPLER_CPYTHON_FACT_H
#define SAMPLER_CPYTHON_FACT_H

enum fact { FACT_UNKNOWN, FACT_NO, FACT_YES };

#endif /* SAMPLER_CPYTHON_FACT_H */
