/*
 * student - Student's t distribution.
 *
 * Its tails are a regularized incomplete beta function, computed by its continued fraction (Abramowitz
 * and Stegun 26.5.8 and 26.7.1).
 */
#ifndef SERVER_REPORT_DIFF_STUDENT_H
#define SERVER_REPORT_DIFF_STUDENT_H

/* The probability of a value at least as far from 0 as t; degrees > 0, INFINITY for the normal
 * distribution. */
double student_tails(double t, double degrees);
/* The t whose tails have that probability, 0 < tails < 1. */
double student_quantile(double tails, double degrees);

#endif /* SERVER_REPORT_DIFF_STUDENT_H */
