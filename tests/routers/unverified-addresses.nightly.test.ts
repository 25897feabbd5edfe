import * as assert from 'uvu/assert';
import { resumeErasures } from '../../src/services/data-rights/erasure-work.ts';
import { inviteByLink, mailedEmailToken, mailedPasswordPath } from '../support/mails.ts';
import { erase, rowsWith } from '../support/person.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const unverified = appSuite('an address that its mailbox has not confirmed');

const PASSWORD = 'a new-Password-2043';

let created = 0;

/** An address that Globex knows: it has invited it, and one of its apps has recorded usage of it. */
const addVictim = async (app: TestApp): Promise<string> => {
  created += 1;
  const email = `victim-${created}@globex.test`;
  const extra = { team: 'of-globex' };
  await app
    .as(GLOBEX)
    .invitations.create({ items: [{ email, client: 2, extra, initial_apps: [FLEET] }], dry_run: false });
  const entry = { email, full_name: 'Victoria of-globex', action: 'OPEN', extra };
  await app.as(GLOBEX).usage.record({ app_id: FLEET, entries: [entry] });
  return email;
};

const changeByAdmin = async (app: TestApp, from: string, to: string): Promise<void> => {
  await app.db().deleteFrom('rate_limits').where('key', 'like', 'email-change:%').execute();
  await app.as(ACME).users.changeEmail({ email: from, new_email: to });
  await app.as(null).profile.confirmEmail({ token: await mailedEmailToken(app, to, 'confirm') });
};

const setPassword = async (app: TestApp, email: string): Promise<void> => {
  const path = await mailedPasswordPath(app, email);
  const token = new URL(path, 'http://x').searchParams.get('token') ?? '';
  await app.as(null).passwords.reset({ token, password: PASSWORD });
};

/** All that an export of a person has, as text. */
const exportOf = async (app: TestApp, email: string, as = email): Promise<string> => {
  const rows: unknown[] = [];
  for await (const { part, items } of await app.as(as).users.export({ email })) rows.push([part, items]);
  return JSON.stringify(rows);
};

const linkOf = async (app: TestApp, email: string): Promise<{ key: string; signature: string }> => {
  const [invitation] = await app.as(GLOBEX).invitations.search({ search: email });
  const { url } = await app.as(ROOT).invitations.copyLink({ id: invitation?.id ?? 0 });
  const [, key = '', signature = ''] = /invitation\/(.+)\/\?signature=(.+)$/.exec(url) ?? [];
  return { key, signature };
};

/** The link as in the mailbox: the mail was sent, and the link was not copied. */
const mailedLinkOf = async (app: TestApp, email: string) => {
  const link = await linkOf(app, email);
  const mails = app.db().updateTable('outbox_mails').set({ sent_at: app.clock.now() });
  await mails.where('recipient', '=', email).where('kind', '=', 'invitation').execute();
  await app
    .db()
    .updateTable('invitations')
    .set({ is_link_shown: false })
    .where('email', '=', email)
    .execute();
  return link;
};

unverified(
  'gives nothing of its owner to an account for which a superuser has entered it',
  async ({ app }) => {
    const victim = await addVictim(app);
    const other = await addVictim(app);
    const thief = `thief-of-${victim}`;
    await app.as(ROOT).users.create({ email: victim, client: 1, apps: [SALES] });
    await app.as(ROOT).users.changeEmail({ email: victim, new_email: other });
    await changeByAdmin(app, other, thief);
    await setPassword(app, thief);

    assert.not.match(await exportOf(app, thief), 'of-globex');
  },
);

unverified('is given back by its mailbox after the person has changed it', async ({ app }) => {
  const victim = await addVictim(app);
  const link = await linkOf(app, victim);
  await app.as(null).invitations.accept({ ...link, first_name: 'V', password: PASSWORD });
  const later = `later-${victim}`;
  await app.as(victim).profile.requestEmail({ email: later });
  await app.as(victim).profile.confirmEmail({ token: await mailedEmailToken(app, later, 'confirm') });

  await app.as(null).profile.undoEmail({ token: await mailedEmailToken(app, victim, 'undo') });

  assert.is((await app.as(ROOT).users.get({ email: victim })).email, victim);
});

