import * as assert from 'uvu/assert';
import { findParties } from '../../src/cli/invite-people.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, IDLE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const find = (app: TestApp, client: number, email?: string) => findParties(app.orm.em.fork(), client, email);

const parties = appSuite('findParties');

parties('selects the first active superuser as inviter by default', async ({ app }) => {
  const byDefault = await find(app, 2);
  const named = await find(app, 1, 'Admin@ACME.test');

  assert.is(byDefault.inviter.email, ROOT);
  assert.equal([named.inviter.email, named.inviter.adminOf], [ACME, [1]]);
});

parties('finds only apps of the client, by id and by slug', async ({ app }) => {
  const { apps } = await find(app, 1);

  assert.equal(
    [...apps].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    [
      ['Qm3vR8pa', 'Qm3vR8pa'],
      ['churn', 'Qm3vR8pa'],
      ['sales', 'zylTKNVx'],
      ['zylTKNVx', 'zylTKNVx'],
    ],
  );
});

for (const [who, email] of [
  ['a member', ADA],
  ['an admin of another client', GLOBEX],
  ['staff', STAFF],
] as const) {
  parties(`refuses ${who}, as the API does`, async ({ app }) => {
    const problem = await rejectsWith(find(app, 1, email), 'invalid-input');
    const answer = await app.send('POST /jb/users/invitations/', {
      as: email,
      payload: { email: 'eve@acme.test', client: 1 },
    });

    assert.equal(problem.fields, { '--client': [`There is no client 1 to which ${email} may invite.`] });
    assert.ok([400, 403].includes(answer.statusCode), answer.body);
  });
}

for (const [who, email] of [
  ['an inactive user', IDLE],
  ['an unknown user', 'unknown@acme.test'],
] as const) {
  parties(`refuses ${who}`, async ({ app }) => {
    const problem = await rejectsWith(find(app, 1, email), 'invalid-input');

    assert.equal(problem.fields, { '--as': [`There is no active user ${email}.`] });
  });
}

parties('refuses an unknown client', async ({ app }) => {
  const problem = await rejectsWith(find(app, 99), 'invalid-input');

  assert.equal(problem.fields, { '--client': [`There is no client 99 to which ${ROOT} may invite.`] });
});

parties('requires an inviter if no superuser is active', async ({ app }) => {
  await app.db().updateTable('users').set({ is_active: false }).where('is_superuser', '=', true).execute();

  const problem = await rejectsWith(find(app, 1), 'invalid-input');

  assert.equal(problem.fields, { '--as': ['There is no active superuser. Set the inviter with --as.'] });
});

parties.run();
