import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openTempDir } from '../../src/adapters/embedded-postgres/account.ts';
import {
  openLogFile,
  spawnServer,
  stopServer,
  waitUntilReady,
} from '../../src/adapters/embedded-postgres/server.ts';
import type { Connection } from '../../src/config/connection.ts';
import { PG_DUMP, POSTGRES_FOLDER } from '../failover/programs.ts';
import { makeScratchFolder, unzip } from '../support/files.ts';
import { runCommand, type Service, startService } from '../support/service-process.ts';

/** Debian's. PostgreSQL refuses to run as root, and `initdb` as a user without a name. */
const NOBODY = { uid: 65_534, gid: 65_534 };
const ROLE = 'steward';
const INITDB = ['-U', ROLE, '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'];

/** Starts a new server of Debian's PostgreSQL, which `pg_dump` of the same package can read. Disposing it removes it. */
const startDebianServer = async (): Promise<AsyncDisposable & { connection: Connection }> => {
  await using closing = new AsyncDisposableStack();
  const { path: logs } = closing.use(await openTempDir());
  const account = process.getuid?.() === 0 ? NOBODY : undefined;
  const { path: folder } = closing.use(await openTempDir(account));
  const clusterDir = join(folder, 'cluster');
  const programs = {
    initdb: join(POSTGRES_FOLDER, 'initdb'),
    postgres: join(POSTGRES_FOLDER, 'postgres'),
    major: '',
  };
  await promisify(execFile)(programs.initdb, ['-D', clusterDir, ...INITDB], { cwd: folder, ...account });
  const log = await openLogFile(logs);
  closing.defer(log.close);
  const settings = { fsync: 'off' };
  const server = spawnServer({ clusterDir, binaries: programs, account, log, socketDir: folder, settings });
  closing.defer(() => stopServer(server));
  const connection = { host: folder, port: 5432, user: ROLE, password: '', database: 'postgres' };
  await waitUntilReady(server, connection, log);
  const open = closing.move();
  return { connection, [Symbol.asyncDispose]: () => open.disposeAsync() };
};

const dumping = suite('pg_dump after an erasure');

const ADA = 'ada@acme.test';
const PASSWORD = 'steward-demo-1';
const NAMES = { first_name: 'Zephyrine', last_name: 'Quillfeather' };
const MENTION = `Ask Zephyrine Quillfeather <${ADA}>.`;
const ENTRIES = 10_000;

/** The person's traces in plain text, and as hexadecimal and base64 digits of binary data. */
const TRACES = [ADA, 'zephyrine', 'quillfeather', 'lovelace'];
const ENCODED = ['hex', 'base64'] as const;

const dump = async ({ host, user, database }: Connection): Promise<string> => {
  const run = promisify(execFile)(PG_DUMP, ['--host', host, '--username', user, '--no-password', database], {
    maxBuffer: 1024 ** 3,
  });
  return (await run).stdout;
};

const tracesIn = (text: string): string[] => {
  const lowered = text.toLowerCase();
  return [
    ...TRACES.filter((trace) => lowered.includes(trace)),
    ...ENCODED.map((encoding) => Buffer.from(ADA).toString(encoding).slice(0, -4)).filter((trace) =>
      text.includes(trace),
    ),
  ];
};

/** A person who logs in, works, invites, is changed and is mentioned, with 10,000 entries in the usage log. */
const addData = async (service: Service): Promise<void> => {
  const { token } = await service.logIn('root@steward.test', PASSWORD);
  const send = async (line: string, body: unknown, by = token) => {
    const answer = await service.send(line, { token: by, body });
    assert.ok(answer.status >= 200 && answer.status < 300, `${line}: ${answer.status} ${answer.text}`);
    return answer;
  };
  await send(`PATCH /jb/users/${ADA}/`, { ...NAMES, extra: { nick: 'Zephyrine' } });
  await send('PATCH /jb/users/grace@acme.test/', { extra: { manager: ADA, note: MENTION } });
  const { token: own } = await service.logIn(ADA, PASSWORD);
  const { json: apps } = await service.send('GET /jb/apps/', { token: own });
  const [app] = apps;
  await send(`PATCH /jb/apps/${app.id}/`, { help_html: MENTION });
  await send('POST /jb/users/invitations/', [{ email: 'guest@guest.test', client: 1, extra: { by: ADA } }]);
  const entry = { email: ADA, full_name: 'Zephyrine Quillfeather', action: 'STACK_ACCESS' };
  const extra = { stack: ADA, request: { META: { REMOTE_ADDR: '192.0.2.1', QUERY_STRING: `by=${ADA}` } } };
  const own_entries = Array.from({ length: ENTRIES }, (_, n) => ({
    ...entry,
    id: `${ADA}/${n}`,
    action_description: MENTION,
    extra,
    timestamp: new Date(Date.now() - n * 60_000),
  }));
  for (let at = 0; at < ENTRIES; at += 1_000)
    await send(`POST /jb/apps/${app.id}/usage/`, own_entries.slice(at, at + 1_000));
  await send(`POST /jb/apps/${app.id}/usage/`, [
    { email: 'grace@acme.test', action: 'OPEN', extra: { to: MENTION } },
  ]);
};

dumping('has neither the address nor the name of a person with 10,000 entries', async () => {
  await using folder = await makeScratchFolder();
  await using server = await startDebianServer();
  const { connection } = server;
  const settings = {
    DATABASE_URL: `postgres://${connection.user}@localhost/${connection.database}?host=${connection.host}`,
    SECRET_KEY: 'a secret key that only tests ever use',
  };
  await using service = await startService('demo', settings);
  await addData(service);
  const before = await dump(connection);

  const exported = await runCommand(['users', 'export', ADA, folder.join('ada.zip')], settings);
  const erased = await runCommand(['users', 'erase', ADA, '--confirm', ADA], settings);
  const files = await unzip(await readFile(folder.join('ada.zip')));
  const usage: { email: string }[] = JSON.parse(files.get('usage.json') ?? '[]');
  const after = await dump(connection);

  assert.equal([exported.code, erased.code], [0, 0], exported.stderr + erased.stderr);
  assert.ok(usage.length >= ENTRIES, `${usage.length} entries are exported`);
  assert.equal(
    TRACES.filter((trace) => !tracesIn(before).includes(trace)),
    [],
  );
  assert.equal(tracesIn(after), []);
  assert.ok(
    after.split(/erased-[0-9a-f]{16}@erased\.invalid/).length > ENTRIES,
    'the entries are still there',
  );
});

dumping.run();
