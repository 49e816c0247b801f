import assert from "node:assert/strict";
import { test } from "node:test";
import { nativeOffer } from "../../../web/model/page/native-offer.js";
import { createState, reduce } from "../../../web/model/page/state.js";

const SUMMARY = {
  native: { share: 0, wanted_for: { name: "<native> cy.Simulation.step", share: 0.51 }, libraries: [] },
};

function stateWith({ live = true, scope = "operator", summary = SUMMARY, ...changes } = {}) {
  const session = { state: "running", source: "live", settings: { native: "off" }, ...changes };
  return { ...createState(live), access: { scope }, summary, session };
}

test("native stacks are offered for the function that the summary wants them for, while the session runs", () => {
  assert.deepEqual(nativeOffer(stateWith()), { name: "cy.Simulation.step", share: 0.51, canBegin: true });
  assert.equal(nativeOffer(stateWith({ state: "paused", settings: { native: "leaf" } })).canBegin, true);
  for (const summary of [null, { native: { wanted_for: null } }, { native: {} }])
    assert.equal(nativeOffer(stateWith({ summary })), null);
  assert.equal(nativeOffer({ ...stateWith(), session: null }), null);
});

test("where nobody can begin with them, the function is named without the offer", () => {
  const report = stateWith({ live: false, summary: { ...SUMMARY, ofReport: true } });
  for (const state of [report, stateWith({ source: "capture" }), stateWith({ state: "ended" }),
    stateWith({ state: "failed" })])
  {
    assert.deepEqual(nativeOffer(state), { name: "cy.Simulation.step", share: 0.51, canBegin: false });
  }
  assert.equal(nativeOffer(reduce(report, { type: "address", changes: { range: { from: 1, to: 2 } } })), null);
});

test("who may not operate the session is offered nothing", () => {
  assert.equal(nativeOffer(stateWith({ scope: "viewer" })), null);
  assert.equal(nativeOffer({ ...stateWith(), access: null }), null);
});

test("the answer of the server ends the offer", () => {
  const state = stateWith();
  const begun = reduce(state, { type: "settings", settings: { native: "full" } });
  assert.equal(nativeOffer(begun), null);
  assert.equal(begun.session.state, "running");
});

test("names are made visible", () => {
  const { name } = nativeOffer(
    stateWith({ summary: { native: { wanted_for: { name: "<native> a\u202eb.c", share: 1 } } } }),
  );
  assert.equal(name, "a\\u202eb.c");
});
