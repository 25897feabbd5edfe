import { once } from 'node:events';
import { chown, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import * as assert from 'uvu/assert';
import {
  attachToEmbeddedPostgres,
  type EmbeddedPostgres,
  startEmbeddedPostgres,
  waitForAttached,
} from '../../src/adapters/embedded-postgres/index.ts';
import { startEmbeddedOwner } from '../support/database-servers.ts';
import { makeScratchFolder } from '../support/files.ts';
import { suite } from '../support/suite.ts';
import { queryOnce } from '../support/test-server.ts';
import { until } from '../support/time.ts';

const isRoot = process.getuid?.() === 0;

const LOOKED = `select from pg_stat_activity
  where pid <> pg_backend_pid() and state = 'idle' and query like '%pg_stat_activity%'`;

type Context = { folder: Awaited<ReturnType<typeof makeScratchFolder>>; dataDir: string };

const joining = suite<Context>('attachToEmbeddedPostgres');

joining.before(async (context) => {
  context.folder = await makeScratchFolder();
  context.dataDir = context.folder.join('data');
});
joining.after(({ folder }) => folder[Symbol.asyncDispose]());

joining('finds no server in a new data directory', async ({ dataDir }) => {
  assert.is(await attachToEmbeddedPostgres(dataDir), null);
});

joining('connects to the server of another process, which keeps running afterwards', async ({ dataDir }) => {
  const { connection, stop } = await startEmbeddedPostgres({ dataDir });

  const joined = await attachToEmbeddedPostgres(dataDir);
  await joined?.detach();
  const rows = await queryOnce(connection, 'select 1');
  await stop();

  assert.equal(joined?.connection, connection);
  assert.is(rows.length, 1);
});

joining('finds no server after the owner has stopped', async ({ dataDir }) => {
  assert.is(await attachToEmbeddedPostgres(dataDir), null);
});

joining(
  'finds no server by the lock file of a killed one, even if its process id is in use again',
  async ({ dataDir }) => {
    const file = join(dataDir, 'postgres', 'postmaster.pid');
    const { owner } = await startEmbeddedOwner(dataDir);
    const [, ...lines] = (await readFile(file, 'utf8')).split('\n');
    owner.kill('SIGTERM');
    await once(owner, 'exit');
    // The lock file that a killed server leaves, with the id of a running process.
    await writeFile(file, [process.pid, ...lines].join('\n'));

    assert.is(await attachToEmbeddedPostgres(dataDir), null);
  },
);

joining('does not connect to a server in a folder of another user', async ({ dataDir }) => {
  const { connection, stop } = await startEmbeddedPostgres({ dataDir });
  // Only root can change the owner of a folder, so that other users skip this test.
  if (isRoot) await chown(connection.host, 65533, 65533);

  const joined = await attachToEmbeddedPostgres(dataDir);
  await joined?.detach();
  await stop();

  assert.is(joined === null, isRoot);
});

joining.run();

const guests = suite<Context & { server: EmbeddedPostgres }>('waitForAttached');

guests.before(async (context) => {
  context.folder = await makeScratchFolder();
  context.dataDir = context.folder.join('data');
  context.server = await startEmbeddedPostgres({ dataDir: context.dataDir });
});
guests.after(async ({ folder, server }) => {
  await server.stop();
  await folder[Symbol.asyncDispose]();
});

guests('waits for attached commands only', async ({ dataDir, server }) => {
  const own = new Client(server.connection);
  await own.connect();
  const joined = await attachToEmbeddedPostgres(dataDir);
  const order: string[] = [];

  const waited = waitForAttached(server.connection).then(() => order.push('all gone'));
  await until('it has looked for guests', async () => {
    return (await queryOnce(server.connection, LOOKED)).length > 0;
  });
  order.push('leaves');
  await joined?.detach();
  await waited;
  await own.end();

  assert.equal(order, ['leaves', 'all gone']);
});

guests('does not wait for the clients of a server that has ended', async ({ server }) => {
  await server.stop();

  await waitForAttached(server.connection);
});

guests.run();
