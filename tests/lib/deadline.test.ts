import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createBatchLoader } from '../../src/lib/batch-loader.ts';
import {
  beforeDeadline,
  boundedWait,
  currentDeadline,
  Deadline,
  DeadlineExceeded,
  liftBulkDeadline,
  withDeadline,
  withoutDeadline,
} from '../../src/lib/deadline.ts';

const deadline = suite('deadline');
const NEVER = new Promise<never>(() => {});

deadline('limits a wait to the remaining time, also after other work', async () => {
  assert.is(boundedWait(5_000), 5_000);
  assert.is(boundedWait(null), null);

  await withDeadline(new Deadline(1_000), async () => {
    await sleep(5);
    const wait = boundedWait(5_000) ?? 0;
    assert.ok(wait > 0 && wait < 1_000, `${wait}`);
    assert.is(boundedWait(10), 10);
    assert.is(
      withoutDeadline(() => boundedWait(5_000)),
      5_000,
    );
  });
});

deadline('leaves no time when it has passed', () => {
  withDeadline(new Deadline(-1), () => assert.ok((boundedWait(5_000) ?? 1) <= 0));
});

deadline('does not limit work after it was lifted', () => {
  const lifted = new Deadline(1_000);
  lifted.lift();

  withDeadline(lifted, () => assert.is(boundedWait(null), null));
});

deadline('is lifted for bulk requests only', () => {
  withDeadline(new Deadline(1_000), () => {
    liftBulkDeadline(1);
    assert.is.not(boundedWait(null), null);
    liftBulkDeadline(10_000);
    assert.is(boundedWait(null), null);
  });
});

deadline('ends the wait for work that continues', async () => {
  const error = await withDeadline(new Deadline(10), () => beforeDeadline(NEVER)).catch((cause) => cause);

  assert.instance(error, DeadlineExceeded);
});

deadline('of one caller does not limit a lookup that others share', async () => {
  let shared: Deadline | null | undefined;
  const lookUp = createBatchLoader<string, string>(async (keys) => {
    shared = currentDeadline();
    await sleep(50);
    return new Map(keys.map((key) => [key, key]));
  });
  const hurried = withDeadline(new Deadline(10), () => lookUp('hurried'));
  const patient = withDeadline(new Deadline(10_000), () => lookUp('patient'));

  assert.instance(await hurried.catch((cause) => cause), DeadlineExceeded);
  assert.is(await patient, 'patient');
  assert.is(shared, null);
});

deadline.run();
