import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { kysely } from '../../src/db/kysely.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { pruneEmbeds } from '../../src/services/gate/embeds.ts';
import {
  pruneAccessRequests,
  pruneAudit,
  pruneCounts,
  pruneCredentials,
  pruneInvitations,
  pruneOperations,
} from '../../src/services/pruning.ts';
import { openView, setApp } from '../support/access-views.ts';
import { failureOf } from '../support/rejects.ts';
import { addRows, rowsOf, valuesOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN } from '../support/usage.ts';

const pruning = appSuite('pruning');

const add = async (app: TestApp, idleDays: number, count: number): Promise<void> => {
  const at = new Date(app.clock.now().getTime() - idleDays * DAY_MS);
  const rows = Array.from({ length: count }, (_, n) => ({
    user_id: 1,
    digest: `${idleDays}-${n}`.padStart(64, '0'),
    created_at: at,
    last_used: at,
  }));
  const inAnHour = new Date(app.clock.now().getTime() + HOUR_MS);
  await app
    .db()
    .insertInto('sessions')
    .values(rows.map((row) => ({ ...row, authenticated_at: at, expires_at: inAnHour })))
    .execute();
  await app.db().insertInto('api_tokens').values(rows).execute();
};

const count = async (app: TestApp) => {
  const sessions = await app.db().selectFrom('sessions').select('id').execute();
  const tokens = await app.db().selectFrom('api_tokens').select('id').execute();
  return [sessions.length, tokens.length];
};

pruning('logins: deletes all expired credentials in batches', async ({ app }) => {
  await add(app, 13, 2);
  await add(app, 15, 3);
  await add(app, 91, 2_500);
  const prune = (tokenIdleDays: number) =>
    pruneCredentials(app.orm.em.fork(), app.clock.now(), tokenIdleDays);

  await prune(0);
  assert.equal(await count(app), [2, 2_505]);
  await prune(90);
  assert.equal(await count(app), [2, 5]);
});

pruning(
  'logins: deletes logins that were not completed, and enrolments that were not confirmed',
  async ({ app }) => {
    const db = app.db();
    const now = app.clock.now();
    const ago = (minutes: number) => new Date(now.getTime() - minutes * MINUTE_MS);
    const factor = { kind: 'totp' as const, sealed_secret: Buffer.from('') };
    await db
      .insertInto('mfa_factors')
      .values([
        { ...factor, user_id: 1, name: 'old', created_at: ago(60) },
        { ...factor, user_id: 2, name: 'new', created_at: ago(59) },
        { ...factor, user_id: 1, name: 'confirmed', created_at: ago(600), confirmed_at: ago(599) },
      ])
      .execute();
    const challenge = { user_id: 1, first_step: 'password' as const, created_at: ago(5) };
    await db
      .insertInto('login_challenges')
      .values([
        { ...challenge, digest: 'over', expires_at: now },
        { ...challenge, digest: 'open', expires_at: ago(-1) },
      ])
      .execute();
    await db
      .insertInto('answered_challenges')
      .values([
        { digest: 'over', expires_at: now },
        { digest: 'open', expires_at: ago(-1) },
      ])
      .execute();
    await pruneCredentials(app.orm.em.fork(), now, 0);

    const answered = await db.selectFrom('answered_challenges').select('digest').execute();
    const factors = await db.selectFrom('mfa_factors').select('name').orderBy('name').execute();
    const challenges = await db.selectFrom('login_challenges').select('digest').execute();
    assert.equal(
      factors.map(({ name }) => name),
      ['confirmed', 'new'],
    );
    assert.equal([challenges, answered], [[{ digest: 'open' }], [{ digest: 'open' }]]);
  },
);

pruning('logins: deletes uses of tokens after 90 days', async ({ app }) => {
  const token_id = (await rowsOf(app, 'api_tokens'))[0]?.id ?? 0;
  const uses = [89, 91].map((days) => ({
    token_id,
    procedure: `${days}`,
    scopes: [],
    last_used_at: new Date(app.clock.now().getTime() - days * DAY_MS),
  }));
  await addRows(app, 'token_uses', uses);
  await pruneCredentials(app.orm.em.fork(), app.clock.now(), 0);

  assert.equal(await valuesOf(app, 'token_uses', 'procedure', { token_id }), ['89']);
});

pruning('logins: deletes refreshed tokens after their end', async ({ app }) => {
  const [sessions, tokens] = await count(app);
  const at = app.clock.now();
  const rows = [-1, 1].map((minutes) => ({
    user_id: 1,
    digest: `refreshed ${minutes}`.padStart(64, '0'),
    created_at: at,
    last_used: at,
    expires_at: new Date(app.clock.now().getTime() + minutes * MINUTE_MS),
  }));
  await app.db().insertInto('api_tokens').values(rows).execute();
  await pruneCredentials(app.orm.em.fork(), at, 0);

  assert.equal(await count(app), [sessions, (tokens ?? 0) + 1]);
});

