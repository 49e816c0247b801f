// Objects whose members are made when they are first asked for.

// -> the prototype of objects whose member NAME is what makers[NAME](object) gives, once for each object.
/** @param {{[name: string]: (object: any) => unknown}} makers */
export function lazyPrototype(makers) {
  const prototype = {};
  for (const [name, make] of Object.entries(makers)) {
    Object.defineProperty(prototype, name, {
      get() {
        const value = make(this);
        Object.defineProperty(this, name, { value });
        return value;
      },
    });
  }
  return prototype;
}