unverified('is free again for its owner, whom an erasure of that account leaves alone', async ({ app }) => {
  const victim = await addVictim(app);
  const thief = `thief-of-${victim}`;
  await app.as(ACME).users.create({ email: victim, apps: [SALES] });
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: victim, action: 'OPEN' }] });
  await changeByAdmin(app, victim, thief);
  await erase(app, thief);
  const [invitation] = await app.as(GLOBEX).invitations.search({ search: victim });
  assert.is(invitation?.status, 'pending');

  const link = await linkOf(app, victim);
  await app.as(null).invitations.accept({ ...link, first_name: 'V', password: PASSWORD });

  assert.equal((await app.as(GLOBEX).users.get({ email: victim })).extra, { team: 'of-globex' });
});

unverified('is not verified by an invitation whose link was copied', async ({ app }) => {
  const victim = await addVictim(app);
  const { path } = await inviteByLink(app, { email: victim, by: ROOT });
  const [, key = '', signature = ''] = /invitation\/(.+)\/\?signature=(.+)$/.exec(path) ?? [];
  await app.as(null).invitations.accept({ key, signature, first_name: 'T', password: PASSWORD });

  const exported = await exportOf(app, victim);
  assert.not.match(exported, 'of-globex');
  assert.match(exported, 'invitation.accept');
});

unverified(
  'leaves nothing to the next account that gets it, and stays in the export of the person',
  async ({ app }) => {
    const victim = await addVictim(app);
    const link = await linkOf(app, victim);
    await app.as(null).invitations.accept({ ...link, first_name: 'V', password: PASSWORD });
    const later = `later-${victim}`;
    await app.as(victim).profile.requestEmail({ email: later });
    await app.as(victim).profile.confirmEmail({ token: await mailedEmailToken(app, later, 'confirm') });
    const { path } = await inviteByLink(app, { email: victim, by: ROOT });
    const [, key = '', signature = ''] = /invitation\/(.+)\/\?signature=(.+)$/.exec(path) ?? [];
    await app.as(null).invitations.accept({ key, signature, first_name: 'T', password: PASSWORD });

    const exported = await exportOf(app, victim, ROOT);
    assert.not.match(exported, 'of-globex');
    assert.not.match(exported, later);
    assert.match(await exportOf(app, later), 'of-globex');
  },
);

unverified('is verified by an invitation that was mailed', async ({ app }) => {
  const victim = await addVictim(app);
  const link = await mailedLinkOf(app, victim);
  await app.as(null).invitations.accept({ ...link, first_name: 'V', password: PASSWORD });
  await app.as(ROOT).users.update({ email: victim, apps: [SALES] });
  await app.as(GLOBEX).memberships.remove({ id: 2, email: victim });

  assert.match(await exportOf(app, victim, ROOT), 'of-globex');
});

unverified('is not verified by a mailed invitation whose link was copied, too', async ({ app }) => {
  const victim = await addVictim(app);
  const { path } = await inviteByLink(app, { email: victim, by: ROOT });
  const mails = app.db().updateTable('outbox_mails').set({ sent_at: app.clock.now() });
  await mails.where('recipient', '=', victim).execute();
  const [, key = '', signature = ''] = /invitation\/(.+)\/\?signature=(.+)$/.exec(path) ?? [];
  await app.as(null).invitations.accept({ key, signature, first_name: 'T', password: PASSWORD });

  assert.not.match(await exportOf(app, victim), 'of-globex');
});

unverified('keeps what other clients recorded from the next holder of the account', async ({ app }) => {
  const victim = await addVictim(app);
  const thief = `thief-of-${victim}`;
  const link = await mailedLinkOf(app, victim);
  await app.as(null).invitations.accept({ ...link, first_name: 'V', password: PASSWORD });
  await app
    .as(GLOBEX)
    .accessViews.create({ app: 'fleet', user_email: victim, data_permissions: { of: 'of-globex' } });
  assert.match(await exportOf(app, victim), 'of-globex');
  await app.as(ROOT).users.update({ email: victim, apps: [SALES, FLEET] });
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: victim, action: 'OPEN' }] });
  await app.as(GLOBEX).memberships.remove({ id: 2, email: victim });
  assert.match(await exportOf(app, victim, ROOT), 'of-globex');
  assert.not.match(await exportOf(app, victim), 'of-globex', 'the person themselves');

  await changeByAdmin(app, victim, thief);
  await setPassword(app, thief);

  const exported = await exportOf(app, thief);
  assert.not.match(exported, 'of-globex');
  assert.match(exported, '"action":"OPEN"');
  // Nor does it keep the address from its owner.
  await app.as(GLOBEX).users.create({ email: victim });
});

