import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { acquireInstanceLock } from '../../src/adapters/embedded-postgres/instance-lock.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Connection } from '../../src/config/connection.ts';
import { type DatabaseHost, withDatabaseHost } from '../../src/server/database-host.ts';
import { startEmbeddedOwner } from '../support/database-servers.ts';
import { makeScratchFolder } from '../support/files.ts';
import { suiteWith } from '../support/suite.ts';
import { queryOnce } from '../support/test-server.ts';
import { until } from '../support/time.ts';

const LOOKED = `select from pg_stat_activity
  where pid <> pg_backend_pid() and state = 'idle' and query like '%pg_stat_activity%'`;

const isFound = async (connection: Connection, sql: string): Promise<boolean> =>
  (await queryOnce(connection, sql)).length > 0;

/** Connects, and returns the socket folder, which identifies the server. */
const useDatabase = async ({ connection }: DatabaseHost): Promise<string> => {
  assert.ok(await isFound(connection, 'select 1'));
  return connection.host;
};

const host = suiteWith('withDatabaseHost', async (started) => {
  const folder = started.use(await makeScratchFolder());
  return { dataDir: folder.join('data') };
});

host('waits for a starting service, and leaves it running', async ({ dataDir }) => {
  const config = readConfig({ DATA_DIR: dataDir });
  const ready = startEmbeddedOwner(dataDir);
  await until('the service has begun', () => existsSync(`${dataDir}/instance.sock`));

  const used = await withDatabaseHost(config, useDatabase);
  const { owner, connection } = await ready;
  const usedAgain = await withDatabaseHost(config, useDatabase);
  owner.kill('SIGTERM');
  await once(owner, 'exit');

  assert.is(used, connection.host);
  assert.is(usedAgain, used);
});

host('starts the server after the service has stopped', async ({ dataDir }) => {
  const lock = await acquireInstanceLock(dataDir);

  const using = withDatabaseHost(readConfig({ DATA_DIR: dataDir }), useDatabase);
  await lock.release();

  assert.ok(await using);
});

host('starts the server after the service was killed', async ({ dataDir }) => {
  const { owner, connection } = await startEmbeddedOwner(dataDir);
  owner.kill('SIGKILL');

  const used = await withDatabaseHost(readConfig({ DATA_DIR: dataDir }), useDatabase);

  assert.is.not(used, connection.host);
});

host('does not stop the server while another command uses it', async ({ dataDir }) => {
  const config = readConfig({ DATA_DIR: dataDir });
  const order: string[] = [];
  const hasJoined = Promise.withResolvers<void>();

  let second: Promise<unknown> | undefined;
  const first = withDatabaseHost(config, async () => {
    second = withDatabaseHost(config, async ({ connection }) => {
      hasJoined.resolve();
      await until('the first has looked for guests', () => isFound(connection, LOOKED));
      order.push('second');
    });
    await hasJoined.promise;
  });
  await first;
  order.push('first');
  await second;

  assert.equal(order, ['second', 'first']);
});

host('reports a data directory that stays locked without a server', async ({ dataDir }) => {
  await mkdir(dataDir, { recursive: true });
  const lock = await acquireInstanceLock(dataDir);

  const [outcome] = await Promise.allSettled([
    withDatabaseHost(readConfig({ DATA_DIR: dataDir }), useDatabase, 100),
  ]);
  await lock.release();

  assert.is(outcome.status === 'rejected' && outcome.reason.name, 'DataDirInUse');
});

host.run();
