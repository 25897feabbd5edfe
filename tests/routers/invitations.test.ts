import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, IDLE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const single = appSuite('invitations.create');
const repeated = appSuite('invitations.create: repeated');

const invite = async (app: TestApp, email: string, more: object = {}, who = ACME) => {
  const [made] = await app.as(who).invitations.create({ items: [{ email, ...more }] });
  assert.ok(made);
  return made;
};
const mailsTo = async (app: TestApp, email: string) =>
  (await app.db().selectFrom('outbox_mails').selectAll().where('recipient', '=', email).execute()).length;

single('belongs to the only client of the caller, who is the inviter', async ({ app }) => {
  const made = await invite(app, 'Guest@Example.test', {
    initial_apps: ['zylTKNVx'],
    extra: { a: 1 },
    is_demo_user: 'true',
  });

  assert.is(made.user.email, ACME);
  assert.equal(
    [made.email, made.initial_apps, made.extra, made.is_demo_user],
    ['guest@example.test', ['zylTKNVx'], { a: 1 }, 'true'],
  );
  assert.is(made.invitation_email_count, 0);
  assert.ok(made.key.length >= 32);
  assert.equal(made.date_invited, app.clock.now());
});

single('accepts is_demo_user as a string or a boolean, and returns a string', async ({ app }) => {
  assert.is((await invite(app, 'd1@x.test', { is_demo_user: true })).is_demo_user, 'true');
  assert.is((await invite(app, 'd2@x.test', { is_demo_user: 'false' })).is_demo_user, 'false');
  assert.is((await invite(app, 'd3@x.test')).is_demo_user, 'false');
  assert.is((await invite(app, 'd4@x.test', { is_demo_user: 'True' })).is_demo_user, 'true');
  assert.is((await invite(app, 'd5@x.test', { is_demo_user: 'FALSE' })).is_demo_user, 'false');
  await rejectsWith(invite(app, 'd6@x.test', { is_demo_user: 'yes' }), 'invalid-input');
});

single('enqueues its mail in the same transaction', async ({ app }) => {
  await invite(app, 'mail@x.test');

  assert.is(await mailsTo(app, 'mail@x.test'), 1);
});

single('responds over REST with an object or an array like the request', async ({ app }) => {
  const one = await app.send('POST /jb/users/invitations/', { as: ACME, payload: { email: 'r1@x.test' } });
  const many = await app.send('POST /jb/users/invitations/', { as: ACME, payload: [{ email: 'r2@x.test' }] });
  const none = await app.send('POST /jb/users/invitations/', { as: ACME, payload: [] });

  assert.is(one.json().email, 'r1@x.test');
  assert.is(many.json()[0].email, 'r2@x.test');
  assert.equal(none.json(), []);
});

single('reports errors by field, and in an array by index', async ({ app }) => {
  const bad = { email: 'bad', initial_apps: ['Hb7cW2ke'] };
  const one = await app.send('POST /jb/users/invitations/', { as: ACME, payload: bad });
  const foreign = { email: 'f@x.test', initial_apps: ['Hb7cW2ke'], client: 2 };
  const many = await app.send('POST /jb/users/invitations/', {
    as: ACME,
    payload: [{ email: 'ok@x.test' }, foreign],
  });
  const shape = await app.send('POST /jb/users/invitations/', {
    as: ACME,
    payload: [7, { email: 'ok@x.test' }],
  });
  const byClient = await app.send('POST /jb/clients/1/users/invitations/', {
    as: ACME,
    payload: { email: 'f@x.test', initial_apps: ['Hb7cW2ke'] },
  });

  assert.equal(one.json().errors, { email: ['Must be an email address.'] });
  assert.equal(many.json().errors, { 1: { client: ['You cannot invite to client 2.'] } });
  assert.equal(Object.keys(shape.json().errors), ['0']);
  assert.equal(byClient.json().errors, { initial_apps: ['This client has no app Hb7cW2ke.'] });
});

single('is refused for an active member of the client, but not of another one', async ({ app }) => {
  const attempt = await rejectsWith(invite(app, ADA), 'invalid-input');

  assert.ok(attempt.fields?.['items.0.email']);
  assert.is((await invite(app, IDLE)).email, IDLE);
  assert.is((await invite(app, EDSGER)).email, EDSGER);
});

single('requires a client from callers who administer none or several', async ({ app }) => {
  const attempt = await rejectsWith(invite(app, 'n@x.test', {}, ROOT), 'invalid-input');

  assert.ok(attempt.fields?.['items.0.client']);
  assert.is((await invite(app, 'n@x.test', { client: 2 }, ROOT)).user.email, ROOT);
  await rejectsWith(invite(app, 'n@x.test', { client: 99 }, ROOT), 'invalid-input');
});

single('is refused to members and staff', async ({ app }) => {
  await rejectsWith(invite(app, 'n@x.test', { client: 1 }, ADA), 'forbidden');
  await rejectsWith(invite(app, 'n@x.test', { client: 1 }, STAFF), 'forbidden');
});

single('is listed to its inviter, and by client and app to others who may see it', async ({ app }) => {
  await invite(app, 'globex@x.test', { initial_apps: ['Hb7cW2ke'] }, GLOBEX);
  const emails = (rows: { email: string }[]) => rows.map((row) => row.email);

  assert.equal(emails(await app.as(GLOBEX).invitations.list({})), ['globex@x.test']);
  assert.equal(emails(await app.as(GLOBEX).invitations.list({ app: 'fleet' })), ['globex@x.test']);
  assert.ok(emails(await app.as(STAFF).clients.invitations({ id: 2 })).includes('globex@x.test'));
  assert.equal(await app.as(STAFF).invitations.list({}), []);
  await rejectsWith(app.as(ACME).invitations.list({ app: 'fleet' }), 'not-found');
});

