import * as assert from 'uvu/assert';
import { unzip } from '../../support/files.ts';
import { mailedEmailToken } from '../../support/mails.ts';
import { erase } from '../../support/person.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { ACME_ID, logInWithSso, personOf, ssoSuite } from '../../support/sso.ts';
import { ACME, EDSGER, GLOBEX, ROOT, type TestApp } from '../../support/test-app.ts';
import { FLEET } from '../../support/usage.ts';

const GLOBEX_ID = 2;
const reserved = ssoSuite('addresses of a client that logs its people in');

reserved.before.each(async ({ app, provider, connection }) => {
  provider.people.clear();
  const reset = { provisions: false, is_required: false, is_active: true };
  await app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, ...reset });
});

const REFUSED = 'Only its admins and superusers can add them.';

/** Requests of an admin of another client that add a person with this address, and the field that their refusal names. */
const REQUESTS: Record<string, [request: (app: TestApp, email: string) => Promise<unknown>, field: string]> =
  {
    'creates an account': [
      (app, email) => app.as(GLOBEX).users.create({ email, client: GLOBEX_ID }),
      'email',
    ],
    'invites one person': [(app, email) => app.as(GLOBEX).clients.invite({ id: GLOBEX_ID, email }), 'email'],
    'invites several people': [
      (app, email) =>
        app.as(GLOBEX).invitations.create({
          items: [
            { email: 'free@globex.test', client: GLOBEX_ID },
            { email, client: GLOBEX_ID },
          ],
        }),
      'items.1.email',
    ],
    'changes the address of a person': [
      (app, new_email) => app.as(GLOBEX).users.changeEmail({ email: EDSGER, new_email }),
      'new_email',
    ],
  };

for (const [name, [request, field]] of Object.entries(REQUESTS))
  reserved(`refuses an admin of another client who ${name}`, async ({ app, connection }) => {
    for (const email of ['nobody@acme.test', ACME]) {
      const refused = await rejectsWith(request(app, email), 'invalid-input');
      assert.match(refused.fields?.[field]?.[0] ?? '', REFUSED);
    }
    const about = { id: ACME_ID, connection_id: connection };
    await app.as(ROOT).sso.update({ ...about, is_active: false });
    await request(app, `${name.replaceAll(' ', '-')}@acme.test`);
  });

reserved('refuses to mail an invitation of another client again', async ({ app }) => {
  const items = [{ email: 'again@acme.test', client: GLOBEX_ID }];
  const [invitation] = await app.as(ROOT).invitations.create({ items });
  const id = invitation?.id ?? 0;
  const refused = await rejectsWith(app.as(GLOBEX).invitations.resend({ id }), 'invalid-input');
  assert.match(refused.fields?.email?.[0] ?? '', REFUSED);
  const { results } = await app.as(GLOBEX).invitations.bulkUpdate({ ids: [id], action: 'resend' });

  assert.is(results[0]?.status, 'failed');
  await app.as(GLOBEX).invitations.bulkUpdate({ ids: [id], action: 'revoke' });
});

reserved('ends invitations of other clients from before', async ({ app, connection }) => {
  const about = { id: ACME_ID, connection_id: connection };
  await app.as(ROOT).sso.update({ ...about, is_active: false });
  const emails = ['early@acme.test', 'early-by-root@acme.test'] as const;
  const [own] = await app.as(GLOBEX).invitations.create({ items: [{ email: emails[0], client: GLOBEX_ID }] });
  const [byRoot] = await app
    .as(ROOT)
    .invitations.create({ items: [{ email: emails[1], client: GLOBEX_ID }] });
  await app.as(ROOT).sso.update({ ...about, is_active: true });
  const names = { first_name: 'E', last_name: 'Early' };
  const accept = (key = '') => {
    const { pathname, searchParams } = new URL(app.links.invitation(key));
    const signature = searchParams.get('signature') ?? '';
    const input = { key: pathname.split('/')[2] ?? '', signature, ...names };
    return app.as(null).invitations.accept({ ...input, password: 'violet-harbor-92-kite' });
  };

  const change = app.as(GLOBEX).invitations.update({ email: emails[0], first_name: 'Other' });
  assert.match((await rejectsWith(change, 'invalid-input')).fields?.email?.[0] ?? '', REFUSED);
  const copy = app.as(GLOBEX).invitations.copyLink({ id: own?.id ?? 0 });
  assert.match((await rejectsWith(copy, 'invalid-input')).fields?.email?.[0] ?? '', REFUSED);
  await rejectsWith(accept(own?.key), 'invitation-closed');
  await accept(byRoot?.key);
});

reserved('ends changes of addresses that others have requested before', async ({ app, connection }) => {
  const about = { id: ACME_ID, connection_id: connection };
  await app.as(ROOT).sso.update({ ...about, is_active: false });
  const [email, new_email] = ['moved@globex.test', 'taken@acme.test'];
  await app.as(GLOBEX).users.create({ email, client: GLOBEX_ID });
  await app.as(GLOBEX).users.changeEmail({ email, new_email });
  const token = await mailedEmailToken(app, new_email, 'confirm');
  await app.as(ROOT).sso.update({ ...about, is_active: true });

  await rejectsWith(app.as(null).profile.confirmEmail({ token }), 'invalid-link');
});

reserved('lets its own admins and superusers add people', async ({ app }) => {
  await app.as(ACME).users.create({ email: 'own@acme.test' });
  await app.as(ACME).clients.invite({ id: ACME_ID, email: 'own-guest@acme.test' });
  await app.as(ROOT).users.create({ email: 'by-root@acme.test', client: GLOBEX_ID });
});

/** An account that another client has made, before it was refused, and removed. */
const abandon = async (app: TestApp, connection: number, email: string): Promise<void> => {
  const about = { id: ACME_ID, connection_id: connection };
  await app.as(ROOT).sso.update({ ...about, is_active: false });
  const names = { first_name: 'Named', last_name: 'Elsewhere' };
  await app.as(GLOBEX).users.create({ email, client: GLOBEX_ID, ...names, apps: [FLEET] });
  await app.as(GLOBEX).accessViews.create({ app: 'fleet', user: email, data_permissions: { secret: 1 } });
  await app.as(GLOBEX).memberships.remove({ id: GLOBEX_ID, email });
  await app.as(ROOT).sso.update({ ...about, is_active: true });
};

/** The parts of the person's own export that have anything of the other client. */
const recordedElsewhere = async (app: TestApp, email: string): Promise<string[]> => {
  const { rawPayload } = await app.send(`GET /jb/users/${email}/export/`, { as: email });
  const parts = [...(await unzip(rawPayload))].filter(([name]) => name.endsWith('.json'));
  assert.ok(parts.length > 10);
  return parts.filter(([, rows]) => /fleet|globex|secret/i.test(rows)).map(([name]) => name);
};

reserved(
  'an account that another client has left is logged in to by none, until it is erased',
  async (fixture) => {
    const { app, provider, connection } = fixture;
    const email = 'left@acme.test';
    await abandon(app, connection, email);
    await app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, provisions: true });
    provider.people.set('left', { email });
    const refused = await logInWithSso(fixture, { subject: 'left' });
    assert.match(refused.page.text, 'You have no access yet.');

    await erase(app, email);
    const { visitor, page } = await logInWithSso(fixture, { subject: 'left' });
    assert.is(await personOf(app, visitor), email, page.text);
    assert.equal(await recordedElsewhere(app, email), []);
  },
);

reserved.run();
