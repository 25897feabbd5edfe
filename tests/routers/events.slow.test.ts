import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { newestEventId, publishEvents } from '../../src/services/events/event-rows.ts';
import { type EventFilter, visibleEvents } from '../../src/services/events/events.ts';
import { ACME, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';

const events = appSuite('events.list');

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
  await publishEvents(app.orm.em.fork());
  const cursor = await newestEventId(app.orm.em.fork());
  await sql`
    with added as (insert into audit_entries (occurred_at, action, client_ids)
      select ${app.clock.now()}::timestamptz, 'user.update', '{2}' from generate_series(1, 20000) returning id)
    insert into unpublished_events select id from added`.execute(app.db());
  await publishEvents(app.orm.em.fork());

  for (const [reader, filter] of [
    [ACME, {}],
    [ACME, { types: ['user.updated', 'user.deactivated'] }],
    [GLOBEX, { types: ['user.deactivated', 'group.created'] }],
    [ROOT, { client: 1 }],
  ] as const) {
    const { rows, pages } = await pagesRead(app, reader, { cursor, ...filter });
    assert.is(rows, 0);
    assert.ok(pages <= 20, `${pages} pages`);
  }
  const busy = await pagesRead(app, GLOBEX, { cursor });
  assert.is(busy.rows, 100);
  assert.ok(busy.pages <= 1_000, `${busy.pages} pages`);
});

events.run();
