// Reads as much of profile.proto as the tests need: the samples by the text of one of their labels.

import { gunzipSync } from "node:zlib";

const [SAMPLE, STRING_TABLE] = [2, 6];
const [VALUE, LABEL] = [2, 3];
const [KEY, TEXT] = [1, 2];

function varint(bytes, place) {
  let value = 0;
  for (let shift = 0;; shift += 7) {
    const byte = bytes[place.at];
    place.at += 1;
    value += (byte & 127) * 2 ** shift;
    if (byte < 128) return value;
  }
}

// -> Map of the values of each field by its number
function message(bytes) {
  const fields = new Map();
  const place = { at: 0 };
  while (place.at < bytes.length) {
    const key = varint(bytes, place);
    let value = varint(bytes, place);
    if ((key & 7) === 2) {
      value = bytes.subarray(place.at, place.at + value);
      place.at += value.length;
    } else if ((key & 7) !== 0) {
      throw new Error("wire type " + (key & 7));
    }
    if (!fields.has(key >> 3)) fields.set(key >> 3, []);
    fields.get(key >> 3).push(value);
  }
  return fields;
}

// -> {text of the label: samples}
export function samplesByLabel(compressed, label) {
  const profile = message(gunzipSync(compressed));
  const texts = profile.get(STRING_TABLE).map((bytes) => new TextDecoder().decode(bytes));
  const sums = {};
  for (const sample of (profile.get(SAMPLE) ?? []).map(message)) {
    const labels = (sample.get(LABEL) ?? []).map(message);
    const found = labels.find((fields) => texts[fields.get(KEY)[0]] === label);
    const text = found === undefined ? "" : texts[found.get(TEXT)[0]];
    sums[text] = (sums[text] ?? 0) + varint(sample.get(VALUE)[0], { at: 0 });
  }
  return sums;
}
