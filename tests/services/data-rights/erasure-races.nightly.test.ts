import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { kysely } from '../../../src/db/kysely.ts';
import { MEMBER } from '../../../src/services/access/permissions.ts';
import { EVERYWHERE } from '../../../src/services/access/scope.ts';
import { createAudit, NO_ORIGIN, ofUser } from '../../../src/services/audit/audit.ts';
import { eraseAccount, finishErasures, lockPerson } from '../../../src/services/data-rights/erasure.ts';
import { NO_DIGEST } from '../../../src/services/usage/erasure-keys.ts';
import { writeUsage } from '../../../src/services/usage/usage-writes.ts';
import { addPerson, erase, PERSON, rowsWith, TRACES } from '../../support/person.ts';
import { rowOf, rowsOf } from '../../support/rows.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GRACE,
  IDLE,
  ROOT,
  type TestApp,
} from '../../support/test-app.ts';
import { until } from '../../support/time.ts';
import { CHURN, logEntry, SALES } from '../../support/usage.ts';

const races = appSuite('erasure beside other requests');

const isErased = async (app: TestApp, email: string): Promise<boolean> =>
  (await rowsOf(app, 'users', { email })).length === 0;

races('replaces what a transaction writes that started before the erasure', async ({ app }) => {
  await addPerson(app);
  let erasing: Promise<unknown> | undefined;

  await app.orm.em.fork().transactional(async (tx) => {
    const { id } = await kysely(tx)
      .selectFrom('users')
      .select('id')
      .where('email', '=', PERSON)
      .executeTakeFirstOrThrow();
    const person = { id, email: PERSON };
    const entry = { actor: person, target: ofUser(person), action: 'login.session' as const };
    await createAudit(NO_ORIGIN, app.clock).record(tx, [entry]);
    await writeUsage(tx, CHURN, [{ ...logEntry(0, PERSON), fullName: 'Zephyrine' }], app.clock.now());
    await sql`insert into invitations (client_id, email, key, inviter_id, extra, date_invited, expires_at)
    select 1, ${PERSON}, 'a-key', 1, '{"name":"Zephyrine"}', ${app.clock.now()}::timestamptz, ${app.clock.now()}::timestamptz + interval '1 day'`.execute(
      kysely(tx),
    );
    erasing = erase(app);
    await until('the account is replaced', () => isErased(app, PERSON));
    const unfinished = app.db().selectFrom('erasures').select('id').where('finished_at', 'is', null);
    assert.is((await unfinished.execute()).length, 1);
  });

  await erasing;
  assert.equal(await rowsWith(app, TRACES), []);
});

races('waits for a report that is being written, and keeps its count', async ({ app }) => {
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: GRACE, action: 'OPEN' }] });
  const statsBefore = await app.as(ROOT).usage.series({ app_id: SALES, window: 1 });
  let erasing: Promise<unknown> | undefined;

  await app.orm.em.fork().transactional(async (tx) => {
    await writeUsage(tx, SALES, [logEntry(0, GRACE)], app.clock.now());
    erasing = erase(app, GRACE);
    await until('the erasure waits for the log', async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`.execute(
        app.db(),
      );
      return rows.length > 0;
    });
  });
  await erasing;

  const [after] = await app.as(ROOT).usage.series({ app_id: SALES, window: 1 });
  assert.equal(after, { ...statsBefore[0], actions: (statsBefore[0]?.actions ?? 0) + 1 });
  assert.equal(await rowsWith(app, [GRACE]), []);
});

races('records late entries under the pseudonym', async ({ app }) => {
  const { id } = await rowOf(app, 'users', { email: EDSGER });
  const { pseudonym } = await erase(app, EDSGER);
  await app
    .openServices()
    .refusals.record(
      { ...MEMBER, id, email: EDSGER, credential: null, scope: EVERYWHERE },
      'users.list',
      Object.assign(new Error(), { code: 'forbidden' }) as never,
    );

  const [entry] = await app.as(ROOT).audit.list({ action: 'request.refused' });
  assert.is(entry?.actor, pseudonym);
  assert.equal(await rowsWith(app, [EDSGER]), []);
});

races('survives logins, changes and reports at the same time without a trace', async ({ app }) => {
  const { confirmation } = await app.as(ROOT).users.previewErasure({ email: ADA });
  const login = { username: ADA, password: DEMO_PASSWORD };
  const others = Array.from({ length: 8 }, (_, n) => [
    app.as(ACME).users.update({ email: ADA, first_name: `Adaline${n}` }),
    app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: ADA, action: 'OPEN' }] }),
    app.as(null).tokens.create(login),
    app.as(ACME).users.deactivate({ email: ADA }),
  ]);

  await Promise.allSettled([
    ...others.slice(0, 4).flat(),
    app.as(ROOT).users.erase({ email: ADA, confirmation, confirm_email: ADA }),
    ...others.slice(4).flat(),
  ]);
  // A change may have invalidated the code.
  if (!(await isErased(app, ADA))) await erase(app, ADA);
  await finishErasures(app.orm.em.fork(), app.clock);

  assert.equal(await rowsWith(app, [ADA, 'Adaline']), []);
});

races('is continued by another instance, whichever step was the last', async ({ app }) => {
  const old = (n: number) => ({ ...logEntry(0, IDLE), occurredAt: new Date(app.clock.now().getTime() - n) });
  for (let n = 0; n < 6; n += 1)
    await writeUsage(
      app.orm.em.fork(),
      SALES,
      Array.from({ length: 6_000 }, (_, k) => old(n * 6_000 + k)),
      app.clock.now(),
    );
  const audit = createAudit(NO_ORIGIN, app.clock);
  const now = app.clock.now();
  const pseudonym = await app.orm.em.fork().transactional(async (tx) => {
    const person = await lockPerson(tx, null, IDLE);
    return eraseAccount({ tx, now, audit, addressDigest: NO_DIGEST }, null, person);
  });
  const twin = await app.startTwin();
  const instances = [app, twin];
  const stopped = AbortSignal.abort();

  let steps = 0;
  const advance = () => {
    const { orm, clock } = instances[steps % 2] ?? app;
    steps += 1;
    return finishErasures(orm.em.fork(), clock, { pseudonym, signal: stopped });
  };
  await until('the erasure is finished', advance);
  await twin.close();

  assert.ok(steps > 3, `${steps} steps`);
  assert.equal(await rowsWith(app, [IDLE]), []);
});

races.run();