unverified(
  'keeps requests and filters for apps of other clients from the next holder of the account',
  async ({ app }) => {
    const person = 'handed@acme.test';
    const later = `later-${person}`;
    await app.as(ROOT).users.create({ email: person, client: 1, apps: [SALES, FLEET] });
    const stack = 'd3d64b79';
    await app.as(person).savedFilters.create({ stack_id: stack, hash: 'of-globex', name: 'Of Globex' });
    await app.as(GLOBEX).apps.update({ app_id: FLEET, is_requestable: true });
    await app.as(GLOBEX).users.update({ email: person, apps: [] });
    const { id } = await app.as(person).requests.create({ app: FLEET, reason: 'For of-globex' });
    await app.as(GLOBEX).requests.deny({ id, version: 1, reason: 'Said of-globex' });
    await app.as(person).tokens.createNamed({ name: 'Of both' });
    assert.is((await app.as(person).requests.list({})).length, 1, 'of the person');
    await app.as(GLOBEX).memberships.remove({ id: 2, email: person });
    await changeByAdmin(app, person, later);
    await setPassword(app, later);

    assert.equal(await app.as(later).requests.list({}), []);
    await rejectsWith(app.as(later).requests.get({ id }), 'not-found');
    await rejectsWith(app.as(later).requests.withdraw({ id }), 'not-found');
    assert.equal(await app.as(later).savedFilters.list({}), []);
    const filters = app.as(later).savedFilters;
    await rejectsWith(filters.get({ hash: 'of-globex' }), 'not-found');
    await rejectsWith(filters.remove({ hash: 'of-globex' }), 'not-found');
    await rejectsWith(filters.listByStack({ stack_id: stack }), 'not-found');
    const exported = await exportOf(app, later);
    assert.not.match(exported, 'of-globex');
    assert.not.match(exported, 'Of both');
  },
);

unverified(
  'names the person for the time in which they had it, also after another account gets it',
  async ({ app }) => {
    const person = 'renamed@globex.test';
    const later = `later-${person}`;
    await app.as(GLOBEX).users.create({ email: person, apps: [FLEET] });
    await app.as(person).tokens.createNamed({ name: 'Of the person' });
    await app.as(GLOBEX).usage.record({ app_id: FLEET, entries: [{ email: person, action: 'BEFORE' }] });
    app.clock.advance(1_000);
    await app.as(ROOT).users.changeEmail({ email: person, new_email: later });
    app.clock.advance(1_000);
    const search = async () => {
      const audit = await app.as(GLOBEX).audit.list({ person: later, limit: 100 });
      const { items } = await app.as(GLOBEX).usage.list({ app_id: FLEET, email: later });
      const timeline = await app.as(GLOBEX).mail.timeline({ email: later });
      return [audit.length, items.map(({ action }) => action), timeline.length];
    };
    const before = await search();
    await app.as(ACME).users.create({ email: person, apps: [SALES] });
    await app.as(GLOBEX).usage.record({ app_id: FLEET, entries: [{ email: person, action: 'LATE' }] });

    const [audit, usage, timeline] = await search();
    assert.equal([audit, timeline], [before[0], before[2]]);
    assert.equal(usage, ['LATE', 'BEFORE']);
    const days = app.db().selectFrom('usage_days').select(['email', 'actions']).where('app_id', '=', FLEET);
    assert.equal(await days.where('email', 'in', [person, later]).execute(), [{ email: later, actions: 2 }]);
    const exported = await exportOf(app, person, ROOT);
    assert.not.match(exported, 'BEFORE');
    assert.not.match(exported, 'Of the person');
    await erase(app, later);
    const left = app.db().selectFrom('audit_entries').select('action').where('actor_label', '=', person);
    assert.equal(await left.execute(), []);
    assert.is((await app.as(ACME).users.get({ email: person })).email, person);
  },
);

unverified('stays closed to the new holder if the client of before adds them', async ({ app }) => {
  const victim = await addVictim(app);
  const thief = `thief-of-${victim}`;
  await app.as(null).invitations.accept({
    ...(await mailedLinkOf(app, victim)),
    first_name: 'V',
    password: PASSWORD,
  });
  const view = { app: 'fleet', user_email: victim, data_permissions: { of: 'of-globex' } };
  await app.as(GLOBEX).accessViews.create(view);
  await app.as(ROOT).users.update({ email: victim, apps: [SALES, FLEET] });
  const own = `own-${victim}`;
  await app.as(victim).profile.requestEmail({ email: own });
  await app.as(victim).profile.confirmEmail({ token: await mailedEmailToken(app, own, 'confirm') });
  app.clock.advance(1_000);
  await app.as(GLOBEX).memberships.remove({ id: 2, email: own });
  await changeByAdmin(app, own, thief);
  app.clock.advance(1_000);
  await app.as(ROOT).grants.create({ app_id: FLEET, email: thief });
  await setPassword(app, thief);

  assert.not.match(await exportOf(app, thief), 'of-globex');
  const { items } = await app.as(GLOBEX).usage.list({ app_id: FLEET, email: thief });
  assert.equal(items, []);
  for (const email of [victim, own]) await app.as(GLOBEX).users.create({ email });
});

