import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sizePools } from '../../src/server/database-host.ts';

const pools = suite('pools of workers');

pools('together have fewer connections than the embedded server accepts', () => {
  for (let workers = 1; workers <= 64; workers += 1) {
    const { poolSize, serverSize } = sizePools(workers);
    // The pool and listener of each worker, the pool of one command, and three that PostgreSQL reserves.
    assert.ok(workers * (poolSize + 1) + 10 + 3 <= serverSize, `${workers} workers`);
    assert.ok(poolSize >= 4 && poolSize <= 10);
  }
});

pools.run();
