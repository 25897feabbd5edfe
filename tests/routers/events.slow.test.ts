import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { publishEvents } from '../../src/services/events/event-rows.ts';
import { type EventFilter, visibleEvents } from '../../src/services/events/events.ts';
import { ACME, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';

const events = appSuite('events.list');

/** The id of the last event. */
const lastId = async (app: TestApp): Promise<number> => {
  await publishEvents(app.orm.em.fork());
  const row = await app
    .db()
    .selectFrom('events')
    .select(({ fn }) => fn.max('id').as('id'))
    .executeTakeFirst();
  return row?.id ?? 0;
};

/** How many pages of the database a list reads. The planner has no statistics of the tables. */
const pagesRead = async (app: TestApp, reader: string, filter: Omit<EventFilter, 'limit'>) => {
  const actor = await app.contextOf(reader).findActor();
  assert.ok(actor);
  const query = visibleEvents(app.orm.em.fork(), actor, { ...filter, limit: 100 });
  const [plan] = await query.explain('json', sql`analyze, buffers`);
  const read = plan?.['QUERY PLAN'][0].Plan;
  return { rows: read['Actual Rows'], pages: read['Shared Hit Blocks'] + read['Shared Read Blocks'] };
};

events('reads no more than it returns, of clients and types with few events', async ({ app }) => {
  const cursor = await lastId(app);
  await sql`
    with added as (insert into audit_entries (occurred_at, action, client_ids)
      select ${app.clock.now()}::timestamptz, 'user.update', '{2}' from generate_series(1, 20000) returning id)
    insert into unpublished_events select id from added`.execute(app.db());
  await publishEvents(app.orm.em.fork());

  const quiet = await pagesRead(app, ACME, { cursor });
  const ofTypes = await pagesRead(app, ACME, { cursor, types: ['user.updated', 'user.deactivated'] });
  const absentType = await pagesRead(app, GLOBEX, { cursor, types: ['user.deactivated', 'group.created'] });
  const ofClient = await pagesRead(app, ROOT, { cursor, client: 1 });
  const busy = await pagesRead(app, GLOBEX, { cursor });

  for (const { rows, pages } of [quiet, ofTypes, absentType, ofClient]) {
    assert.is(rows, 0);
    assert.ok(pages <= 20, `${pages} pages`);
  }
  assert.is(busy.rows, 100);
  assert.ok(busy.pages <= 1_000, `${busy.pages} pages`);
});

events.run();
