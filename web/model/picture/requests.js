// Requests.

import { TEXT } from "../../text/session.js";
import { memoise } from "../base/memoise.js";
import { missingText, percentileTexts, requestRows, requestsReason, slowestBand,
  waterfallOf } from "../threads/requests.js";

// {reason, answer, rows, percentiles, slowest, missing, waterfall, pending (instead of a waterfall)}
function makeRequests(answer, reason, live) {
  return { reason, pending: live ? TEXT.requests.reading : TEXT.requests.noPieces, answer, rows: requestRows(answer),
    percentiles: percentileTexts(answer), slowest: slowestBand(answer), missing: missingText(answer),
    waterfall: waterfallOf(answer) };
}

export function requestsSelectors() {
  const requestsOf = memoise(makeRequests);
  return {
    requests({ address, state: { requests, session, live } }) {
      return address.view === "requests" ? requestsOf(requests, requestsReason(requests, session, live), live) : null;
    },
  };
}