single('is listed by app to everyone who may see it, for any inviter', async ({ app }) => {
  await invite(app, 'by-root@x.test', { client: 2, initial_apps: ['Hb7cW2ke'] }, ROOT);
  await invite(app, 'no-app@x.test', { client: 2 }, ROOT);
  const listed = async (as: string) =>
    (await app.as(as).invitations.list({ app: 'fleet' })).map(({ email }) => email);

  for (const as of [GLOBEX, STAFF, ROOT]) {
    const emails = await listed(as);
    assert.ok(emails.includes('by-root@x.test'), as);
    assert.ok(emails.includes('globex@x.test'), as);
    assert.not.ok(emails.includes('no-app@x.test'), as);
  }
  await rejectsWith(listed(ACME), 'not-found');
  await rejectsWith(listed(ADA), 'forbidden');
});

repeated(
  'renews the pending invitation: merges apps, replaces extra, sends another mail',
  async ({ app }) => {
    const first = await invite(app, 'again@x.test', {
      initial_apps: ['zylTKNVx'],
      extra: { a: 1 },
      is_demo_user: true,
    });
    const second = await app.as(ACME).clients.invite({
      id: 1,
      email: 'again@x.test',
      initial_apps: ['Qm3vR8pa'],
      extra: { b: 2 },
    });
    const third = await invite(app, 'again@x.test');

    assert.is(second.id, first.id);
    assert.is(second.key, first.key);
    assert.equal(third.initial_apps, ['zylTKNVx', 'Qm3vR8pa']);
    assert.equal(third.extra, { b: 2 });
    assert.is(third.is_demo_user, 'true');
    assert.is(await mailsTo(app, 'again@x.test'), 3);
  },
);

repeated(
  'creates a new invitation after the old one has expired, which stays in the history',
  async ({ app }) => {
    const old = await invite(app, 'late@x.test');
    app.clock.advance(14 * DAY_MS);
    const ids = async (status: 'pending' | 'expired' | 'all') =>
      (await app.as(ACME).invitations.list({ status }))
        .filter((i) => i.email === 'late@x.test')
        .map((i) => i.id);

    assert.equal([await ids('pending'), await ids('expired')], [[], [old.id]]);
    const renewed = await invite(app, 'late@x.test');
    assert.equal([await ids('pending'), await ids('expired')], [[renewed.id], [old.id]]);
    assert.equal(await ids('all'), [old.id, renewed.id]);
  },
);

repeated('keeps one invitation if the same address is invited concurrently', async ({ app }) => {
  const made = await Promise.all(Array.from({ length: 12 }, () => invite(app, 'rush@x.test')));

  assert.is(new Set(made.map((invitation) => invitation.id)).size, 1);
  assert.is(await mailsTo(app, 'rush@x.test'), 12);
});

repeated('does not deadlock for bulks of the same people in different orders', async ({ app }) => {
  const people = Array.from({ length: 200 }, (_, n) => ({ email: `p${n}@x.test` }));
  const bulks = [people, people.toReversed(), people, people.toReversed()];

  const made = await Promise.all(bulks.map((items) => app.as(ACME).invitations.create({ items })));

  assert.equal(
    made[1]?.map((invitation) => invitation.email),
    people.toReversed().map((person) => person.email),
  );
});

repeated('keeps all fields if a full and a minimal invitation are concurrent', async ({ app }) => {
  for (let round = 0; round < 5; round += 1) {
    const email = `meet${round}@x.test`;
    await Promise.all([
      invite(app, email),
      invite(app, email, { extra: { keep: 1 }, is_demo_user: true }),
      invite(app, email),
    ]);
    const [kept] = (await app.as(ACME).invitations.list({})).filter((row) => row.email === email);
    assert.equal([kept?.extra, kept?.is_demo_user], [{ keep: 1 }, 'true']);
  }
});

repeated('does not deadlock with changes in two clients', async ({ app }) => {
  const emails = Array.from({ length: 30 }, (_, n) => `dl${n}@x.test`);
  const both = emails.flatMap((email) => [1, 2].map((client) => ({ email, client })));
  const halves = [both.filter((item) => item.client === 1), both.filter((item) => item.client === 2)];
  for (const items of halves) await app.as(ROOT).invitations.create({ items });

  await Promise.all([
    ...halves.map((items) => app.as(ROOT).invitations.create({ items: items.toReversed() })),
    ...emails.map((email) => app.as(ROOT).invitations.update({ email, extra: { changed: true } })),
    ...halves.map((items) => app.as(ROOT).invitations.create({ items })),
  ]);
});

repeated('shows only the address of an inviter whom the caller may not see', async ({ app }) => {
  const [admin] = await app.as(ROOT).invitations.create({ items: [{ email: 'byroot@x.test', client: 1 }] });
  await app
    .db()
    .updateTable('users')
    .set({ last_login: app.clock.now() })
    .where('email', '=', ROOT)
    .execute();
  const shown = (await app.as(ACME).clients.invitations({ id: 1 })).find((row) => row.id === admin?.id);

  assert.equal([shown?.user.email, shown?.user.last_login], [ROOT, null]);
});

for (const part of [single, repeated]) part.run();
