import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, appSuite, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const update = appSuite('invitations.update');

const invite = async (app: TestApp, email: string, more: object = {}, who = ACME) => {
  const [made] = await app.as(who).invitations.create({ items: [{ email, ...more }] });
  assert.ok(made);
  return made;
};
const mailsTo = async (app: TestApp, email: string) =>
  (await app.db().selectFrom('outbox_mails').selectAll().where('recipient', '=', email).execute()).length;

update('changes apps and extra without sending a mail', async ({ app }) => {
  await invite(app, 'up@x.test', { initial_apps: ['zylTKNVx'], extra: { a: 1 } });
  const changed = await app.as(ACME).invitations.update({ email: 'UP@x.test', initial_apps: ['Qm3vR8pa'] });

  assert.equal([changed.initial_apps, changed.extra], [['Qm3vR8pa'], { a: 1 }]);
  assert.equal((await app.as(ACME).invitations.update({ email: 'up@x.test', extra: {} })).extra, {});
  assert.is(await mailsTo(app, 'up@x.test'), 1);
});

update('refuses apps of other clients and changes nothing', async ({ app }) => {
  await invite(app, 'keep@x.test', { initial_apps: ['zylTKNVx'] });
  const attempt = app
    .as(ROOT)
    .invitations.update({ email: 'keep@x.test', extra: { b: 1 }, initial_apps: ['Hb7cW2ke'] });

  assert.ok((await rejectsWith(attempt, 'invalid-input')).fields?.initial_apps);
  const [kept] = (await app.as(ACME).invitations.list({})).filter((i) => i.email === 'keep@x.test');
  assert.equal([kept?.initial_apps, kept?.extra], [['zylTKNVx'], {}]);
});

update(
  'fails with not-found for another client, an expired invitation and an unknown address',
  async ({ app }) => {
    await invite(app, 'theirs@x.test', {}, GLOBEX);

    await rejectsWith(app.as(ACME).invitations.update({ email: 'theirs@x.test', extra: {} }), 'not-found');
    await rejectsWith(app.as(ACME).invitations.update({ email: 'never@x.test', extra: {} }), 'not-found');
    app.clock.advance(15 * DAY_MS);
    await rejectsWith(app.as(GLOBEX).invitations.update({ email: 'theirs@x.test', extra: {} }), 'not-found');
  },
);

update('is forbidden for an invitation that the caller may see but not change', async ({ app }) => {
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: STAFF, is_admin: true });
  await invite(app, 'seen@x.test', {}, GLOBEX);

  await rejectsWith(app.as(STAFF).invitations.update({ email: 'seen@x.test', extra: {} }), 'forbidden');
});

update('prefers the invitation by the caller, or requires the client with 409', async ({ app }) => {
  await invite(app, 'both@x.test', {}, ACME);
  await invite(app, 'both@x.test', {}, GLOBEX);
  const ambiguous = await app.send('PATCH /jb/users/invitations/both@x.test/', {
    as: ROOT,
    payload: { extra: {} },
  });
  const named = await app.send('PATCH /jb/users/invitations/both@x.test/?client=2', {
    as: ROOT,
    payload: { extra: { named: true } },
  });
  const own = await app.as(ACME).invitations.update({ email: 'both@x.test', extra: { own: true } });

  assert.is(ambiguous.statusCode, 409);
  assert.match(ambiguous.json().detail, '?client=');
  assert.is(named.json().user.email, GLOBEX);
  assert.is(own.user.email, ACME);
});

update.run();
