import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/db/database.ts';
import { kysely } from '../../src/db/kysely.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { openWorker } from '../support/mails.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { suiteWith } from '../support/suite.ts';
import { createRunningClock, NOON, until } from '../support/time.ts';

const start = async (started: AsyncDisposableStack) => {
  const database = started.use(await startExternalDatabase());
  const made = await database.makeDatabase();
  await migrateDatabase(made.connection);
  // Through the link that also works after a restart of the server.
  const host = new URL(made.settings.DATABASE_URL ?? '').searchParams.get('host') ?? '';
  const connection = { ...made.connection, host };
  const orm = await openDatabase(connection);
  started.defer(() => orm.close(true));
  return { database, connection, orm, smtp: started.use(await startSmtpServer()) };
};
type Context = Awaited<ReturnType<typeof start>>;

const away = suiteWith('a mail worker without its database', start);

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

away.run();
