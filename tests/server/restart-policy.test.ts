import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sizePools } from '../../src/server/database-host.ts';
import { createRestartPolicy } from '../../src/server/workers.ts';

const EARLY = { uptimeMs: 100, areOthersListening: false };
const restarts = suite('restart policy of workers');

restarts('restarts at once, and with growing delays if the worker repeatedly ends early', () => {
  const { listened, pauseAfter } = createRestartPolicy();
  const pauses: (number | null)[] = [];
  for (let count = 0; count < 12; count += 1) {
    listened();
    pauses.push(pauseAfter(EARLY));
  }
  const afterHours = pauseAfter({ uptimeMs: 3_600_000, areOthersListening: false });

  assert.equal(pauses.slice(0, 4), [0, 500, 1000, 2000]);
  assert.is(pauses.at(-1), 30_000);
  assert.is(afterHours, 0);
});

restarts('does not restart the first worker if it never listened', () => {
  assert.is(createRestartPolicy().pauseAfter(EARLY), null);
});

restarts('gives up after many starts without listening, but not while others serve', () => {
  const { listened, pauseAfter } = createRestartPolicy();
  listened();
  const alone = Array.from({ length: 9 }, () => pauseAfter(EARLY));
  const beside = pauseAfter({ ...EARLY, areOthersListening: true });

  assert.equal(
    alone.map((pause) => pause === null),
    [...Array(8).fill(false), true],
  );
  assert.ok(beside !== null);
});

restarts('gives all workers together fewer connections than the embedded server accepts', () => {
  for (let workers = 1; workers <= 64; workers += 1) {
    const { poolSize, serverSize } = sizePools(workers);
    // The pool and listener of each worker, the pool of one command, and three that PostgreSQL reserves.
    assert.ok(workers * (poolSize + 1) + 10 + 3 <= serverSize, `${workers} workers`);
    assert.ok(poolSize >= 4 && poolSize <= 10);
  }
});

restarts.run();
