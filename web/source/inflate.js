// Compressed text that travels in the page: gzip, as base 64 or as base 85, which is a sixteenth shorter.

// Five digits are four bytes, the first digit counts most. None of them ends a script element: no "<", no "/".
const DIGITS_85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;.=>?@^_`{|}~";

// Bytes of RFC 1924's base 85 with "." for "<"; a last group of N digits is N - 1 bytes.
export function bytesOfBase85(text) {
  const values = new Uint8Array(128);
  Array.from(DIGITS_85, (digit, value) => (values[digit.charCodeAt(0)] = value));
  const groups = Math.ceil(text.length / 5);
  const padded = text.padEnd(groups * 5, "~");
  const view = new DataView(new ArrayBuffer(groups * 4));
  for (let group = 0; group < groups; group += 1) {
    let value = 0;
    for (let i = 0; i < 5; i += 1) value = value * 85 + values[padded.charCodeAt(group * 5 + i)];
    view.setUint32(group * 4, value);
  }
  return new Uint8Array(view.buffer, 0, groups * 4 - (padded.length - text.length));
}

export async function inflateBytes(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

// Text that is base 64 of gzip.
export async function inflateText(base64) {
  return inflateBytes(Uint8Array.from(atob(base64.replace(/\s+/g, "")), (unit) => unit.charCodeAt(0)));
}
