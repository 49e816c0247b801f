import assert from "node:assert/strict";
import test from "node:test";
import { formatAddress, parseAddress } from "../../../web/model/page/address.js";
import { isSameQuestion, questionOf } from "../../../web/model/page/questions.js";
import { createState } from "../../../web/model/page/state.js";
import { isInBand } from "../../../web/model/profile/contexts.js";
import { PARTS, shownParts } from "../../../web/model/profile/parts.js";
import { bandText, emptyRequests, missingText, percentileTexts, requestRows, requestsReason, slowestBand,
  waterfallOf } from "../../../web/model/threads/requests.js";
import { queryText } from "../../../web/source/requests.js";
import { TEXT } from "../../../web/text/session.js";
import { requestsAnswer } from "../support/made-up-requests.mjs";

test("the band of the slowest begins at the 95th percentile", () => {
  assert.deepEqual(slowestBand(requestsAnswer()), { from: 0.12, to: null });
  assert.equal(slowestBand(emptyRequests()), null);
});

test("a band has its begin and not its end", () => {
  assert.ok(isInBand({ from: 0.1, to: 0.2 }, 0.1));
  assert.ok(!isInBand({ from: 0.1, to: 0.2 }, 0.2));
  assert.ok(isInBand({ from: 0.1, to: null }, 5));
  assert.ok(!isInBand(null, 5));
  assert.equal(bandText({ from: 0.1, to: null }), "100 ms or longer");
  assert.equal(bandText({ from: 0.1, to: 0.2 }), "100 ms – 200 ms");
});

test("a percentile says between which durations it lies, as far as that is known", () => {
  const [median, high] = percentileTexts(requestsAnswer());
  assert.deepEqual(median, { percent: "50 %", duration: "8.0 ms", interval: "7.0 ms – 9.0 ms" });
  assert.equal(high.interval, "100 ms – ?");
});

test("a row has only what the request waited for, and a term that matches only it", () => {
  const [row] = requestRows(requestsAnswer());
  assert.equal(row.duration, "≥ 160 ms");
  assert.deepEqual(row.waits, ["needs the GIL 2.0 ms", "network read 140 ms", "awaits 5.0 ms"]);
  assert.equal(row.term, "context:/^request_id: 4711\\.a$/");
  assert.equal(row.line.place, "store.py:12");
  assert.equal(row.view.name, "show");
  assert.equal(requestRows(requestsAnswer())[1].view, null);
});

test("a waterfall has a lane for each thread, and pieces in shares of the time of the request", () => {
  const { lanes, from, to } = waterfallOf(requestsAnswer());
  assert.deepEqual([from, to], [1, 1.16]);
  assert.deepEqual(lanes.map(({ title, pieces }) => [title, pieces.length]), [["MainThread 7", 2], ["pool 8", 1]]);
  assert.equal(lanes[0].pieces[0].left, 0);
  assert.ok(Math.abs(lanes[1].pieces[0].width - 0.875) < 1e-9);
  assert.equal(lanes[1].pieces[0].text, "140 ms blocked, network read, fetch store.py:12");
  assert.equal(waterfallOf(emptyRequests()), null);
});

test("many threads share the last lane", () => {
  const [piece] = requestsAnswer().pieces;
  const pieces = Array.from({ length: 40 }, (_, tid) => ({ ...piece, tid }));
  const { lanes } = waterfallOf({ ...emptyRequests(), pieces });
  assert.equal(lanes.length, 12);
  assert.equal(lanes[11].pieces.length, 29);
});

test("what is missing is said, and why there is nothing", () => {
  assert.equal(missingText(emptyRequests()), "");
  assert.match(missingText({ ...emptyRequests(), cut: 2, rough: 1, other: 7 }),
    /^2 requests began .* Of 1 request .* 7 samples/);
  assert.equal(requestsReason(emptyRequests(), {}, true), TEXT.requests.none);
  assert.equal(requestsReason(requestsAnswer(), {}, true), null);
  assert.equal(requestsReason(emptyRequests(), {}, false), TEXT.requests.inReport);
  assert.equal(missingText({ ...emptyRequests(), chosen: 70, rows: requestsAnswer().rows }),
    "2 of 70 requests are listed.");
});

test("a band is in the address and in every question, and shows what is idle", () => {
  const address = { ...parseAddress(""), took: { from: 0.1, to: null } };
  assert.match(formatAddress(address), /took=0\.1~/);
  assert.deepEqual(parseAddress(formatAddress(address)).took, { from: 0.1, to: null });
  assert.equal(parseAddress("v=1&took=x").took, null);
  const state = { ...createState(true), address };
  assert.deepEqual(shownParts(state), PARTS);
  const question = questionOf(state, []);
  assert.ok(!isSameQuestion(question, questionOf({ ...state, address: { ...address, took: null } }, [])));
  assert.equal(queryText({}, question), "?slower_than=0.1");
  assert.equal(queryText({}, { took: { from: 0.1, to: 0.2 } }), "?slower_than=0.1&faster_than=0.2");
});
