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

/**
 * A suite whose tests share the context that `start` makes; `startEach` makes more of it for each test. What they give to
 * `started` is disposed of afterwards.
 */
export const suiteWith = <T extends object, U extends object = object>(
  name: string,
  start: (started: AsyncDisposableStack) => Promise<T>,
  startEach?: (started: AsyncDisposableStack, context: T) => Promise<U>,
): Test<T & U> => {
  const tests = suite<T & U>(name);
  const open = async (context: object, make: (started: AsyncDisposableStack) => Promise<object>) => {
    const started = new AsyncDisposableStack();
    try {
      Object.assign(context, await make(started));
    } catch (error) {
      await started.disposeAsync();
      throw error;
    }
    // Not moved, because the context may start more later.
    return started;
  };
  let [ofAll, ofEach]: AsyncDisposableStack[] = [];
  tests.before(async (context) => {
    ofAll = await open(context, start);
  });
  tests.after(async (context) => {
    await ofAll?.disposeAsync();
    // The runner keeps the module loaded, and the context would keep an app in memory.
    for (const name of Object.keys(context)) Reflect.set(context, name, undefined);
  });
  if (!startEach) return tests;
  tests.before.each(async (context) => {
    ofEach = await open(context, (started) => startEach(started, context));
  });
  tests.after.each(() => ofEach?.disposeAsync());
  return tests;
};
