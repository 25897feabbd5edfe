import * as assert from 'uvu/assert';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { pruneCounts, pruneCredentials } from '../../src/services/pruning.ts';
import { appSuite, type TestApp } from '../support/test-app.ts';

const pruning = appSuite('pruning of logins');

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

pruning('deletes all expired credentials in batches', async ({ app }) => {
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

pruning('deletes logins that were not completed, and enrolments that were not confirmed', async ({ app }) => {
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
});

pruning('deletes refreshed tokens after their end', async ({ app }) => {
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

pruning('deletes sessions past their absolute lifetime by the database clock', async ({ app }) => {
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

pruning('deletes only rate-limit windows that ended more than an hour ago', async ({ app }) => {
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

pruning.run();
