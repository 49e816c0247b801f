// One result that is kept.

// Keeps the last result of `make(...inputs)` for as long as the inputs are the same.
/** @template {(...given: any[]) => any} Make @param {Make} make @returns {(...given: Parameters<Make>) => ReturnType<Make>} */
export function memoise(make) {
  /** @type {unknown[] | null} */
  let inputs = null;
  /** @type {ReturnType<Make>} */
  let result;
  return (...given) => {
    const before = inputs;
    if (before === null || given.some((value, i) => value !== before[i])) {
      result = make(...given);
      inputs = given;
    }
    return result;
  };
}
