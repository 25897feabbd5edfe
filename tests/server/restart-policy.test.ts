import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sizePools } from '../../src/server/workers/pool-sizing.ts';
import { createRestartPolicy } from '../../src/server/workers/restart-policy.ts';

const EARLY = { uptimeMs: 100, areOthersListening: false };
const restarts = suite('a worker that has ended');

restarts(
  'is replaced at once, and after longer and longer pauses where it ends early again and again',
  () => {
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
  },
);

restarts('is not replaced when it was the first, and never listened', () => {
  assert.is(createRestartPolicy().pauseAfter(EARLY), null);
});

restarts('is given up when none has listened for many starts, but not while others serve', () => {
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

restarts('and all others have fewer connections together than the embedded server takes', () => {
  for (let workers = 1; workers <= 64; workers += 1) {
    const { poolSize, serverSize } = sizePools(workers);
    // A pool and the listener of each, the pool of a command beside them, and three that PostgreSQL keeps back.
    assert.ok(workers * (poolSize + 1) + 10 + 3 <= serverSize, `${workers} workers`);
    assert.ok(poolSize >= 4 && poolSize <= 10);
  }
});

restarts.run();
