import * as assert from 'uvu/assert';
import { connectDirectory } from '../../support/directory.ts';
import { opens } from '../../support/members.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { rowsOf } from '../../support/rows.ts';
import { ACME, appSuite, ROOT, type TestApp } from '../../support/test-app.ts';
import { CHURN, SALES } from '../../support/usage.ts';

const suspensions = appSuite('suspensions by a directory');

const heldIn = async (app: TestApp, id: number, email: string) => {
  const memberships = await app.as(ROOT).memberships.list({ email });
  const { roles, extra } = memberships.find(({ client }) => client === id) ?? {};
  return { roles, extra };
};

suspensions(
  'keep roles, grants, groups and data, which count again once the membership is active',
  async ({ app }) => {
    const directory = await connectDirectory(app, { client: 1 });
    const email = directory.address('kept');
    const { id } = await directory.createUser({ userName: email });
    const { id: group } = await directory.createGroup({ displayName: 'Kept', members: [{ value: id }] });
    const [{ group_id } = { group_id: null }] = await rowsOf(app, 'directory_groups', { id: group });
    const acme = app.as(ACME);
    await acme.groups.update({ id: 1, group_id: group_id ?? 0, apps: [CHURN] });
    await acme.grants.create({ app_id: SALES, email });
    await acme.roles.setInClient({ id: 1, email, roles: ['auditor'] });
    await acme.memberships.update({ id: 1, email, extra: { region: 'north' } });
    const seen = async () => ({
      opens: (await opens(app, email)).toSorted(),
      members: (await acme.groups.get({ id: 1, group_id: group_id ?? 0 })).members,
      held: await heldIn(app, 1, email),
    });
    const before = await seen();
    assert.equal(before.opens, [CHURN, SALES].toSorted());
    assert.equal(before.members, [email]);
    assert.equal(before.held, { roles: ['auditor'], extra: { region: 'north' } });

    await directory.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false });

    assert.equal(await seen(), { ...before, opens: [] });
    for (const app_id of [CHURN, SALES])
      await rejectsWith(app.as(email).apps.openTicket({ app_id }), 'not-found');
    await rejectsWith(app.as(email).audit.list({}), 'forbidden');
    await directory.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: true });
    assert.equal(await seen(), before);
    await app.as(email).audit.list({});
  },
);

suspensions.run();
