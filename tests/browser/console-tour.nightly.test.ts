import * as assert from 'uvu/assert';
import { STEPS } from '../console-tour/steps.ts';
import { startTour, type Tour } from '../console-tour/tour.ts';
import { suite } from '../support/suite.ts';

const tests = suite<{ tour: Tour; closing: AsyncDisposableStack }>('tour of the console');

tests.before(async (context) => {
  context.closing = new AsyncDisposableStack();
  context.tour = await startTour({}, context.closing);
});
tests.after(({ closing }) => closing.disposeAsync());

for (const { title, run } of STEPS)
  tests(title, async ({ tour }) => {
    assert.ok(await run(tour));
  });

tests.run();
