import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const setup = appSuite('attention.setup');

const ADDRESS = 'https://wiki.example.com/';
const EMAIL = 'first@nova.test';

const undone = async (app: TestApp, client: number): Promise<string[]> =>
  Object.entries(await app.as(ROOT).attention.setup({ client })).flatMap(([step, done]) =>
    done ? [] : step,
  );

setup('ticks the steps of a new client as they happen', async ({ app }) => {
  const root = app.as(ROOT);
  const site = await root.sites.create({ domain: 'nova.test', name: 'Nova' });
  const { id } = await root.clients.create({ name: 'Nova', site: site.id });

  assert.equal(await undone(app, id), ['app', 'invitation', 'visit', 'admin', 'sign_in']);

  const wiki = await root.apps.create({ client: id, slug: 'wiki', label: 'Wiki', launch_url: ADDRESS });
  await root.clients.updateFactorPolicy({ id, factor_policy: 'optional' });
  await root.clients.invite({ id, email: 'lead@nova.test', roles: ['client-admin'] });

  assert.equal(await undone(app, id), ['invitation', 'visit'], 'the invitation names no app');

  await root.users.create({ email: EMAIL, client: id, apps: [wiki.id] });

  assert.equal(await undone(app, id), ['visit']);

  await root.apps.launch({ app_slug: 'wiki' });

  assert.equal(await undone(app, id), ['visit'], 'the visit of a superuser does not count');

  await app.as(EMAIL).apps.launch({ app_slug: 'wiki' });

  assert.equal(await undone(app, id), []);
});

setup('counts an invitation to an app or to a group that has one', async ({ app }) => {
  const root = app.as(ROOT);
  for (const domain of ['direct.test', 'group.test']) {
    const site = await root.sites.create({ domain, name: domain });
    const { id } = await root.clients.create({ name: domain, site: site.id });
    const slug = domain.replace('.', '-');
    const wiki = await root.apps.create({ client: id, slug, label: slug, launch_url: ADDRESS });
    const group = await root.groups.create({ id, name: 'Readers', apps: [wiki.id] });
    assert.ok((await undone(app, id)).includes('invitation'));
    const access = domain === 'direct.test' ? { initial_apps: [wiki.id] } : { groups: [group.id] };

    await root.invitations.create({ items: [{ email: `new@${domain}`, client: id, ...access }] });

    assert.equal(await undone(app, id), ['visit', 'admin', 'sign_in']);
  }
});

setup('is refused to members, and for clients of others', async ({ app }) => {
  await rejectsWith(app.as(ADA).attention.setup({}), 'forbidden');
  await rejectsWith(app.as(ACME).attention.setup({ client: 2 }), 'not-found');
  await rejectsWith(app.as(STAFF).attention.setup({}), 'forbidden');
});

setup.run();

const creating = appSuite('apps.create');

creating('gives an app an address, which opens with a code', async ({ app }) => {
  const created = await app
    .as(STAFF)
    .apps.create({ client: 1, slug: 'wiki', label: 'Wiki', launch_url: ADDRESS });

  const { url } = await app.as(ACME).apps.launch({ app_slug: 'wiki' });
  assert.match(url, /^https:\/\/wiki\.example\.com\/\?code=/);
  assert.equal([created.slug, created.package_info], ['wiki', {}]);
  const [entry] = await app.as(ROOT).audit.list({ action: 'app.create' });
  assert.equal(
    [entry?.actor, entry?.target, entry?.details],
    [STAFF, 'wiki', { label: 'Wiki', launch_url: ADDRESS }],
  );
});

creating('names the field that it refuses', async ({ app }) => {
  const input = { client: 1, slug: 'one', label: 'One', launch_url: ADDRESS };
  const { create } = app.as(STAFF).apps;
  await create(input);

  const refused = async (changes: Partial<typeof input>) => {
    const problem = await rejectsWith(create({ ...input, slug: 'two', ...changes }), 'invalid-input');
    return Object.keys(problem.fields ?? {});
  };

  assert.equal(await refused({ slug: 'one' }), ['slug']);
  assert.equal(await refused({ client: 4711 }), ['client']);
  for (const launch_url of ['', 'javascript:alert(1)', 'https://a:b@x.test/', 'https://x.test/#top'])
    assert.equal(await refused({ launch_url }), ['launch_url']);
  await rejectsWith(app.as(ACME).apps.create({ ...input, slug: 'two' }), 'forbidden');
});

creating.run();
