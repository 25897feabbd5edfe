import type { Test } from 'uvu';
import { suite } from './suite.ts';
import { startTestApp, type TestApp } from './test-app.ts';

/** A suite whose tests share one app with a new demo workspace. */
export const appSuite = (
  name: string,
  settings: Record<string, string> = {},
  options: Parameters<typeof startTestApp>[1] = {},
): Test<{ app: TestApp }> => {
  const tests = suite<{ app: TestApp }>(name);
  tests.before(async (context) => {
    context.app = await startTestApp(settings, options);
  });
  tests.after(async (context) => {
    await context.app.close();
    // The runner keeps the module loaded, and the context would keep the app in memory.
    Object.assign(context, { app: undefined });
  });
  return tests;
};
