import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import * as assert from 'uvu/assert';
import type { Connection } from '../../src/config/connection.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { PGBOUNCER } from '../support/environment.ts';
import { makeScratchFolder } from '../support/files.ts';
import { type Service, type Settings, startService } from '../support/service-process.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { suite } from '../support/suite.ts';
import { freePort } from '../support/tcp.ts';
import { administer, SERVER_VARIABLE } from '../support/test-server.ts';
import { until } from '../support/time.ts';

const IMPATIENT = { connectionTimeoutMillis: 2_000 };

/** Debian's PgBouncer in transaction mode, with so few server connections that clients must share them. */
const startPgBouncer = async ({ host, port: serverPort, user, password }: Connection) => {
  const folder = await makeScratchFolder();
  const port = await freePort();
  await writeFile(folder.join('users.txt'), `"${user}" "${password}"\n`);
  await writeFile(
    folder.join('pgbouncer.ini'),
    `[databases]
* = host=${host} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${folder.join('users.txt')}
pool_mode = transaction
default_pool_size = 3
max_client_conn = 500
ignore_startup_parameters = options
`,
  );
  // PgBouncer refuses to run as root, and only the owner of the socket may connect to the server.
  const { uid, gid } = await stat(host);
  if (process.getuid?.() === 0)
    for (const file of ['.', 'users.txt', 'pgbouncer.ini']) await chown(folder.join(file), uid, gid);
  const child = spawn(PGBOUNCER, ['-q', folder.join('pgbouncer.ini')], {
    ...(process.getuid?.() === 0 && { uid, gid }),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const ended = once(child, 'exit');
  const answers = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`PgBouncer has ended:\n${log}`);
    const client = new Client({
      host: '127.0.0.1',
      port,
      user,
      password,
      database: 'postgres',
      ...IMPATIENT,
    });
    client.on('error', () => {});
    try {
      await client.connect();
      return true;
    } catch {
      return false;
    } finally {
      await client.end();
    }
  };
  await until('PgBouncer answers', answers);

  return {
    port,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      child.kill('SIGKILL');
      await ended;
      await folder[Symbol.asyncDispose]();
    },
  };
};

const ADMIN = { ADMIN_EMAIL: 'chief@example.test', ADMIN_PASSWORD: 'correct horse battery' };
/** Allows for a busy machine. */
const PATIENCE_MS = 60_000;
/** Suites that together call every operation, repeat requests, and write usage. */
const WALK = ['tests/http/openapi/coverage', 'tests/http/idempotency', 'tests/routers/usage-recording'];

type Context = {
  database: Awaited<ReturnType<typeof startExternalDatabase>>;
  pooler: Awaited<ReturnType<typeof startPgBouncer>>;
};
const pooled = suite<Context>('a service behind PgBouncer in transaction mode');

pooled.before(async (context) => {
  context.database = await startExternalDatabase();
  const { connection } = await context.database.makeDatabase();
  // Sessions do not get the time zone that the service asks for, and must not need it.
  await administer(connection, `alter role ${connection.user} set timezone = 'America/Los_Angeles'`);
  context.pooler = await startPgBouncer(connection);
});
pooled.after(async ({ database, pooler }) => {
  await pooler[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const makeDatabase = async ({ database, pooler }: Context) => {
  const { settings, connection } = await database.makeDatabase();
  const { user, password, database: name } = connection;
  const DATABASE_URL = `postgres://${user}:${password}@127.0.0.1:${pooler.port}/${name}`;
  return { connection, settings: { ...settings, DATABASE_URL, PREPARED_STATEMENTS: '0' } as Settings };
};

const locksIn = async (client: Client): Promise<number> => {
  const { rows } = await client.query(`
    select count(*)::int as count from pg_locks
    where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`);
  return rows[0].count;
};

pooled('starts with three instances at once, which leave no locks', async (context) => {
  await using folder = await makeScratchFolder();
  await using smtp = { ...(await startSmtpServer()), [Symbol.asyncDispose]: async () => {} };
  const { settings, connection } = await makeDatabase(context);
  const start = () =>
    startService('serve', { ...settings, ...ADMIN, DATA_DIR: folder.path, SMTP_URL: smtp.url });
  await using stack = new AsyncDisposableStack();
  const services = await Promise.all([start(), start(), start()]);
  for (const service of services) stack.use(service);
  const [first] = services as [Service, ...Service[]];
  const observer = new Client(connection);
  observer.on('error', () => {}); // a failed test stops the server first
  await observer.connect();

  const { token } = await first.logIn(ADMIN.ADMIN_EMAIL, ADMIN.ADMIN_PASSWORD);
  const { rows } = await observer.query(`select count(*)::int as count from users`);
  assert.is(rows[0].count, 1);
  // Background work holds some for a moment.
  await until('no lock is left', async () => (await locksIn(observer)) === 0, PATIENCE_MS);
  stack.use(await start());

  // After the first poll of the mail worker, which would find the mail without a notification.
  await until(
    'the pooler was noticed',
    () => services.every(({ output }) => output.stdout.includes('New mail is found by polling')),
    PATIENCE_MS,
  );
  const body = { email: 'guest@guest.test', client: 1, initial_apps: [] };
  const invited = await first.send('POST /jb/users/invitations/', { token, body });
  assert.is(invited.status, 200, invited.text);
  await until('the mail is sent', () => smtp.recipients().includes('guest@guest.test'), PATIENCE_MS);
  await observer.end();
  await smtp.close();

  const { stdout } = first.output;
  assert.is(stdout.split('New mail is found by polling').length, 2, 'it is logged once');
  for (const { output } of services) assert.is(output.stderr, '');
});

pooled('responds to every operation as without PgBouncer', async ({ database, pooler }) => {
  const { connection } = await database.makeDatabase();
  const { host, user, password } = connection;
  const { [SERVER_VARIABLE]: _own, ...env } = process.env;
  const child = spawn(process.execPath, [join('tests', 'run.ts'), ...WALK], {
    cwd: join(import.meta.dirname, '../..'),
    env: {
      ...env,
      TEST_DATABASE_URL: `postgres://${user}:${password}@localhost/postgres?host=${host}`,
      TEST_POOLER_PORT: String(pooler.port),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = await once(child, 'close');

  assert.is(code, 0, output);
});

pooled.run();
