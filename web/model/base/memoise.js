// One result that is kept.

// Keeps the last result of `make(...inputs)` for as long as the inputs are the same.
export function memoise(make) {
  let inputs = null;
  let result;
  return (...given) => {
    if (inputs === null || given.some((value, i) => value !== inputs[i])) {
      result = make(...given);
      inputs = given;
    }
    return result;
  };
}