pruning('logins: deletes sessions past their absolute lifetime by the database clock', async ({ app }) => {
  await app.db().deleteFrom('sessions').execute();
  await add(app, 0, 1_500);
  await app
    .db()
    .updateTable('sessions')
    .set({ expires_at: app.clock.now() })
    .where('digest', '<>', '0-7'.padStart(64, '0'))
    .execute();

  await pruneCredentials(app.orm.em.fork(), app.clock.now(), 0);

  assert.is((await count(app))[0], 1);
});

pruning('logins: deletes only rate-limit windows that ended more than an hour ago', async ({ app }) => {
  const countsEnding = (minutesAgo: number, many: number) => {
    const expire = app.clock.now().getTime() - minutesAgo * MINUTE_MS;
    const rows = Array.from({ length: many }, (_, n) => ({ key: `${minutesAgo}:${n}`, points: 1, expire }));
    return app.db().insertInto('rate_limits').values(rows).execute();
  };
  await countsEnding(61, 2_500);
  await countsEnding(59, 1);
  await countsEnding(-5, 1);
  await app.db().insertInto('rate_limits').values({ key: 'endless', points: 1, expire: null }).execute();

  await pruneCounts(app.orm.em.fork(), app.clock.now());
  const left = await app.db().selectFrom('rate_limits').select('key').orderBy('key').execute();
  assert.equal(
    left.map(({ key }) => key),
    ['-5:0', '59:0', 'endless'],
  );
});

pruning.before(({ app }) => setApp(app, { launch_url: 'https://sales.example.com/' }));

const embed = async (app: TestApp): Promise<string> =>
  (await app.as(ACME).accessViews.embed({ app: 'sales', email: ADA })).url.slice(-33, -1);

pruning(
  'embeds: deletes ended sessions, and views for one use when all that they opened has ended',
  async ({ app }) => {
    const db = app.db();
    const expireAgo = (key: string, hours: number) =>
      db
        .updateTable('access_views')
        .set({ expires_at: new Date(app.clock.now().getTime() - hours * HOUR_MS) })
        .where('key', '=', key)
        .execute();
    const [recent, old] = [await embed(app), await embed(app)];
    const { key: listed } = await app.as(ACME).accessViews.create({ app: 'sales' });
    for (const key of [recent, old, listed]) assert.is((await openView(app, key)).statusCode, 303);
    await expireAgo(recent, 11.9);
    await expireAgo(old, 12.1);
    await expireAgo(listed, 1_000);
    await pruneEmbeds(app.orm.em.fork(), app.clock.now());

    const keys = (await db.selectFrom('access_views').select('key').orderBy('id').execute()).map(
      ({ key }) => key,
    );
    assert.equal(keys, [recent, listed]);
    assert.is((await db.selectFrom('embed_sessions').select('digest').execute()).length, 2);
    await db
      .updateTable('embed_sessions')
      .set({ expires_at: new Date(0) })
      .execute();
    await pruneEmbeds(app.orm.em.fork(), app.clock.now());
    assert.equal(await db.selectFrom('embed_sessions').select('digest').execute(), []);
    assert.is((await db.selectFrom('access_view_uses').select('id').execute()).length, 2);
  },
);

/** Entries with an age in days. */
const addEntries = (app: TestApp, daysAgo: number, count: number) =>
  sql`insert into audit_entries (occurred_at, action, target_label)
    select ${new Date(app.clock.now().getTime() - daysAgo * DAY_MS)}::timestamptz, 'site.create', 'aged'
    from generate_series(1, ${count})`.execute(app.db());

const aged = async (app: TestApp): Promise<number> =>
  (await app.db().selectFrom('audit_entries').select('id').where('target_label', '=', 'aged').execute())
    .length;

const pruneAuditOf = (app: TestApp, days: number) => pruneAudit(app.orm.em.fork(), app.clock.now(), days);

pruning('retention keeps all entries with 0 days, and deletes older ones in batches', async ({ app }) => {
  await addEntries(app, 399, 2);
  await addEntries(app, 401, 2_500);

  await pruneAuditOf(app, 0);
  assert.is(await aged(app), 2_502);
  await pruneAuditOf(app, 400);
  assert.is(await aged(app), 2);
});

pruning(
  'retention allows no delete after the cutoff, and none outside of its transaction',
  async ({ app }) => {
    await addEntries(app, 500, 1);
    await addEntries(app, 1, 1);
    const deleteAll = sql`delete from audit_entries where target_label = 'aged'`;
    const deleteRecent = () =>
      app.orm.em.fork().transactional(async (tx) => {
        await sql`select set_config('steward.audit_cutoff', '2026-11-01', true)`.execute(kysely(tx));
        await deleteAll.execute(kysely(tx));
      });

    assert.match((await failureOf(deleteRecent())).message, /append-only/);
    assert.match((await failureOf(deleteAll.execute(app.db()))).message, /append-only/);
  },
);

pruning(
  'retention leaves a table to the instance that is deleting from it, and no other table',
  async ({ app }) => {
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
  },
);

pruning('retention deletes invitations that ended before, and keeps open ones', async ({ app }) => {
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

pruning('retention deletes requests for apps that ended before, and keeps pending ones', async ({ app }) => {
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

pruning(
  'retention deletes what undoing an operation needs after a day, and its id with the audit trail',
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

pruning.run();
