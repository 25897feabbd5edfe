import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { mailedEmailToken } from '../support/mails.ts';
import { erase } from '../support/person.ts';
import { ACME, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const erasures = appSuite('clients and erasures');

const CLIENTS = {
  acme: { id: 1, admin: ACME, app: SALES },
  globex: { id: 2, admin: GLOBEX, app: FLEET },
} as const;

type Name = keyof typeof CLIENTS;

/** A person of a client, whose mailbox has confirmed the address. */
const addPerson = async (app: TestApp, client: Name, email: string, names = {}): Promise<void> => {
  await app.as(ROOT).users.create({ email, client: CLIENTS[client].id, ...names });
  await app.db().updateTable('users').set({ is_email_verified: true }).where('email', '=', email).execute();
};

/** Records usage, and returns the address under which the client finds it. */
const recordedAs = async (app: TestApp, client: Name, email: string, timestamp?: Date): Promise<string> => {
  const { admin, app: app_id } = CLIENTS[client];
  const entry = { email, action: 'REPORT', full_name: 'Late', ...(timestamp && { timestamp }) };
  await app.as(admin).usage.record({ app_id, entries: [entry] });
  const found = app.db().selectFrom('usage_entries').select('email').where('app_id', '=', app_id);
  return (await found.orderBy('id', 'desc').executeTakeFirstOrThrow()).email;
};

erasures('get the pseudonym in later usage of clients that had the person only', async ({ app }) => {
  const email = 'late@globex.test';
  await addPerson(app, 'globex', email);

  const { pseudonym } = await erase(app, email);

  assert.is(await recordedAs(app, 'globex', email), pseudonym);
  assert.is(await recordedAs(app, 'acme', email), email);
});

erasures('get the pseudonym in later usage of clients that had recorded the address', async ({ app }) => {
  const email = 'recorded@globex.test';
  await addPerson(app, 'globex', email);
  await recordedAs(app, 'acme', email);

  const { pseudonym } = await erase(app, email);

  assert.is(await recordedAs(app, 'acme', email), pseudonym);
});

erasures('show no other client the time of an erasure by an account of the address', async ({ app }) => {
  const email = 'time@globex.test';
  await addPerson(app, 'globex', email);
  await erase(app, email);

  await app.as(ACME).users.create({ email });

  assert.is(await recordedAs(app, 'acme', email, new Date(app.clock.now().getTime() - MINUTE_MS)), email);
});

erasures('show no client the invitations and accounts that others have for the address', async ({ app }) => {
  const email = 'again@both.test';
  await addPerson(app, 'acme', email);
  const { pseudonym } = await erase(app, email);
  const found: string[] = [];

  await app.as(GLOBEX).clients.invite({ id: 2, email });
  found.push(await recordedAs(app, 'acme', email));
  await app.as(GLOBEX).users.create({ email });
  found.push(await recordedAs(app, 'acme', email));

  assert.equal(found, [pseudonym, pseudonym]);
  assert.is(await recordedAs(app, 'globex', email), email);
});

erasures('do not connect two addresses of a person for clients that know one', async ({ app }) => {
  const [former, email] = ['one@globex.test', 'two@globex.test'];
  await addPerson(app, 'globex', former);
  await recordedAs(app, 'globex', former);
  await app.db().updateTable('users').set({ email }).where('email', '=', former).execute();
  const { id } = await app
    .db()
    .selectFrom('users')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirstOrThrow();
  const now = app.clock.now();
  const change = { user_id: id, old_email: former, new_email: email, requested_at: now, changed_at: now };
  await app
    .db()
    .insertInto('email_changes')
    .values({ ...change, was_verified: true })
    .execute();
  app.clock.advance(MINUTE_MS);
  await recordedAs(app, 'acme', email);

  const { pseudonym } = await erase(app, email);

  assert.equal(
    [await recordedAs(app, 'acme', former), await recordedAs(app, 'acme', email)],
    [former, pseudonym],
  );
  assert.is(await recordedAs(app, 'globex', former), pseudonym);
});

/** What a client has of an address in its usage log. */
const namesIn = async (app: TestApp, client: Name, email: string): Promise<string[]> => {
  const { admin, app: app_id } = CLIENTS[client];
  const { items } = await app.as(admin).usage.list({ app_id, email });
  return items.map(({ full_name }) => full_name);
};

erasures(
  'reach no records of others under an address through which an admin has led the account',
  async ({ app }) => {
    const [desk, stranger, back] = ['desk@acme.test', 'stranger@free.test', 'desk-again@acme.test'];
    await addPerson(app, 'acme', desk);
    await recordedAs(app, 'globex', stranger);
    const [invited] = await app.as(GLOBEX).invitations.create({ items: [{ email: stranger, client: 2 }] });
    await app.as(ACME).users.changeEmail({ email: desk, new_email: stranger });
    await app.as(null).profile.confirmEmail({ token: await mailedEmailToken(app, stranger, 'confirm') });
    app.clock.advance(MINUTE_MS);
    await app.as(ACME).users.changeEmail({ email: stranger, new_email: back });
    await app.as(null).profile.confirmEmail({ token: await mailedEmailToken(app, back, 'confirm') });
    app.clock.advance(MINUTE_MS);

    await erase(app, back);

    assert.equal(await namesIn(app, 'globex', stranger), ['Late']);
    const [found] = await app.as(GLOBEX).invitations.search({ search: stranger, client: 2 });
    assert.equal([found?.id, found?.status], [invited?.id, 'pending']);
  },
);

erasures('reach nothing that was recorded of another who had the address for a while', async ({ app }) => {
  const [owner, visited] = ['owner@globex.test', 'visited@free.test'];
  await addPerson(app, 'globex', owner);
  await app.as(owner).profile.requestEmail({ email: visited });
  await app.as(owner).profile.confirmEmail({ token: await mailedEmailToken(app, visited, 'confirm') });
  await recordedAs(app, 'globex', visited);
  app.clock.advance(MINUTE_MS);
  await app.as(null).profile.undoEmail({ token: await mailedEmailToken(app, owner, 'undo') });
  app.clock.advance(MINUTE_MS);
  await addPerson(app, 'acme', visited);

  await erase(app, visited);

  assert.equal(await namesIn(app, 'globex', visited), ['Late']);
});

erasures('of one address in two clients each keep their pseudonym', async ({ app }) => {
  const email = 'twice@both.test';
  await addPerson(app, 'globex', email);
  const first = await erase(app, email);
  await addPerson(app, 'acme', email);

  const second = await erase(app, email);

  assert.is(await recordedAs(app, 'globex', email), first.pseudonym);
  assert.is(await recordedAs(app, 'acme', email), second.pseudonym);
});

erasures('leave the names of later invitations in the audit trail', async ({ app }) => {
  const email = 'invited@globex.test';
  await addPerson(app, 'globex', email);
  await erase(app, email);

  for (const { id, admin } of [CLIENTS.acme, CLIENTS.globex]) {
    await app.as(admin).clients.invite({ id, email });
    const [invitation] = await app.as(admin).invitations.search({ search: email, client: id });
    await app.as(admin).invitations.revoke({ id: invitation?.id ?? 0 });
    const [entry] = await app.as(admin).audit.list({ action: 'invitation.revoke' });
    assert.is(entry?.target, email);
  }
});

erasures.run();
