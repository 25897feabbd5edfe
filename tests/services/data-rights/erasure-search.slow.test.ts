import { sql } from 'kysely';
import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { createAudit, NO_ORIGIN } from '../../../src/services/audit/audit.ts';
import { eraseAccount, lockPerson } from '../../../src/services/data-rights/erase-account.ts';
import { NO_DIGEST } from '../../../src/services/data-rights/erasure-keys.ts';
import { finishErasures } from '../../../src/services/data-rights/erasure-work.ts';
import { rowsWith } from '../../support/person.ts';
import { ADA, appSuite, EDSGER, GRACE, IDLE, type TestApp } from '../../support/test-app.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import { administer } from '../../support/test-server.ts';
import { until } from '../../support/time.ts';

/** Only ends what hangs. */
const PATIENCE_MS = 60_000;

const search = appSuite('search of an erasure');

/** Replaces the account only. @returns a function that does the next step of the rest, and returns whether it was the last */
const beginErasure = async (app: TestApp, email: string) => {
  const audit = createAudit(NO_ORIGIN, app.clock);
  const pseudonym = await app.orm.em.fork().transactional(async (tx) => {
    const person = await lockPerson(tx, null, email);
    return eraseAccount({ tx, now: app.clock.now(), audit, addressDigest: NO_DIGEST }, null, person);
  });
  return (signal?: AbortSignal) => finishErasures(app.orm.em.fork(), pseudonym, app.clock, signal);
};

/** Fills 2,250 pages with four rows each, which leave no room for another version of one. */
const fillPackages = async (app: TestApp, fetchedBy: string): Promise<void> => {
  await sql`truncate fetched_packages cascade`.execute(app.db());
  await sql`insert into fetched_packages (slug, version, sha256, size_bytes, manifest, fetched_at, fetched_by)
    select 'filler', '1.0.' || n, '0', 1, (select json_build_object('text', string_agg(md5(n || '/' || part), ''))
      from generate_series(1, 57) part), ${app.clock.now()}::timestamptz, case when n = 8900 then ${fetchedBy} else '' end
      from generate_series(1, 9000) n`.execute(app.db());
};

const pageOf = async (app: TestApp, fetchedBy: string): Promise<number> => {
  const { rows } = await sql<{ page: number }>`
    select (ctid::text::point)[0]::int as page from fetched_packages where fetched_by = ${fetchedBy}`.execute(
    app.db(),
  );
  return rows[0]?.page ?? -1;
};

search('finds a row that an update moves to pages that were searched before', async ({ app }) => {
  await fillPackages(app, IDLE);
  const advance = await beginErasure(app, IDLE);
  const progress = () =>
    app
      .db()
      .selectFrom('erasures')
      .select('scanned_block')
      .where('scanned_table', '=', 'fetched_packages')
      .executeTakeFirst();

  await until('the first pages are searched', async () => {
    await advance(AbortSignal.abort());
    return (await progress()) !== undefined;
  });
  const before = { searched: (await progress())?.scanned_block ?? 0, page: await pageOf(app, IDLE) };
  // Vacuum records the free space only if at least 2% of the pages have some.
  await administer(
    app.connection,
    `delete from fetched_packages where ctid < '(200,0)'`,
    'vacuum fetched_packages',
    `update fetched_packages set size_bytes = 2 where fetched_by = '${IDLE}'`,
  );
  const after = await pageOf(app, IDLE);
  await advance();

  assert.ok(before.searched <= before.page, 'the row is behind the pages that were searched');
  assert.ok(after >= 0 && after < before.searched, `the row has moved to page ${after}`);
  assert.equal(await rowsWith(app, [IDLE]), []);
});

search('is repeated when another transaction changes the same row', async ({ app }) => {
  const setHelp = sql`update apps set help_html = ${`Ask ${EDSGER}`} where slug = 'sales'`;
  await setHelp.execute(app.db());
  const advance = await beginErasure(app, EDSGER);
  await using other = Object.assign(new Client(app.connection), {
    [Symbol.asyncDispose]: (): Promise<void> => other.end(),
  });
  await other.connect();
  await other.query('begin');
  await other.query(`update apps set label = 'Sales live' where slug = 'sales'`);

  const finished = advance();
  await until('the search waits for the row', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'`.execute(
      app.db(),
    );
    return rows.length > 0;
  });
  await other.query('commit');

  assert.is(await finished, true);
  assert.equal(await rowsWith(app, [EDSGER]), []);
});

search('waits for no transaction of another database', async ({ app }) => {
  const neighbour = await createTestDatabase();
  const other = new Client(neighbour.connection);
  await other.connect();
  await other.query('begin');
  await other.query('select pg_current_xact_id()');

  const advance = await beginErasure(app, GRACE);
  const isFinished = await advance(AbortSignal.timeout(PATIENCE_MS));

  await other.end();
  await neighbour.drop();
  assert.is(isFinished, true);
});

search('waits for a transaction of the same database', async ({ app }) => {
  const other = new Client(app.connection);
  await other.connect();
  await other.query('begin');
  await other.query('select pg_current_xact_id()');
  const advance = await beginErasure(app, ADA);

  const isFinished = await advance(AbortSignal.timeout(200));
  const unfinished = app.db().selectFrom('erasures').select('scanned_table').where('finished_at', 'is', null);
  const { scanned_table: searched } = await unfinished.executeTakeFirstOrThrow();
  await other.end();

  assert.is(isFinished, false);
  assert.is(searched, null);
  assert.is(await advance(), true);
});

search.run();
