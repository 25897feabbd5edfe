import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { type Em, kysely } from '../../src/db/kysely.ts';
import { createAudit, NO_ORIGIN, ofAddress } from '../../src/services/audit/audit.ts';
import { EVENT_TYPES } from '../../src/services/audit/event-types.ts';
import { maintainEvents, newestEventId, publishEvents } from '../../src/services/events/event-rows.ts';
import { userId } from '../support/access-views.ts';
import { fieldOf } from '../support/lists.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows } from '../support/rows.ts';
import { ACME, appSuite, EDSGER, GLOBEX, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { NOON } from '../support/time.ts';
import { FLEET, SALES } from '../support/usage.ts';

const events = appSuite('events.list');

/** The id of the last event. */
const lastId = async (app: TestApp): Promise<number> => {
  await publishEvents(app.orm.em.fork());
  return newestEventId(app.orm.em.fork());
};

events('tells what a request has changed, with its data', async ({ app }) => {
  const cursor = await lastId(app);
  await app.as(ACME).users.update({ email: GRACE, last_name: 'Murray', apps: [] });

  const [updated, apps, ...others] = await app.as(ACME).events.list({ cursor });

  assert.equal(others, []);
  assert.equal(
    { ...updated, id: 0, request_id: '' },
    {
      id: 0,
      type: 'user.updated',
      version: 1,
      timestamp: app.clock.now(),
      subject: GRACE,
      subject_type: 'user',
      subject_id: String(await userId(app, GRACE)),
      actor: ACME,
      actor_type: 'user',
      actor_id: await userId(app, ACME),
      clients: [1],
      data: { last_name: { from: null, to: null } },
      request_id: '',
    },
  );
  assert.is(apps?.type, 'user.apps_changed');
  assert.equal(apps?.data, { granted: [], revoked: [SALES] });
});

events('reaches admins of the client alone, and staff only where platforms act on it', async ({ app }) => {
  const cursor = await lastId(app);
  await app.as(GLOBEX).users.update({ email: EDSGER, first_name: 'E.' });
  await app.as(ACME).apps.clearCache({ app_id: SALES });

  const typesFor = async (reader: string) =>
    (await app.as(reader).events.list({ cursor })).map(({ type }) => type);

  assert.equal(await typesFor(ROOT), ['user.updated', 'app.cache_cleared']);
  assert.equal(await typesFor(GLOBEX), ['user.updated']);
  assert.equal(await typesFor(ACME), ['app.cache_cleared']);
  assert.equal(await typesFor(STAFF), ['app.cache_cleared']);
  await rejectsWith(app.as(GRACE).events.list({}), 'forbidden');
});

events('filters by types, client and time, and names the field of an unknown type', async ({ app }) => {
  const cursor = await lastId(app);
  await app.as(ROOT).users.update({ email: GRACE, first_name: 'G.' });
  await app.as(ROOT).users.update({ email: EDSGER, is_active: false });
  const middle = app.clock.now();
  app.clock.advance(1_000);
  await app.as(ROOT).users.update({ email: EDSGER, is_active: true });

  const { list } = app.as(ROOT).events;
  const types = async (filter: object) => fieldOf(await list({ cursor, ...filter }), 'type');
  assert.equal(await types({ types: 'user.updated,user.reactivated' }), ['user.updated', 'user.reactivated']);
  assert.equal(new Set(fieldOf(await list({ cursor, client: 2 }), 'subject')), new Set([EDSGER]));
  assert.equal(await types({ from: new Date(middle.getTime() + 1) }), ['user.reactivated']);
  const unknown = await rejectsWith(list({ types: 'user.updated,user.vanished' }), 'invalid-input');
  assert.equal(Object.keys(unknown.fields ?? {}), ['types.1']);
});

events('does not skip a transaction that began earlier and ends later than others', async ({ app }) => {
  const cursor = await lastId(app);
  const hasBegun = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const slow = app.orm.em.fork().transactional(async (tx) => {
    await addEntry(tx, 'slow');
    hasBegun.resolve();
    await mayEnd.promise;
  });
  await hasBegun.promise;
  await app.orm.em.fork().transactional((tx) => addEntry(tx, 'fast'));

  const first = await app.as(ROOT).events.list({ cursor });
  mayEnd.resolve();
  await slow;
  const second = await app.as(ROOT).events.list({ cursor: first.at(-1)?.id });

  assert.equal([fieldOf(first, 'subject'), fieldOf(second, 'subject')], [['fast'], ['slow']]);
});

const addEntry = (tx: Em, target: string) =>
  createAudit(NO_ORIGIN, { now: () => NOON }).record(tx, [
    { action: 'user.import', actor: null, target: ofAddress(target) },
  ]);

events('gives each of many readers every event once, and those of one app in order', async ({ app }) => {
  const cursor = await lastId(app);
  const apps = [SALES, FLEET];
  let isOver = false;
  const read = async () => {
    const seen: { id: number; subject_id: string | null; data: Record<string, unknown> }[] = [];
    for (let last = false; ; last = isOver) {
      const page = await app.as(ROOT).events.list({ cursor: seen.at(-1)?.id ?? cursor, limit: 7 });
      seen.push(...page);
      if (last && page.length === 0) return seen;
    }
  };
  const readers = [read(), read(), read()];
  await Promise.all(
    apps.flatMap((app_id) =>
      Array.from({ length: 15 }, (_, n) => app.as(ROOT).apps.update({ app_id, label: `Label ${n}` })),
    ),
  );
  isOver = true;
  const [first = [], ...others] = await Promise.all(readers);

  assert.is(new Set(first.map(({ id }) => id)).size, first.length);
  for (const other of others) assert.equal(other, first);
  for (const app_id of apps) {
    const labels = first
      .filter(({ subject_id }) => subject_id === app_id)
      .map(({ data }) => data.label as { from: string; to: string });
    for (const [index, { from }] of labels.entries()) if (index > 0) assert.is(from, labels[index - 1]?.to);
  }
});

events('lists an event of several clients of an admin once', async ({ app }) => {
  const cursor = await lastId(app);
  await addRows(app, 'memberships', { client_id: 2, user_id: await userId(app, ACME), is_admin: true });
  await app.orm.em.fork().transactional((tx) =>
    createAudit(NO_ORIGIN, app.clock).record(tx, [
      { action: 'user.import', actor: null, target: ofAddress('both'), clients: [1, 2] },
      { action: 'user.import', actor: null, target: ofAddress('second'), clients: [2] },
    ]),
  );

  const subjects = async (query: { types?: string; limit?: number }) =>
    fieldOf(await app.as(ACME).events.list({ cursor, ...query }), 'subject');

  assert.equal(await subjects({}), ['both', 'second']);
  assert.equal(await subjects({ types: 'user.imported,user.updated' }), ['both', 'second']);
  assert.equal(await subjects({ types: 'user.imported,user.updated', limit: 1 }), ['both']);
});

events('are deleted with the entries of the audit trail', async ({ app }) => {
  await app.as(ROOT).events.list({});
  await app.orm.em.fork().transactional(async (tx) => {
    await sql`select set_config('steward.audit_cutoff', '2100-01-01', true)`.execute(kysely(tx));
    await sql`delete from audit_entries where id < (select max(id) from audit_entries)`.execute(kysely(tx));
  });

  await maintainEvents(app.orm.em.fork());

  const { rows } = await sql`
    select entry_id from events where entry_id not in (select id from audit_entries) union all
    select event_id from event_clients where event_id not in (select id from events)`.execute(app.db());
  assert.equal(rows, []);
});

events('has one type for each action', () => {
  const types = EVENT_TYPES.map(({ type }) => type);

  assert.is(new Set(types).size, types.length);
  for (const type of types) assert.match(type, /^[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*$/);
});

events.run();
