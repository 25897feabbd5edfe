import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF } from '../support/test-app.ts';

const clients = appSuite('clients');
const sites = appSuite('sites');

clients(
  'lists the clients that the caller administers, and all for staff and superusers',
  async ({ app }) => {
    const names = async (who: string) => (await app.as(who).clients.list({})).map((client) => client.name);

    assert.equal(await names(ACME), ['Acme Analytics']);
    assert.equal(await names(STAFF), ['Acme Analytics', 'Globex Data']);
    assert.equal(await names(ROOT), ['Acme Analytics', 'Globex Data']);
    await rejectsWith(names(ADA), 'forbidden');
  },
);

clients('starts with the default policy and texts', async ({ app }) => {
  await app.as(ROOT).sites.create({ domain: 'New.example.test:8080', name: 'New' });
  const client = await app.as(ROOT).clients.create({ name: 'New', site: 3 });

  assert.equal(client.site, { domain: 'new.example.test:8080', formatted_name: 'new.example.test' });
  assert.is(client.password_min_length, 8);
  assert.is(client.password_allow_common, false);
  assert.is(client.password_expiration_days, 0);
  assert.is(client.home_location, '/');
  assert.is(client.invitation_subject, '');
  assert.ok(client.login_title && client.subtitle_404 && client.message_500);
});

clients('fails with not-found for every resource of another client', async ({ app }) => {
  const admin = app.as(ACME).clients;
  for (const id of [2, 99]) {
    await rejectsWith(admin.get({ id }), 'not-found');
    await rejectsWith(admin.update({ id, login_title: 'x' }), 'not-found');
    await rejectsWith(admin.site({ id }), 'not-found');
    await rejectsWith(admin.users({ id }), 'not-found');
    await rejectsWith(admin.apps({ id }), 'not-found');
    await rejectsWith(admin.invitations({ id }), 'not-found');
    await rejectsWith(admin.invite({ id, email: 'x@acme.test' }), 'not-found');
  }
});

clients('lists its users with the time of their last password change and without roles', async ({ app }) => {
  const [admin, ...others] = await app.as(ACME).clients.users({ id: 1 });

  assert.is(admin?.email, ACME);
  assert.is(others.length, 3);
  assert.ok(admin?.last_password_set instanceof Date);
  assert.not.ok('clientadmin_of' in (admin ?? {}));
});

clients('lists its apps in short form', async ({ app }) => {
  const apps = await app.as(ACME).clients.apps({ id: 1 });

  assert.equal(
    apps.map((shown) => shown.slug),
    ['sales', 'churn'],
  );
  assert.not.ok('usage' in (apps[0] ?? {}));
});

clients('shows members only the site of their client', async ({ app }) => {
  assert.is((await app.as(ADA).clients.site({ id: 1 })).domain, 'localhost:8000');
  await rejectsWith(app.as(ADA).clients.site({ id: 2 }), 'not-found');
});

clients('changes only the given fields, and nothing for an empty object', async ({ app }) => {
  const before = await app.as(ACME).clients.get({ id: 1 });

  assert.equal(await app.as(ACME).clients.update({ id: 1 }), before);
  assert.equal(await app.as(ACME).clients.update({ id: 1, password_min_length: 12 }), {
    ...before,
    password_min_length: 12,
  });
});

clients('reports all invalid fields at once', async ({ app }) => {
  const attempt = app.as(ACME).clients.update({
    id: 1,
    name: '',
    default_from_email: 'a@b.test\r\nBcc: c@d.test',
    invitation_subject: 'two\nlines',
    support_email: 'not an address',
    home_location: 'javascript:alert(1)',
    password_min_length: 0,
    password_expiration_days: -1,
    login_title: 'NUL \0',
  });

  assert.equal(Object.keys((await rejectsWith(attempt, 'invalid-input')).fields ?? {}).sort(), [
    'default_from_email',
    'home_location',
    'invitation_subject',
    'login_title',
    'name',
    'password_expiration_days',
    'password_min_length',
    'support_email',
  ]);
});

clients('refuses a minimum password length below 8', async ({ app }) => {
  const attempt = app.as(ACME).clients.update({ id: 1, password_min_length: 7 });

  assert.equal(Object.keys((await rejectsWith(attempt, 'invalid-input')).fields ?? {}), [
    'password_min_length',
  ]);
  assert.is((await app.as(ACME).clients.update({ id: 1, password_min_length: 8 })).password_min_length, 8);
});

clients('accepts only paths and web addresses as home location', async ({ app }) => {
  const go = (home_location: string) => app.as(ACME).clients.update({ id: 1, home_location });

  for (const good of ['/', '/apps/', 'https://acme.test/x?y=1']) await go(good);
  for (const bad of ['', '//evil.test', '/\\evil.test', 'ftp://x', 'data:text/html,x', 'acme.test']) {
    assert.ok((await rejectsWith(go(bad), 'invalid-input')).fields?.home_location, bad);
  }
});

clients('refuses a name that is taken', async ({ app }) => {
  const attempt = app.as(ACME).clients.update({ id: 1, name: 'Globex Data' });

  assert.ok((await rejectsWith(attempt, 'invalid-input')).fields?.name);
});

clients('can be changed by its admins and superusers, not by staff or members', async ({ app }) => {
  await rejectsWith(app.as(STAFF).clients.update({ id: 1, login_title: 'x' }), 'forbidden');
  await rejectsWith(app.as(ADA).clients.update({ id: 1, login_title: 'x' }), 'forbidden');
  assert.is((await app.as(ROOT).clients.update({ id: 2, login_title: 'x' })).login_title, 'x');
});

clients('can be created only by superusers, one per site', async ({ app }) => {
  await rejectsWith(app.as(ACME).clients.create({ name: 'Mine', site: 1 }), 'forbidden');
  const taken = app.as(ROOT).clients.create({ name: 'Second', site: 1 });
  const missing = app.as(ROOT).clients.create({ name: 'Second', site: 99 });

  assert.ok((await rejectsWith(taken, 'invalid-input')).fields?.site);
  assert.ok((await rejectsWith(missing, 'invalid-input')).fields?.site);
});

sites('lists the sites of the caller’s clients', async ({ app }) => {
  const domains = async (who: string) => (await app.as(who).sites.list({})).map((site) => site.domain);

  assert.equal(await domains(ADA), ['localhost:8000']);
  assert.equal(await domains(GLOBEX), ['globex.localhost:8000']);
  assert.equal(await domains(STAFF), ['localhost:8000', 'globex.localhost:8000']);
  await rejectsWith(app.as(EDSGER).sites.get({ id: 1 }), 'not-found');
  await rejectsWith(app.as(ROOT).sites.get({ id: 99 }), 'not-found');
  await rejectsWith(app.as(null).sites.list({}), 'unauthenticated');
});

sites('can be created only by superusers, with a unique domain', async ({ app }) => {
  await rejectsWith(app.as(ACME).sites.create({ domain: 'x.test', name: 'X' }), 'forbidden');
  for (const domain of ['LOCALHOST:8000', 'two words', 'http://x.test', '']) {
    const attempt = app.as(ROOT).sites.create({ domain, name: 'X' });
    assert.ok((await rejectsWith(attempt, 'invalid-input')).fields?.domain, domain);
  }
});

sites('may have a client with a name of maximum length', async ({ app }) => {
  const site = await app.as(ROOT).sites.create({ domain: 'long.test', name: 'Long' });

  const client = await app.as(ROOT).clients.create({ name: 'n'.repeat(255), site: site.id });

  assert.is(client.login_title.length, 255);
});

clients.run();
sites.run();
