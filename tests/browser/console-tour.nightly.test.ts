import * as assert from 'uvu/assert';
import { STEPS } from '../console-tour/steps.ts';
import { startTour } from '../console-tour/tour.ts';
import { suiteWith } from '../support/suite.ts';

const tests = suiteWith('tour of the console', async (started) => ({ tour: await startTour({}, started) }));

for (const { title, run } of STEPS)
  tests(title, async ({ tour }) => {
    assert.ok(await run(tour));
  });

tests.run();
