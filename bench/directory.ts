import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { reportFailure } from '../src/cli/failures.ts';
import { newNamedToken } from '../src/lib/ids.ts';
import { tokenDigest } from '../src/services/auth/credentials.ts';
import { ADD_DIRECTORY, COUNTS, type Cycle, createCall, runCycle } from './directory-cycle.ts';
import { openDatabase, parseCount, startSteward, stopProcess } from './environment.ts';
import { measureCosts } from './processes.ts';

const CHECKOUT = join(import.meta.dirname, '..');

const run = async (cycle: Cycle): Promise<void> => {
  await using cleanup = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'steward-bench-'));
  cleanup.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }));
  const { client, postmaster, settings } = await openDatabase(dataDir, cleanup);
  const { child, pid, address } = await startSteward(CHECKOUT, dataDir, {
    ...settings,
    RATE_LIMIT_PER_MINUTE: '0',
  });
  cleanup.defer(() => stopProcess(child));
  const agent = new Agent({ keepAlive: true });
  cleanup.defer(() => agent.destroy());
  const token = newNamedToken();
  const { rows } = await client.query(ADD_DIRECTORY, [tokenDigest(token)]);
  const call = createCall({ addressOf: () => `${address}/scim/v2/${rows[0].id}`, token, agent });
  const measure = async (name: string): Promise<object> => {
    const startedAt = performance.now();
    const { costs } = await measureCosts(pid, postmaster, () => runCycle(call, cycle));
    const seconds = (performance.now() - startedAt) / 1000;
    const counts = await client.query(COUNTS);
    return {
      '': name,
      seconds: Number(seconds.toFixed(1)),
      'CPU server': Math.round(costs.serverSeconds),
      'CPU PostgreSQL': Math.round(costs.postgresSeconds),
      ...counts.rows[0],
    };
  };

  console.table([await measure('from empty'), await measure('again, without a change')]);
};

await new Command('bench:directory')
  .description('Measure how long a directory takes to provision its people and groups (SCIM)')
  .option('--people <n>', 'people', parseCount, 10_000)
  .option('--groups <n>', 'groups', parseCount, 200)
  .option('--width <n>', 'connections', parseCount, 8)
  .action(run)
  .parseAsync()
  .catch(reportFailure);