unverified('is not taken from its owner by an account that had it unverified', async ({ app }) => {
  const victim = await addVictim(app);
  await app.as(ACME).users.create({ email: victim, apps: [SALES] });
  await changeByAdmin(app, victim, `thief-of-${victim}`);
  app.clock.advance(1_000);
  const link = await mailedLinkOf(app, victim);
  await app.as(null).invitations.accept({ ...link, first_name: 'V', password: PASSWORD });

  const { items } = await app.as(GLOBEX).usage.list({ app_id: FLEET, email: victim });
  assert.is(items.length, 1);
  assert.match(await exportOf(app, victim), 'of-globex');
  await erase(app, victim);
  const left = app.db().selectFrom('usage_entries').select('id').where('email', '=', victim);
  assert.equal(await left.where('app_id', '=', FLEET).execute(), []);
});

unverified(
  'is not erased from the time before by the erasure of the next account that gets it',
  async ({ app }) => {
    const person = 'corrected@globex.test';
    const later = `later-${person}`;
    await app.as(GLOBEX).users.create({ email: person, apps: [FLEET] });
    await app.as(person).tokens.createNamed({ name: 'Of the person' });
    app.clock.advance(1_000);
    await app.as(ROOT).users.changeEmail({ email: person, new_email: later });
    app.clock.advance(60_000);
    await app.as(ACME).users.create({ email: person, apps: [SALES] });
    const audit = () => app.as(GLOBEX).audit.list({ person: later, limit: 100 });
    const before = await audit();
    await erase(app, person);

    assert.equal(await audit(), before);
  },
);

unverified(
  'does not name its former holder in records of the next one right after the change',
  async ({ app }) => {
    const person = 'soon@both.test';
    await app.as(ACME).users.create({ email: person, apps: [SALES] });
    await app.as(ROOT).users.changeEmail({ email: person, new_email: `was-${person}` });
    app.clock.advance(2_000);
    await app.as(GLOBEX).users.create({ email: person, apps: [FLEET] });
    await app.as(GLOBEX).usage.record({ app_id: FLEET, entries: [{ email: person, action: 'OPEN' }] });
    await app.db().updateTable('email_changes').set({ was_verified: true }).execute();

    await erase(app, `was-${person}`);

    const { items } = await app.as(GLOBEX).usage.list({ app_id: FLEET, limit: 1 });
    assert.is(items[0]?.email, person);
  },
);

unverified('is erased from the entry of the change, too', async ({ app }) => {
  const person = 'entry@globex.test';
  const later = `later-${person}`;
  await app.as(GLOBEX).users.create({ email: person, apps: [FLEET] });
  await app.db().updateTable('users').set({ is_email_verified: true }).where('email', '=', person).execute();
  await app.as(ROOT).users.changeEmail({ email: person, new_email: later });
  await erase(app, later);
  await resumeErasures(app.orm.em.fork(), app.clock);

  assert.equal(await rowsWith(app, [person]), []);
});

unverified('is not known to clients that the person has joined afterwards', async ({ app }) => {
  const victim = await addVictim(app);
  const later = `later-${victim}`;
  await app.as(null).invitations.accept({
    ...(await mailedLinkOf(app, victim)),
    first_name: 'V',
    password: PASSWORD,
  });
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: victim, action: 'OPEN' }] });
  app.clock.advance(1_000);
  await app.as(victim).profile.requestEmail({ email: later });
  await app.as(victim).profile.confirmEmail({ token: await mailedEmailToken(app, later, 'confirm') });
  app.clock.advance(1_000);
  await app.as(ROOT).users.update({ email: later, apps: [SALES, FLEET] });

  const usageFor = async (as: string, app_id: string) =>
    (await app.as(as).usage.list({ app_id, email: later })).items.length;
  assert.equal([await usageFor(ACME, SALES), await usageFor(GLOBEX, FLEET)], [0, 1]);
});

unverified.run();
