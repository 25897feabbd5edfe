import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, ROOT } from '../support/test-app.ts';

const audit = appSuite('audit.list');

audit('is readable by superusers, and by client admins for their clients', async ({ app }) => {
  await app.as(GLOBEX).users.update({ email: EDSGER, first_name: 'E.' });
  await app.as(ACME).users.update({ email: ADA, first_name: 'A.' });

  const acme = await app.as(ACME).audit.list({ limit: 200 });
  const asked = await app.as(ACME).audit.list({ client: 2 });
  const root = await app.as(ROOT).audit.list({ client: 2 });

  assert.ok(acme.length > 0);
  assert.ok(acme.every(({ clients }) => clients.includes(1)));
  assert.equal(asked, []);
  assert.ok(root.some(({ target }) => target === EDSGER));
  await rejectsWith(app.as(ADA).audit.list({}), 'forbidden');
});

audit('is paginated, filtered by time, and available over REST', async ({ app }) => {
  const all = await app.as(ROOT).audit.list({ limit: 200 });
  const first = await app.as(ROOT).audit.list({ limit: 3 });
  const second = await app.as(ROOT).audit.list({ limit: 3, cursor: first.at(-1)?.id });
  const now = app.clock.now();
  app.clock.advance(60_000);
  await app.as(ROOT).users.update({ email: ADA, first_name: 'Ada' });
  const later = await app.as(ROOT).audit.list({ from: new Date(now.getTime() + 1) });
  const before = await app.as(ROOT).audit.list({ to: new Date(now.getTime() + 1), limit: 200 });
  const rest = await app.send(`GET /jb/audit/?from=${app.clock.now().toISOString()}&limit=1`, { as: ROOT });
  const bad = await app.send('GET /jb/audit/?from=yesterday&limit=0', { as: ROOT });

  assert.equal(
    [...first, ...second].map(({ id }) => id),
    all.slice(0, 6).map(({ id }) => id),
  );
  assert.equal(
    later.map(({ action }) => action),
    ['user.update'],
  );
  assert.is(before.length, all.length);
  assert.is(rest.json().length, 1);
  assert.equal(Object.keys(bad.json().errors), ['from', 'limit']);
  for (const noDay of ['2026-02-30', '2026-13-01', '2025-02-29T10:00:00Z']) {
    const refused = await app.send(`GET /jb/audit/?from=${noDay}`, { as: ROOT });
    assert.equal(Object.keys(refused.json().errors ?? {}), ['from'], noDay);
  }
  assert.is((await app.send('GET /jb/audit/?from=2024-02-29', { as: ROOT })).statusCode, 200);
});

audit('of a person has changes of groups that name them, as far as the viewer may see', async ({ app }) => {
  const email = 'joins@acme.test';
  await app.as(ROOT).users.create({ email, apps: ['zylTKNVx', 'Hb7cW2ke'], send_email: false });
  const { id } = await app.as(ACME).groups.create({ id: 1, name: 'Joiners', members: [GRACE] });
  await app.as(ACME).groups.update({ id: 1, group_id: id, members: [email, GRACE] });
  await app.as(ACME).groups.update({ id: 1, group_id: id, members: [] });
  await app.as(GLOBEX).groups.create({ id: 2, name: 'Elsewhere', members: [email] });

  const seenBy = async (viewer: string) =>
    (await app.as(viewer).audit.list({ person: email })).map(({ action, target }) => `${action} ${target}`);

  const ofAcme = ['group.update Joiners', 'group.update Joiners'];
  assert.equal((await seenBy(ACME)).slice(0, 2), ofAcme);
  assert.ok((await seenBy(ACME)).includes(`user.create ${email}`));
  assert.equal((await seenBy(ROOT)).slice(0, 3), ['group.create Elsewhere', ...ofAcme]);
});

audit('hides apps of other clients from client admins', async ({ app }) => {
  await app.as(ROOT).users.update({ email: ADA, apps: ['zylTKNVx', 'Hb7cW2ke'] });
  await app.as(ROOT).users.update({ email: ADA, first_name: 'A. A.' });

  const acme = await app.as(ACME).audit.list({ target: ADA, limit: 200 });

  assert.ok(acme.length > 0);
  assert.not.ok(JSON.stringify(acme).includes('Hb7cW2ke'));
  assert.ok(acme.every(({ clients }) => clients.length === 1));
  const globex = await app.as(GLOBEX).audit.list({ target: ADA, action: 'user.change-apps' });
  assert.equal(
    globex.map(({ details }) => details),
    [{ granted: ['Hb7cW2ke'], revoked: [] }],
  );
});

audit('treats the cursor of an invisible entry as unknown', async ({ app }) => {
  await app.as(GLOBEX).users.update({ email: EDSGER, last_name: 'Dijkstra-D.' });
  const [foreign] = await app.as(ROOT).audit.list({ target: EDSGER, action: 'user.update' });
  const faultsOf = async (cursor: number) =>
    (await rejectsWith(app.as(ACME).audit.list({ cursor }), 'invalid-input')).fields;

  assert.ok(foreign && foreign.id > 0);
  assert.equal(await faultsOf(foreign?.id ?? 0), await faultsOf(999_999));
  assert.equal(Object.keys((await faultsOf(999_999)) ?? {}), ['cursor']);
});

audit('does not reveal other clients of an entry by filtering', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: ['zylTKNVx', 'Hb7cW2ke'] });
  await app.as(ROOT).users.update({ email: GRACE, first_name: 'G.' });

  const [shared] = await app.as(ROOT).audit.list({ target: GRACE, action: 'user.update' });
  assert.equal(shared?.clients, [1, 2]);
  assert.equal(await app.as(ACME).audit.list({ client: 2 }), []);
  assert.equal((await app.as(ACME).audit.list({ client: 1, target: GRACE }))[0]?.id, shared?.id);
});

audit('accepts extreme time bounds', async ({ app }) => {
  for (const from of [new Date(-8.64e15), new Date(8.64e15)]) {
    const { fields } = await rejectsWith(app.as(ROOT).audit.list({ from }), 'invalid-input');
    assert.equal(Object.keys(fields ?? {}), ['from']);
  }
});

audit('refuses to filter by an unknown action', async ({ app }) => {
  const response = await app.send('GET /jb/audit/?action=user.updated', { as: ROOT });

  assert.is(response.statusCode, 400);
  assert.match(response.json().errors.action[0], /^Must be one of .*"user\.update"/);
});

audit.run();
