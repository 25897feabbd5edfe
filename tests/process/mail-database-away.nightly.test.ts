import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import * as assert from 'uvu/assert';
import type { Connection } from '../../src/config/connection.ts';
import { type Orm, openDatabase } from '../../src/db/database.ts';
import { kysely } from '../../src/db/kysely.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { listenToDatabase, type Notifications } from '../../src/db/pg-listener.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { openWorker } from '../support/mails.ts';
import { startSmtpServer, type TestSmtpServer } from '../support/smtp-server.ts';
import { suite } from '../support/suite.ts';
import { createRunningClock, NOON, until } from '../support/time.ts';

type Context = {
  database: Awaited<ReturnType<typeof startExternalDatabase>>;
  connection: Connection;
  orm: Orm;
  smtp: TestSmtpServer;
};

const away = suite<Context>('a mail worker without its database');

away.before(async (context) => {
  context.database = await startExternalDatabase();
  const { settings, connection } = await context.database.makeDatabase();
  await migrateDatabase(connection);
  // Through the link that also works after a restart of the server.
  const host = new URL(settings.DATABASE_URL ?? '').searchParams.get('host') ?? '';
  context.connection = { ...connection, host };
  context.orm = await openDatabase(context.connection);
  context.smtp = await startSmtpServer();
});
away.after(async ({ database, orm, smtp }) => {
  await smtp.close();
  await orm.close(true);
  await database[Symbol.asyncDispose]();
});

/** A mail to a user, which needs no other rows. */
const oweMail = async ({ orm }: Context, email: string): Promise<void> => {
  const now = NOON;
  const db = kysely(orm.em.fork());
  const person = { email, handle: email, profile_color: 'aaaaaa', date_joined: now, last_password_set: now };
  await db.insertInto('users').values(person).execute();
  await db
    .insertInto('outbox_mails')
    .values({ kind: 'password-reset', recipient: email, created_at: now, next_attempt_at: now })
    .execute();
};

const isSent = async ({ orm }: Context, email: string): Promise<boolean> => {
  const [mail] = await kysely(orm.em.fork())
    .selectFrom('outbox_mails')
    .select('sent_at')
    .where('recipient', '=', email)
    .execute();
  return mail?.sent_at != null;
};

away('warns once, continues when the database is back, and receives notifications again', async (context) => {
  const { database, orm, smtp, connection } = context;
  const log: string[] = [];
  const pollMs = 300_000;
  const settings = { smtpUrl: smtp.url, log, retryMs: 50, pollMs };
  const worker = openWorker({ em: orm.em, clock: createRunningClock(), connection }, settings);
  worker.start();
  await oweMail(context, 'first@guest.test');
  await until('the first is sent', () => isSent(context, 'first@guest.test'));

  await database.stop();
  await until('it has noticed', () => log.some((line) => line.includes('do not arrive')));
  await database.start();
  await until('it listens again', async () => {
    const rows = await orm.em
      .fork()
      .execute(`select 1 from pg_locks where locktype = 'advisory' and mode = 'ShareLock'`)
      .catch(() => []);
    return rows.length > 0;
  });
  await oweMail(context, 'second@guest.test');
  await until('the second is sent', () => isSent(context, 'second@guest.test'), pollMs / 2);
  await worker.stop();

  assert.ok(log.filter((line) => line.includes('do not arrive')).length === 1, log.join(''));
  assert.ok(log.filter((line) => line.includes('cannot work with')).length <= 1, log.join(''));
  assert.equal(smtp.recipients(), ['first@guest.test', 'second@guest.test']);
});

away('records mails that were sent during the outage, and does not send them again', async (context) => {
  const { database, orm, smtp, connection } = context;
  smtp.taken.length = 0;
  const worker = openWorker(
    { em: orm.em, clock: createRunningClock(), connection },
    { smtpUrl: smtp.url, retryMs: 50 },
  );
  const stopped: Promise<void>[] = [];
  smtp.faults.message = () => {
    // The SMTP server responds while the result cannot be recorded.
    stopped.push(database.stop());
    return undefined;
  };
  await oweMail(context, 'third@guest.test');
  worker.start();
  await until('the server has it', () => smtp.taken.length === 1);
  delete smtp.faults.message;
  await Promise.all(stopped);
  await database.start();

  await until('it is recorded', () => isSent(context, 'third@guest.test').catch(() => false));
  await worker.stop();

  assert.equal(smtp.recipients(), ['third@guest.test']);
});

type Peer = { port: number; sockets: Socket[]; close: () => void };

/** A server that accepts connections but is no database. */
const startPeer = async (onConnection: (socket: Socket) => void): Promise<Peer> => {
  const sockets: Socket[] = [];
  const peer = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  await once(peer, 'listening');
  const bound = peer.address();
  const close = () => {
    for (const socket of sockets) socket.destroy();
    peer.close();
  };
  return { port: bound !== null && typeof bound === 'object' ? bound.port : 0, sockets, close };
};

const listenTo = (port: number, warnings: string[]): Notifications =>
  listenToDatabase({
    // The timeout is longer than the tests.
    connection: {
      host: '127.0.0.1',
      port,
      user: 'x',
      password: 'x',
      database: 'x',
      connectTimeoutMs: 300_000,
    },
    fallback: '',
    channel: 'x',
    onHeard: () => assert.unreachable(),
    warn: (line) => warnings.push(line),
    retryMs: 10,
  });

away('warns once while it repeatedly tries to listen for notifications', async () => {
  const warnings: string[] = [];
  const hangingUp = await startPeer((socket) => socket.destroy());
  const listening = listenTo(hangingUp.port, warnings);

  await until('it has tried often', () => hangingUp.sockets.length > 5);
  await listening.close();
  hangingUp.close();

  assert.is(warnings.length, 1);
});

away('stops listening, even if the server does not respond', async () => {
  const silent = await startPeer(() => {});
  const listening = listenTo(silent.port, []);
  await until('it has connected', () => silent.sockets.length > 0);

  await listening.close();
  silent.close();
});

away.run();
