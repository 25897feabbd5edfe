import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { kysely } from '../../src/db/kysely.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import {
  pruneAccessRequests,
  pruneAudit,
  pruneInvitations,
  pruneOperations,
} from '../../src/services/pruning.ts';
import { failureOf } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN } from '../support/usage.ts';

const retention = appSuite('retention of the audit trail and invitations');

/** Entries with an age in days. */
const addEntries = (app: TestApp, daysAgo: number, count: number) =>
  sql`insert into audit_entries (occurred_at, action, target)
    select ${new Date(app.clock.now().getTime() - daysAgo * DAY_MS)}::timestamptz, 'site.create', 'aged'
    from generate_series(1, ${count})`.execute(app.db());

const aged = async (app: TestApp): Promise<number> =>
  (await app.db().selectFrom('audit_entries').select('id').where('target', '=', 'aged').execute()).length;

const pruneAuditOf = (app: TestApp, days: number) => pruneAudit(app.orm.em.fork(), app.clock.now(), days);

retention('keeps all entries with 0 days, and deletes older ones in batches', async ({ app }) => {
  await addEntries(app, 399, 2);
  await addEntries(app, 401, 2_500);

  await pruneAuditOf(app, 0);
  assert.is(await aged(app), 2_502);
  await pruneAuditOf(app, 400);
  assert.is(await aged(app), 2);
});

retention('allows no delete after the cutoff, and none outside of its transaction', async ({ app }) => {
  await addEntries(app, 500, 1);
  await addEntries(app, 1, 1);
  const deleteAll = sql`delete from audit_entries where target = 'aged'`;
  const deleteRecent = () =>
    app.orm.em.fork().transactional(async (tx) => {
      await sql`select set_config('steward.audit_cutoff', '2026-11-01', true)`.execute(kysely(tx));
      await deleteAll.execute(kysely(tx));
    });

  assert.match((await failureOf(deleteRecent())).message, /append-only/);
  assert.match((await failureOf(deleteAll.execute(app.db()))).message, /append-only/);
});

retention('leaves a table to the instance that is deleting from it, and no other table', async ({ app }) => {
  await addEntries(app, 500, 1);
  const before = await aged(app);
  const pruneWhileDeletingFrom = (table: string) =>
    app.orm.em.fork().transactional(async (tx) => {
      const key = sql`hashtextextended(${`pruning of ${table}`}, 0)`;
      await sql`select pg_advisory_xact_lock(${key})`.execute(kysely(tx));
      await pruneAuditOf(app, 400);
      return aged(app);
    });

  assert.is(await pruneWhileDeletingFrom('audit_entries'), before);
  assert.ok((await pruneWhileDeletingFrom('invitations')) < before);
});

retention('deletes invitations that ended before, and keeps open ones', async ({ app }) => {
  const items = ['open', 'revoked', 'expired'].map((name) => ({ email: `${name}@guest.test`, client: 1 }));
  const [open, revoked] = await app.as(ACME).invitations.create({ items });
  await app.as(ACME).invitations.revoke({ id: revoked?.id ?? 0 });
  app.clock.advance(30 * DAY_MS);
  await app.as(ACME).invitations.resend({ id: open?.id ?? 0 });
  const prune = (days: number) => pruneInvitations(app.orm.em.fork(), app.clock.now(), days);
  const left = async () =>
    (await app.as(ROOT).invitations.search({ status: 'all' })).map(({ email }) => email).sort();

  await prune(0);
  assert.is((await left()).length, 3);
  await prune(20);
  assert.equal(await left(), ['expired@guest.test', 'open@guest.test']);
  await prune(10);
  assert.equal(await left(), ['open@guest.test']);
});

retention('deletes requests for apps that ended before, and keeps pending ones', async ({ app }) => {
  await app.as(ROOT).apps.update({ app_id: CHURN, is_requestable: true });
  const { create, withdraw } = app.as(GRACE).requests;
  await withdraw({ id: (await create({ app: CHURN })).id });
  await create({ app: CHURN });
  app.clock.advance(30 * DAY_MS);
  const prune = (days: number) => pruneAccessRequests(app.orm.em.fork(), app.clock.now(), days);
  const left = async () => (await app.as(ROOT).requests.list({})).map(({ status }) => status);

  await prune(0);
  await prune(31);
  assert.equal(await left(), ['pending', 'withdrawn']);
  await prune(29);
  assert.equal(await left(), ['pending']);
});

retention(
  'deletes what undoing an operation needs after a day, and its id with the audit trail',
  async ({ app }) => {
    await app.as(ROOT).users.bulkUpdate({ emails: [ADA], action: 'deactivate' });
    const count = async () =>
      (
        await sql<{ n: number[] }>`select array[(select count(*)::int from operations),
        (select count(*)::int from operation_changes)] as n`.execute(app.db())
      ).rows[0]?.n;
    const prune = (auditDays: number, idempotencyHours = 24) =>
      pruneOperations(app.orm.em.fork(), app.clock.now(), { auditDays, idempotencyHours });

    await prune(1);
    assert.equal(await count(), [1, 1]);
    app.clock.advance(DAY_MS + 1);
    await prune(0, 48);
    assert.equal(await count(), [1, 1], 'a repeated request may continue it');
    await prune(0);
    assert.equal(await count(), [1, 0]);
    await prune(1);
    assert.equal(await count(), [0, 0]);
  },
);

retention.run();
