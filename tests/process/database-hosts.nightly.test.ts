import * as assert from 'uvu/assert';
import { parseDatabaseUrl } from '../../src/config/database-url.ts';
import { createClient } from '../../src/db/client.ts';
import { openDatabase } from '../../src/db/database.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { listenToDatabase } from '../../src/db/pg-listener.ts';
import { startSilentHost, startTcpDatabase, type TcpDatabase } from '../support/database-servers.ts';
import { suite } from '../support/suite.ts';
import { until } from '../support/time.ts';

/** The servers have different passwords. */
const TRUST = 'host all all all trust';
const CLOSED = 'localhost:1';

type Context = { standby: TcpDatabase; primary: TcpDatabase };

const hosts = suite<Context>('DATABASE_URL with several hosts');

hosts.before(async (context) => {
  context.standby = await startTcpDatabase({ access: TRUST, settings: { listen_addresses: '127.0.0.1' } });
  await context.standby.setReadOnly(true);
  context.primary = await startTcpDatabase({ access: TRUST });
});
hosts.after(async ({ standby, primary }) => {
  for (const database of [standby, primary]) await database[Symbol.asyncDispose]();
});

const connectionOf = ({ primary }: Context, names: string[], parameters: string) =>
  parseDatabaseUrl(primary.url(`sslmode=disable&${parameters}`, names.join(',')));

/** The port of the server that a new client is connected to. */
const portOf = async (context: Context, names: string[], parameters: string): Promise<number> => {
  const client = createClient(connectionOf(context, names, parameters), 'test');
  await client.connect();
  try {
    return Number((await client.query('show port')).rows[0]?.port);
  } finally {
    await client.end();
  }
};

for (const attributes of ['read-write', 'primary'])
  hosts(`${attributes}: passes over hosts that are down, and addresses that refuse`, async (context) => {
    const { primary } = context;
    const names = [CLOSED, `localhost:${primary.port}`];

    assert.is(await portOf(context, names, `target_session_attrs=${attributes}`), primary.port);
  });

hosts('any: accepts a host that is read-only', async (context) => {
  const { standby } = context;
  const names = [CLOSED, `localhost:${standby.port}`];

  for (const parameters of ['target_session_attrs=any', ''])
    assert.is(await portOf(context, names, parameters), standby.port);
});

hosts('read-write: the pool, migrations and notifications use the second host', async (context) => {
  const { standby, primary } = context;
  const names = [`127.0.0.1:${standby.port}`, `localhost:${primary.port}`];
  const connection = connectionOf(context, names, 'target_session_attrs=read-write');
  let heard = 0;

  await migrateDatabase(connection);
  const orm = await openDatabase(connection);
  const notifications = listenToDatabase({
    connection,
    fallback: '',
    channel: 'test',
    onHeard: () => {
      heard += 1;
    },
    warn: () => {},
  });
  await until('it listens', () => heard === 1);
  await orm.em.execute('notify test');
  await until('it hears', () => heard === 2);
  const [row] = await orm.em.execute('show port');
  await notifications.close();
  await orm.close(true);

  assert.is(Number(row?.port), primary.port);
});

hosts('read-write: does not wait for a host that never answers', async (context) => {
  const { standby, primary } = context;
  await using silent = await startSilentHost();
  const names = [`127.0.0.1:${silent.port}`, `127.0.0.1:${standby.port}`, `localhost:${primary.port}`];

  // The limit of the test runner is shorter than this timeout.
  const port = await portOf(context, names, 'target_session_attrs=read-write&connect_timeout=300');

  assert.is(port, primary.port);
  assert.is(silent.connections(), 1);
});

hosts('reports why each host cannot be used', async (context) => {
  const names = [`127.0.0.1:1`, `127.0.0.1:${context.standby.port}`];
  const failure = await portOf(context, names, 'target_session_attrs=read-write').then(String, String);

  assert.match(failure, '127.0.0.1:1: connection refused; ');
  assert.match(failure, `127.0.0.1:${context.standby.port}: the server is read-only`);
});

hosts('sends application_name and options', async (context) => {
  const names = [`localhost:${context.primary.port}`];
  const parameters = 'application_name=console&options=-c%20work_mem%3D7MB%20-c%20TimeZone%3DAsia/Tokyo';
  const orm = await openDatabase(connectionOf(context, names, parameters));
  const settings = ['application_name', 'work_mem', 'TimeZone'].map(
    (name) => `current_setting('${name}') as "${name}"`,
  );
  const [row] = await orm.em.execute(`select ${settings.join()}`);
  await orm.close(true);

  assert.equal({ ...row }, { application_name: 'console', work_mem: '7MB', TimeZone: 'UTC' });
});

hosts.run();
