import { suite, type Test } from 'uvu';
import { startTestApp, type TestApp } from './test-app.ts';

/** A suite whose tests share one app over a fresh demo workspace, made before the first and closed after the last. */
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
    // The file stays loaded, and would keep it.
    Object.assign(context, { app: undefined });
  });
  return tests;
};
