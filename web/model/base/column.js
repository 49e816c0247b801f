// A column of 32-bit integers that only grows.

/** @returns {Column} */
export function createColumn(capacity = 1024) {
  return { values: new Int32Array(capacity), length: 0 };
}

/** @param {Column} column @param {number} value */
export function columnPush(column, value) {
  if (column.length === column.values.length) {
    const grown = new Int32Array(column.values.length * 2);
    grown.set(column.values);
    column.values = grown;
  }
  column.values[column.length] = value;
  column.length += 1;
  return column.length - 1;
}

/** @param {Column} column @returns {Column} */
export function copyColumn({ values, length }) {
  return { values: values.slice(), length };
}

// The array, made long enough for `length` entries; new ones are 0. Works for any typed array.
/** @template {Int32Array | Uint8Array | Float64Array} A @param {A} array @param {number} length @returns {A} */
export function grownArray(array, length) {
  if (array.length >= length) return array;
  const grown = new /** @type {new (length: number) => A} */ (array.constructor)(Math.max(length, array.length * 2));
  grown.set(array);
  return grown;
}
