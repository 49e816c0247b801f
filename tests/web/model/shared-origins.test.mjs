// The cases of tests/origins.json, which tests/unit/profile/test_own_code.c runs through the server's half.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createOwnLines, extendOwnLines } from "../../../web/model/code/own.js";
import { readSharedCases, sharedProfile } from "../support/shared-cases.mjs";

const { cases, checkPatterns } = readSharedCases("origins.json");

function ownOf(lines, program) {
  const profile = sharedProfile(program);
  extendOwnLines(lines, profile, profile.ownCode[0]);
  return Object.keys(program.functions).filter((_, i) => lines.own[i + 1]);
}

test("code is of the package that it is of on the server", checkPatterns);

test("your code is what it is on the server", () => {
  for (const [name, program] of Object.entries(cases.programs))
    assert.deepEqual(ownOf(createOwnLines(""), program), program.own, name);
});

test("a started package is your code until other code is", () => {
  const program = cases.programs["a server of a package that runs your application"];
  const { module, run } = program.functions;
  const lines = createOwnLines("");
  assert.deepEqual(
    ownOf(lines, { functions: { module, run }, stacks: [["module;run", 1]],
      own_code: [{ kind: "program", packages: ["gunicorn"] }] }),
    ["run"],
  );
  assert.deepEqual(ownOf(lines, program), ["view"]);
  assert.equal(lines.lineOf.values[2], 0);
});
