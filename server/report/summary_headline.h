/*
 * summary_headline - where the time goes, in one sentence.
 */
#ifndef SERVER_REPORT_SUMMARY_HEADLINE_H
#define SERVER_REPORT_SUMMARY_HEADLINE_H

#include "sampler/base/err.h"
#include "server/report/summary_facts.h"

/* Fills the headline of a summary that has all else. */
MUST_CHECK enum err_code summary_find_headline(struct summary *summary, struct err *err);

#endif /* SERVER_REPORT_SUMMARY_HEADLINE_H */
