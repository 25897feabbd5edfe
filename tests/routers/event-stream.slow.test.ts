import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { type AuditEvent, createAudit, NO_ORIGIN, ofAddress } from '../../src/services/audit/audit.ts';
import { newestEventId, publishEvents } from '../../src/services/events/event-rows.ts';
import { userId } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, rowsOf, setRows } from '../support/rows.ts';
import { ACME, appSuite, EDSGER, GLOBEX, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';

const stream = appSuite('events.stream');

type Input = { types?: string; client?: number; cursor?: number; lastEventId?: number };
type Event = Awaited<ReturnType<ReturnType<TestApp['as']>['events']['list']>>[number];

/** In-process, a subscription yields an id and the event. The type is that of clients. */
const eventOf = (value: unknown): Event => (value as [string, Event])[1];

/** Listens as a user, and keeps what arrives. */
const listen = async (app: TestApp, reader: string, input: Input = {}) => {
  const iterator = (await app.as(reader).events.stream(input))[Symbol.asyncIterator]();
  const listener = { events: [] as Event[], problem: undefined as unknown, subjects: (): string[] => [] };
  listener.subjects = () => listener.events.map(({ subject }) => subject);
  const collect = async () => {
    for (let next = await iterator.next(); !next.done; next = await iterator.next())
      listener.events.push(eventOf(next.value));
  };
  collect().catch((error: unknown) => {
    listener.problem = error;
  });
  return listener;
};

const record = (app: TestApp, ...events: Omit<AuditEvent, 'actor'>[]) =>
  app.orm.em.fork().transactional((tx) =>
    createAudit(NO_ORIGIN, app.clock).record(
      tx,
      events.map((event) => ({ actor: null, ...event }) as AuditEvent), // the type of one action
    ),
  );

const imported = (app: TestApp, target: string, ...clients: number[]) =>
  record(app, { action: 'user.import', target: ofAddress(target), clients });

const lastId = async (app: TestApp): Promise<number> => {
  await publishEvents(app.orm.em.fork());
  return newestEventId(app.orm.em.fork());
};

const has = (listener: { subjects: () => string[] }, subject: string) =>
  until(`an event about ${subject}`, () => listener.subjects().includes(subject));

/** Listens to events from now on, which it gets as they happen. */
const listenLive = async (app: TestApp, reader: string, client: number) => {
  const listener = await listen(app, reader, { cursor: await lastId(app) });
  await imported(app, 'begin', client);
  await has(listener, 'begin');
  return listener;
};

const setAdmin = async (app: TestApp, email: string, client_id: number, is_admin = true) => {
  const membership = { client_id, user_id: await userId(app, email) };
  if ((await rowsOf(app, 'memberships', membership)).length)
    await setRows(app, 'memberships', membership, { is_admin });
  else await addRows(app, 'memberships', { ...membership, is_admin });
};

/** All that visibility depends on. */
const KINDS: Omit<AuditEvent, 'actor'>[] = [[], [1], [2], [1, 2], [3], [1, 3]].flatMap((clients) => [
  { action: 'user.import', target: ofAddress('imported'), clients },
  { action: 'login.fail', target: ofAddress('failed'), clients },
  { action: 'app.clear-cache', target: ofAddress('cleared'), clients, details: { app_id: 'zylTKNVx' } },
  { action: 'user.erase', target: ofAddress('erased'), clients, details: { users: 1 } },
  {
    action: 'user.update',
    target: ofAddress('updated'),
    clients,
    details: { email: { from: 'a', to: 'b' } },
  },
]);

const FILTERS: Input[] = [
  {},
  { client: 1 },
  { client: 2 },
  { client: 3 },
  { types: 'login.failed,app.cache_cleared' },
  { types: 'user.updated,login.failed', client: 1 },
];

stream('shows each kind of person, with each filter, what the list shows them', async ({ app }) => {
  const [both, staffAdmin] = [EDSGER, GRACE];
  await setAdmin(app, both, 1);
  await setAdmin(app, both, 2);
  await setAdmin(app, staffAdmin, 2);
  await setRows(app, 'users', { email: staffAdmin }, { is_staff: true });
  const cursor = await lastId(app);
  const readers = [ROOT, STAFF, ACME, GLOBEX, both, staffAdmin];
  const cases = readers.flatMap((reader) => FILTERS.map((filter) => ({ reader, filter })));
  const listeners = await Promise.all(
    cases.map(({ reader, filter }) => listen(app, reader, { ...filter, cursor })),
  );
  const last = await listenLive(app, ROOT, 3);

  await record(app, ...KINDS);
  await imported(app, 'end', 3);
  await has(last, 'end');

  for (const [index, { reader, filter }] of cases.entries()) {
    const listed = await app.as(reader).events.list({ ...filter, cursor, limit: 1_000 });
    const { events } = listeners[index] ?? { events: [] };
    await until('all events', () => events.length >= listed.length).catch(() => {});
    assert.equal(events, listed, `${reader} ${JSON.stringify(filter)}`);
  }
  await setAdmin(app, both, 1, false);
});

stream('ends without another event when the role is taken', async ({ app }) => {
  const listener = await listenLive(app, GLOBEX, 2);
  let isTaken = false;
  const write = async () => {
    for (let n = 0; n < 100; n += 1) await imported(app, isTaken ? 'secret' : 'open', 2);
  };
  const writing = write();
  await has(listener, 'open');
  await setAdmin(app, GLOBEX, 2, false);
  isTaken = true;
  await writing;
  await imported(app, 'secret', 2);

  await until('the end', () => listener.problem !== undefined);
  await rejectsWith(Promise.reject(listener.problem), 'forbidden');
  assert.not.ok(listener.subjects().includes('secret'));
  await setAdmin(app, GLOBEX, 2);
});

stream('ends when the token is revoked, also if nothing happens', async ({ app }) => {
  const listener = await listenLive(app, GLOBEX, 2);

  await sql`delete from api_tokens where user_id = ${await userId(app, GLOBEX)}`.execute(app.db());

  await until('the end', () => listener.problem !== undefined);
  await app.renewToken(GLOBEX);
  await rejectsWith(Promise.reject(listener.problem), 'unauthenticated');
});

stream('narrows when a client is left, and widens with a new one', async ({ app }) => {
  await setAdmin(app, EDSGER, 1);
  await setAdmin(app, EDSGER, 2);
  const listener = await listenLive(app, EDSGER, 1);

  await setAdmin(app, EDSGER, 1, false);
  await imported(app, 'of 1, not seen', 1);
  await imported(app, 'of 2', 2);
  await has(listener, 'of 2');
  await setAdmin(app, EDSGER, 1);
  await imported(app, 'of 1', 1);
  await has(listener, 'of 1');

  assert.not.ok(listener.subjects().includes('of 1, not seen'));
});

stream('bounds what waits for a slow listener, which misses nothing', async ({ app }) => {
  const cursor = await lastId(app);
  const iterator = (await app.as(ROOT).events.stream({ cursor }))[Symbol.asyncIterator]();
  await imported(app, 'begin');
  await iterator.next();
  const events = (from: number) =>
    Array.from({ length: 700 }, (_, n) => {
      return { action: 'user.import' as const, target: ofAddress(`${from + n}`) };
    });
  const fast = await listenLive(app, ROOT, 3);
  for (const from of [0, 700, 1_400]) await record(app, ...events(from));
  await has(fast, '2099');

  for (let n = 0; n < 2_100; ) {
    const { subject } = eventOf((await iterator.next()).value);
    if (subject !== 'begin') assert.is(subject, String(n++));
  }
});

stream('misses nothing when its connection to the database is lost', async ({ app }) => {
  const listener = await listenLive(app, ACME, 1);
  const end = sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like '% notifications'`;

  await end.execute(app.db());
  await imported(app, 'during the outage', 1);
  await has(listener, 'during the outage');
  await end.execute(app.db());
  await imported(app, 'after it', 1);

  await has(listener, 'after it');
});

stream('ends at a shutdown, so that its listeners connect again', async ({ app }) => {
  const listener = await listenLive(app, ACME, 1);

  app.announce();

  await until('the end', () => listener.problem !== undefined);
  assert.is((listener.problem as Error).name, 'AbortError');
});

stream.run();
