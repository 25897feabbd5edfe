/**
 * Returns a factory for objects whose properties are computed from its input on first access, and cached. For objects with
 * many properties of which few are read.
 */
export const lazyProperties = <I, V extends object>(
  makers: { readonly [K in keyof V]: (input: I) => V[K] },
) => {
  const prototype = {};
  for (const name of Object.keys(makers)) {
    Object.defineProperty(prototype, name, {
      get(this: { input: I }) {
        const value = makers[name as keyof V](this.input); // a key of the makers
        Object.defineProperty(this, name, { value });
        return value;
      },
    });
  }
  return (input: I): V => Object.create(prototype, { input: { value: input } });
};
