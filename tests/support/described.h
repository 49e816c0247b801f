/* described - a library whose debug information is searched. */
#ifndef TESTS_SUPPORT_DESCRIBED_H
#define TESTS_SUPPORT_DESCRIBED_H

extern const int described_line; /* of the function */
int described_function(int value);

#endif /* TESTS_SUPPORT_DESCRIBED_H */
