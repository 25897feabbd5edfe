import { type Callback, type Test, suite as uvuSuite } from 'uvu';

/** A suite that prints what its `before` hooks throw. uvu ends such a suite without a message. */
export const suite = <T>(name: string): Test<T> => {
  const tests = uvuSuite<T>(name);
  const addHook = tests.before;
  const before = (hook: Callback<T>): void =>
    addHook(async (context) => {
      try {
        await hook(context);
      } catch (error) {
        console.error(`A before hook of the suite "${name}" has failed:`, error);
        throw error;
      }
    });
  return Object.assign(tests, { before: Object.assign(before, { each: addHook.each }) });
};
