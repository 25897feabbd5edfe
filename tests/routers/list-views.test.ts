import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { rowsOf } from '../support/rows.ts';
import {
  ACME,
  ADA,
  appSuite,
  EDSGER,
  GLOBEX,
  GRACE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';

const views = appSuite('listViews');

const UNUSED = { list: 'people', name: 'Unused', search: { is_active: true, unseen_days: 90 } } as const;
const SHARED = { ...UNUSED, client: 1, is_shared: true };

views.before(async ({ app }) => {
  for (const [email, role] of [
    [ADA, 'auditor'],
    [GRACE, 'help-desk'],
  ] as const)
    await app.as(ROOT).roles.setInClient({ id: 1, email, roles: [role] });
});

const idsOf = async (app: TestApp, as: string, filter = {}) =>
  (await app.as(as).listViews.list(filter)).map(({ id }) => id);

views('keeps a private view for its author alone', async ({ app }) => {
  const { id, ...view } = await app.as(ACME).listViews.create(UNUSED);

  const times = { created_at: app.clock.now(), modified_at: app.clock.now() };
  const flags = { is_shared: false, is_own: true, can_change: true, is_pinned: false };
  assert.equal(view, { ...UNUSED, client: null, ...flags, ...times });
  assert.ok((await idsOf(app, ACME)).includes(id));
  for (const as of [ADA, ROOT]) assert.not.ok((await idsOf(app, as)).includes(id), as);
  await rejectsWith(app.as(ROOT).listViews.update({ id, name: 'x' }), 'not-found');
});

views('shows a shared view to those who see the list in its client', async ({ app }) => {
  const { id: people } = await app.as(ADA).listViews.create(SHARED);
  const { id: audit } = await app.as(ADA).listViews.create({ ...SHARED, list: 'audit' });

  for (const as of [ACME, ROOT]) assert.equal((await idsOf(app, as)).slice(-2), [people, audit], as);
  assert.equal(await idsOf(app, GRACE), [people], 'the help desk does not read the audit trail');
  assert.equal(await idsOf(app, STAFF, { list: 'people' }), [people]);
  assert.equal(await idsOf(app, GLOBEX), []);
  await rejectsWith(app.as(EDSGER).listViews.list({}), 'forbidden');
});

views('lets the author and those who configure the client change a shared view', async ({ app }) => {
  const { id } = await app.as(ADA).listViews.create({ ...SHARED, name: 'Team' });
  const nameOf = async (as: string, name: string) => (await app.as(as).listViews.update({ id, name })).name;

  assert.equal([await nameOf(ADA, 'A'), await nameOf(ACME, 'B')], ['A', 'B']);
  await rejectsWith(app.as(GRACE).listViews.update({ id, name: 'C' }), 'forbidden');
  await rejectsWith(app.as(GRACE).listViews.remove({ id }), 'forbidden');
  await rejectsWith(app.as(GLOBEX).listViews.remove({ id }), 'not-found');
  await rejectsWith(app.as(ACME).listViews.update({ id, client: null, is_shared: false }), 'invalid-input');
  await app.as(ACME).listViews.update({ id, is_shared: false });
  assert.not.ok((await idsOf(app, ACME)).includes(id), 'it is private to its author again');
  assert.ok((await idsOf(app, ADA)).includes(id));
});

views('is shared only in a client in which the author sees the list', async ({ app }) => {
  const { fields } = await rejectsWith(
    app.as(ACME).listViews.create({ ...UNUSED, is_shared: true }),
    'invalid-input',
  );
  assert.ok(fields?.client);
  await rejectsWith(app.as(GLOBEX).listViews.create(SHARED), 'not-found');
  await rejectsWith(app.as(GRACE).listViews.create({ ...SHARED, list: 'audit' }), 'forbidden');
  const { id } = await app.as(ACME).listViews.create(UNUSED);
  await rejectsWith(app.as(ACME).listViews.update({ id, is_shared: true }), 'invalid-input');
  const shared = await app.as(ACME).listViews.update({ id, client: 1, is_shared: true });
  assert.equal([shared.client, shared.is_shared], [1, true]);
});

views('is pinned by each user for themselves', async ({ app }) => {
  const { id } = await app.as(ACME).listViews.create({ ...SHARED, name: 'Pinned' });
  for (const is_pinned of [true, true]) await app.as(ADA).listViews.pin({ id, is_pinned });

  assert.equal(await idsOf(app, ADA, { is_pinned: true }), [id]);
  assert.equal(await idsOf(app, ACME, { is_pinned: true }), []);
  await app.as(ADA).listViews.pin({ id, is_pinned: false });
  assert.equal(await idsOf(app, ADA, { is_pinned: true }), []);
  const entries = await rowsOf(app, 'audit_entries', { action: 'list-view.pin' });
  assert.is(entries.length, 2, 'pinning it again changes nothing');
});

views('records a pin once, and does not fail if the view is deleted at the same time', async ({ app }) => {
  const { id } = await app.as(ADA).listViews.create(SHARED);
  const pins = async () =>
    (await rowsOf(app, 'audit_entries', { action: 'list-view.pin' })).filter(
      ({ details }) => details.id === id,
    );
  await Promise.all([1, 2, 3].map(() => app.as(ACME).listViews.pin({ id, is_pinned: true })));
  assert.is((await pins()).length, 1);

  const pinned = [GRACE, STAFF, ROOT].map((as) => app.as(as).listViews.pin({ id, is_pinned: true }));
  const done = await Promise.allSettled([app.as(ADA).listViews.remove({ id }), ...pinned]);
  for (const one of done.filter(({ status }) => status === 'rejected'))
    await rejectsWith(Promise.reject(Object(one).reason), 'not-found');
});

views('takes flat values of filters of at most 4 KiB', async ({ app }) => {
  const save = (search: Record<string, unknown>) => app.as(ACME).listViews.create({ ...UNUSED, search });
  const kept = { search: 'Ada', group: 3, is_active: false, columns: ['apps', 'groups'] };
  assert.equal((await save(kept)).search, kept);

  const refused = [
    { nested: { a: 1 } },
    { nested: [['a']] },
    { nothing: null },
    JSON.parse('{"__proto__":"x"}'),
    { constructor: 'x' },
    { 'Not a key': 'x' },
    { client: 2 },
    { view: 1 },
    { search: 'a'.repeat(4_096) },
    { search: '\0' },
  ];
  for (const search of refused)
    assert.ok((await rejectsWith(save(search), 'invalid-input')).fields?.search, JSON.stringify(search));
});

views('records which parts changed, without the names that they may contain', async ({ app }) => {
  const { id } = await app.as(ADA).listViews.create(SHARED);
  await app.as(ACME).listViews.update({ id, name: 'Ada Lovelace', search: { search: 'Lovelace' } });

  const [entry] = await app.as(ACME).audit.list({ action: 'list-view.update', limit: 1 });
  const hidden = { from: null, to: null };
  assert.equal(entry?.details, { id, list: 'people', name: hidden, search: hidden });
  assert.equal([entry?.actor, entry?.target], [ACME, ADA]);

  await app.as(ROOT).listViews.update({ id, client: 2 });
  const [moved] = await app.as(ROOT).audit.list({ action: 'list-view.update', limit: 1 });
  assert.equal(moved?.clients, [1, 2], 'both clients learn of it');
});

views.run();
