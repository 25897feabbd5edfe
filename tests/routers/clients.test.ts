import * as assert from 'uvu/assert';
import { CLIENT_ADMIN, CLIENT_ROLES, labelOf } from '../../src/services/access/permissions.ts';
import { userId } from '../support/access-views.ts';
import { fieldOf } from '../support/lists.ts';
import { addMember } from '../support/members.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowOf, setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const clients = appSuite('clients');

clients('lists the clients of the caller, and all for staff and superusers', async ({ app }) => {
  const names = async (who: string) => fieldOf(await app.as(who).clients.list({}), 'name');

  assert.equal(await names(ACME), ['Acme Analytics']);
  for (const who of [STAFF, ROOT]) assert.equal(await names(who), ['Acme Analytics', 'Globex Data']);
  await rejectsWith(names(ADA), 'forbidden');
});

clients('starts with the default policy and texts', async ({ app }) => {
  await app.as(ROOT).sites.create({ domain: 'New.example.test:8080', name: 'New' });
  const client = await app.as(ROOT).clients.create({ name: 'New', site: 3 });

  assert.equal(client.site, { domain: 'new.example.test:8080', formatted_name: 'new.example.test' });
  const { password_min_length, password_allow_common, password_expiration_days } = client;
  assert.equal([password_min_length, password_allow_common, password_expiration_days], [8, false, 0]);
  assert.equal([client.home_location, client.invitation_subject], ['/', '']);
  assert.ok(client.login_title && client.subtitle_404 && client.message_500);
});

clients('lists its users without roles, and its apps without usage', async ({ app }) => {
  const [admin, ...others] = await app.as(ACME).clients.users({ id: 1 });
  const apps = await app.as(ACME).clients.apps({ id: 1 });

  assert.equal([admin?.email, others.length], [ACME, 3]);
  assert.ok(admin?.last_password_set instanceof Date);
  assert.equal(fieldOf(apps, 'slug'), ['sales', 'churn']);
  assert.not.ok('clientadmin_of' in (admin ?? {}) || 'usage' in (apps[0] ?? {}));
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
    password_min_length: -1,
    password_expiration_days: -1,
    login_title: 'NUL \0',
  });

  const { fields = {} } = await rejectsWith(attempt, 'invalid-input');
  assert.is(
    Object.keys(fields).sort().join(' '),
    'default_from_email home_location invitation_subject login_title name password_expiration_days ' +
      'password_min_length support_email',
  );
  const taken = await rejectsWith(
    app.as(ACME).clients.update({ id: 1, name: 'Globex Data' }),
    'invalid-input',
  );
  assert.ok(taken.fields?.name);
});

clients('stores a minimum password length below the setting, which alone is enforced', async ({ app }) => {
  const { password_min_length } = await app.as(ACME).clients.update({ id: 1, password_min_length: 4 });
  const { rules } = await app.as(ADA).passwords.check({ password: 'seven77' });

  assert.is(password_min_length, 4);
  assert.equal(rules[0], { rule: 'min_length', message: 'At least 8 characters.', passed: false });
  await app.as(ACME).clients.update({ id: 1, password_min_length: 8 });
});

clients('stores the sender without invisible characters, and its domain in ASCII', async ({ app }) => {
  const default_from_email = 'Pia <\u200bPia@M\u00fcnchen.test> ';
  const typed = await app.as(ACME).clients.update({ id: 1, default_from_email });
  assert.is(typed.default_from_email, 'Pia <Pia@xn--mnchen-3ya.test>', 'as an erasure looks for it');
  await app.as(ACME).clients.update({ id: 1, default_from_email: '' });
});

clients('accepts only paths, web addresses and an empty text as home location', async ({ app }) => {
  const go = (home_location: string) => app.as(ACME).clients.update({ id: 1, home_location });

  for (const good of ['', '/', '/apps/', 'https://acme.test/x?y=1']) await go(good);
  for (const bad of ['//evil.test', '/\\evil.test', 'ftp://x', 'data:text/html,x', 'acme.test']) {
    assert.ok((await rejectsWith(go(bad), 'invalid-input')).fields?.home_location, bad);
  }
});

clients('and sites can be created only by superusers, one client per site and domain', async ({ app }) => {
  await rejectsWith(app.as(ACME).clients.create({ name: 'Mine', site: 1 }), 'forbidden');
  for (const site of [1, 99]) {
    const attempt = app.as(ROOT).clients.create({ name: 'Second', site });
    assert.ok((await rejectsWith(attempt, 'invalid-input')).fields?.site);
  }

  await rejectsWith(app.as(ACME).sites.create({ domain: 'x.test', name: 'X' }), 'forbidden');
  for (const domain of ['LOCALHOST:8000', 'two words', 'http://x.test', '']) {
    const attempt = app.as(ROOT).sites.create({ domain, name: 'X' });
    assert.ok((await rejectsWith(attempt, 'invalid-input')).fields?.domain, domain);
  }
});

clients('show members their own site only', async ({ app }) => {
  const domains = async (who: string) => fieldOf(await app.as(who).sites.list({}), 'domain');

  assert.equal(await domains(ADA), ['localhost:8000']);
  assert.equal(await domains(GLOBEX), ['globex.localhost:8000']);
  assert.equal((await domains(STAFF)).slice(0, 2), ['localhost:8000', 'globex.localhost:8000']);
  assert.is((await app.as(ADA).clients.site({ id: 1 })).domain, 'localhost:8000');
  await rejectsWith(app.as(ADA).clients.site({ id: 2 }), 'not-found');
  await rejectsWith(app.as(EDSGER).sites.get({ id: 1 }), 'not-found');
});

clients('gate hides the apps of a closed client from its members, until it is reopened', async ({ app }) => {
  const slugs = async (who: string) => fieldOf(await app.as(who).apps.list({}), 'slug');
  const root = app.as(ROOT);

  const closed = await root.clients.updateGate({ id: 1, is_open: false });
  assert.equal(closed, { is_open: false, embed_origins: [] });
  assert.equal(await slugs(ADA), []);
  await rejectsWith(app.as(ADA).apps.get({ app_id: 'zylTKNVx' }), 'not-found');
  assert.equal(await slugs(ACME), ['sales', 'churn']);
  assert.equal(await slugs(STAFF), ['sales', 'churn', 'fleet']);

  await root.clients.updateGate({ id: 1, is_open: true });
  assert.equal(await slugs(ADA), ['sales', 'churn']);
  const entries = await root.audit.list({ target: 'Acme Analytics', limit: 2 });
  assert.equal(fieldOf(entries, 'action'), ['client.reopen', 'client.close']);
});

clients('gate lets client admins choose sites that embed apps, but not close the client', async ({ app }) => {
  const admin = app.as(ACME).clients;

  const origins = ['https://Portal.example.com', 'https://portal.example.com:443', 'http://localhost:3000'];
  const changed = await admin.updateGate({ id: 1, embed_origins: origins });
  assert.equal(changed.embed_origins, ['https://portal.example.com', 'http://localhost:3000']);
  assert.equal(await app.as(STAFF).clients.gate({ id: 1 }), changed);
  await rejectsWith(admin.updateGate({ id: 1, is_open: false }), 'forbidden');
  assert.equal(await admin.updateGate({ id: 1, is_open: true }), changed);
  const [entry] = await app.as(ACME).audit.list({ target: 'Acme Analytics', limit: 1 });
  assert.is(entry?.action, 'client.update');
  assert.equal(entry?.details, { embed_origins: { from: [], to: changed.embed_origins } });

  // All kinds of origins are tested with `src/lib`.
  for (const origin of ['*', 'https://a.test/path']) {
    const change = admin.updateGate({ id: 1, embed_origins: ['https://a.test', origin] });
    const { fields } = await rejectsWith(change, 'invalid-input');
    assert.equal(fields, { 'embed_origins.1': ['Must be an origin, such as https://portal.example.com.'] });
  }
});

for (const role of CLIENT_ROLES) {
  const keyOf = async (app: TestApp, email: string) => ({ client_id: 1, user_id: await userId(app, email) });
  /** A member of both clients who has the role in the first. */
  const addHolder = async (app: TestApp) => {
    const email = await addMember(app, [SALES, FLEET], ROOT);
    const roles = role.name === CLIENT_ADMIN ? { is_admin: true } : { roles: [role.name] };
    await setRows(app, 'memberships', await keyOf(app, email), roles);
    return email;
  };
  const hasRole = async (app: TestApp, email: string) => {
    const { is_admin, roles } = await rowOf(app, 'memberships', await keyOf(app, email));
    return role.name === CLIENT_ADMIN ? is_admin : roles.includes(role.name);
  };
  const offboard = async (app: TestApp, email: string) =>
    (await app.as(ACME).users.bulkUpdate({ emails: [email], action: 'offboard' })).operation;
  const title = `${labelOf(role)}:`;

  clients(`roles ${title} an offboarding ends it, and its undo gives it back`, async ({ app }) => {
    const email = await addHolder(app);
    const preview = await app.as(ACME).users.previewOffboarding({ email });
    assert.equal(preview.roles, [`${labelOf(role)} of Acme Analytics`]);

    const operation = await offboard(app, email);

    assert.is(await hasRole(app, email), false);
    await app.as(ACME).operations.undo({ id: operation });
    assert.is(await hasRole(app, email), true);
    const entries = await app.as(ACME).audit.list({ target: email });
    const ofRole = entries.flatMap(({ action, details }) =>
      action === 'membership.set-roles' ? details.roles : [],
    );
    assert.equal(ofRole, [
      { from: [], to: [role.name] },
      { from: [role.name], to: [] },
    ]);
  });

  clients(`roles ${title} no undo gives it to someone who was removed since`, async ({ app }) => {
    const email = await addHolder(app);
    const operation = await offboard(app, email);
    await app.as(ROOT).memberships.remove({ id: 1, email });
    await app.as(ROOT).users.bulkUpdate({ emails: [email], action: 'grant-apps', apps: [SALES] });

    await app.as(ACME).operations.undo({ id: operation });

    assert.is(await hasRole(app, email), false);
  });
}

clients.run();
