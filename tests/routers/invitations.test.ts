import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { fieldOf } from '../support/lists.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, IDLE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const invitations = appSuite('invitations');

const invite = async (app: TestApp, email: string, more: object = {}, who = ACME) => {
  const [made] = await app.as(who).invitations.create({ items: [{ email, ...more }] });
  assert.ok(made);
  return made;
};

const mailsTo = async (app: TestApp, email: string) =>
  (await app.db().selectFrom('outbox_mails').selectAll().where('recipient', '=', email).execute()).length;

invitations('create belongs to the only client of the caller, who is the inviter', async ({ app }) => {
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

invitations('create accepts is_demo_user as a string or a boolean, and returns a string', async ({ app }) => {
  assert.is((await invite(app, 'd1@x.test', { is_demo_user: true })).is_demo_user, 'true');
  assert.is((await invite(app, 'd2@x.test', { is_demo_user: 'false' })).is_demo_user, 'false');
  assert.is((await invite(app, 'd3@x.test')).is_demo_user, 'false');
  assert.is((await invite(app, 'd4@x.test', { is_demo_user: 'True' })).is_demo_user, 'true');
  assert.is((await invite(app, 'd5@x.test', { is_demo_user: 'FALSE' })).is_demo_user, 'false');
  await rejectsWith(invite(app, 'd6@x.test', { is_demo_user: 'yes' }), 'invalid-input');
});

invitations('create enqueues its mail in the same transaction', async ({ app }) => {
  await invite(app, 'mail@x.test');

  assert.is(await mailsTo(app, 'mail@x.test'), 1);
});

invitations('create responds over REST with an object or an array like the request', async ({ app }) => {
  const one = await app.send('POST /jb/users/invitations/', { as: ACME, payload: { email: 'r1@x.test' } });
  const many = await app.send('POST /jb/users/invitations/', {
    as: ACME,
    payload: [{ email: 'r2@x.test' }],
  });
  const none = await app.send('POST /jb/users/invitations/', { as: ACME, payload: [] });

  assert.is(one.json().email, 'r1@x.test');
  assert.is(many.json()[0].email, 'r2@x.test');
  assert.equal(none.json(), []);
});

invitations('create without a client is for the client of its apps', async ({ app }) => {
  const create = (initial_apps: string[]) =>
    app.as(ROOT).invitations.create({ items: [{ email: 'byapp@x.test', initial_apps }] });

  await create(['Hb7cW2ke']);
  const found = await app.as(GLOBEX).invitations.search({ search: 'byapp@x.test' });
  assert.equal(found.length, 1);
  assert.ok((await rejectsWith(create([]), 'invalid-input')).fields?.['items.0.client']);
  assert.ok(
    (await rejectsWith(create(['Hb7cW2ke', 'zylTKNVx']), 'invalid-input')).fields?.['items.0.initial_apps'],
  );
});

invitations('create reports errors by field, and in an array by index', async ({ app }) => {
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

invitations(
  'create is refused for an active member of the client, but not of another one',
  async ({ app }) => {
    const attempt = await rejectsWith(invite(app, ADA), 'invalid-input');

    assert.ok(attempt.fields?.['items.0.email']);
    assert.is((await invite(app, IDLE)).email, IDLE);
    assert.is((await invite(app, EDSGER)).email, EDSGER);
  },
);

invitations('create requires a client from callers who administer none or several', async ({ app }) => {
  const attempt = await rejectsWith(invite(app, 'n@x.test', {}, ROOT), 'invalid-input');

  assert.ok(attempt.fields?.['items.0.client']);
  assert.is((await invite(app, 'n@x.test', { client: 2 }, ROOT)).user.email, ROOT);
  await rejectsWith(invite(app, 'n@x.test', { client: 99 }, ROOT), 'invalid-input');
});

invitations(
  'create is listed to its inviter, and by client and app to others who may see it',
  async ({ app }) => {
    await invite(app, 'globex@x.test', { initial_apps: ['Hb7cW2ke'] }, GLOBEX);
    const emails = (rows: { email: string }[]) => rows.map((row) => row.email);

    assert.equal(emails(await app.as(GLOBEX).invitations.list({})), ['globex@x.test']);
    assert.ok(emails(await app.as(GLOBEX).invitations.list({ app: 'fleet' })).includes('globex@x.test'));
    assert.ok(emails(await app.as(STAFF).clients.invitations({ id: 2 })).includes('globex@x.test'));
    assert.equal(await app.as(STAFF).invitations.list({}), []);
    await rejectsWith(app.as(ACME).invitations.list({ app: 'fleet' }), 'not-found');
  },
);

invitations('create is listed by app to everyone who may see it, for any inviter', async ({ app }) => {
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

invitations(
  'repeated renews the pending invitation: merges apps, replaces extra, sends another mail',
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

invitations(
  'repeated creates a new invitation after the old one has expired, which stays in the history',
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

invitations('repeated keeps one invitation if the same address is invited concurrently', async ({ app }) => {
  const made = await Promise.all(Array.from({ length: 12 }, () => invite(app, 'rush@x.test')));

  assert.is(new Set(made.map((invitation) => invitation.id)).size, 1);
  assert.is(await mailsTo(app, 'rush@x.test'), 12);
});

invitations(
  'repeated does not deadlock for bulks of the same people in different orders',
  async ({ app }) => {
    const people = Array.from({ length: 200 }, (_, n) => ({ email: `p${n}@x.test` }));
    const bulks = [people, people.toReversed(), people, people.toReversed()];

    const made = await Promise.all(bulks.map((items) => app.as(ACME).invitations.create({ items })));

    assert.equal(
      made[1]?.map((invitation) => invitation.email),
      people.toReversed().map((person) => person.email),
    );
  },
);

invitations(
  'repeated keeps all fields if a full and a minimal invitation are concurrent',
  async ({ app }) => {
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
  },
);

invitations('repeated does not deadlock with changes in two clients', async ({ app }) => {
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

invitations('repeated shows only the address of an inviter whom the caller may not see', async ({ app }) => {
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

const PASSWORD = 'violet-harbor-92-kite';

const BARBARA = { first_name: 'Barbara', last_name: 'Liskov' };

const inviteNamed = async (app: TestApp, email: string, given: Partial<typeof BARBARA>) => {
  const items = [{ email, client: 1, ...given }];
  const [invitation] = await app.as(ACME).invitations.create({ items });
  const { key = '', id = 0 } = invitation ?? {};
  const { searchParams } = new URL(app.links.invitation(key));
  return { id, key, signature: searchParams.get('signature') ?? '' };
};

const namesOf = async (app: TestApp, id: number) => {
  const { first_name, last_name } = await app.as(ACME).invitations.get({ id });
  return { first_name, last_name };
};

invitations(
  'names are proposed to the invitee, and become those of the user if none are sent',
  async ({ app }) => {
    const { id, ...link } = await inviteNamed(app, 'barbara@new.test', BARBARA);
    const page = await app.as(null).invitations.preview(link);
    const { user } = await app.as(null).invitations.accept({ ...link, password: PASSWORD });

    assert.equal(await namesOf(app, id), BARBARA);
    for (const shown of [page, user])
      assert.equal({ first_name: shown?.first_name, last_name: shown?.last_name }, BARBARA);
  },
);

invitations('names give way to those that the invitee sends', async ({ app }) => {
  const { id, ...link } = await inviteNamed(app, 'bea@new.test', BARBARA);
  const own = { first_name: 'Bea', last_name: '' };
  const { user } = await app.as(null).invitations.accept({ ...link, ...own, password: PASSWORD });

  assert.equal([user?.first_name, user?.last_name], ['Bea', '']);
});

invitations('names count for the rules of passwords', async ({ app }) => {
  const { id, ...link } = await inviteNamed(app, 'weak@new.test', { first_name: 'Ottokarina' });
  const attempt = app.as(null).invitations.accept({ ...link, password: 'ottokarina1' });

  assert.equal(Object.keys((await rejectsWith(attempt, 'invalid-input')).fields ?? {}), ['password']);
});

invitations(
  'names change with a repeated invitation that states them, and stay with one that does not',
  async ({ app }) => {
    const email = 'again@new.test';
    const { id } = await inviteNamed(app, email, BARBARA);
    await inviteNamed(app, email, {});
    assert.equal(await namesOf(app, id), BARBARA);
    await inviteNamed(app, email, { first_name: 'Bea' });
    assert.equal(await namesOf(app, id), { ...BARBARA, first_name: 'Bea' });
  },
);

invitations(
  'names can be corrected while the invitation is pending, which is recorded without them',
  async ({ app }) => {
    const email = 'typo@new.test';
    const { id } = await inviteNamed(app, email, { ...BARBARA, last_name: 'Lisskov' });
    await app.as(ACME).invitations.update({ email, last_name: BARBARA.last_name });

    assert.equal(await namesOf(app, id), BARBARA);
    const [entry] = await app.as(ACME).audit.list({ target: email });
    assert.is(entry?.action, 'invitation.update');
    assert.not.match(JSON.stringify(entry), 'Liskov');
  },
);

invitations('names must fit', async ({ app }) => {
  const items = [{ email: 'long@new.test', client: 1, first_name: 'x'.repeat(151) }];
  const problem = await rejectsWith(app.as(ACME).invitations.create({ items }), 'invalid-input');

  assert.equal(Object.keys(problem.fields ?? {}), ['items.0.first_name']);
});

invitations('names are proposed by the page of the link', async ({ app }) => {
  const { key, signature } = await inviteNamed(app, 'page@new.test', BARBARA);
  const { body } = await app.send(`GET !/invitation/${key}/?signature=${signature}`);

  assert.match(body, /name="first_name"[^>]*value="Barbara"/);
  assert.match(body, /name="last_name"[^>]*value="Liskov"/);
});

let invited = 0;

type Given = { initial_apps?: string[]; groups?: number[]; apps_expire_at?: Date };

const inviteWith = async (app: TestApp, given: Given) => {
  invited += 1;
  const email = `team${invited}@new.test`;
  const [created] = await app.as(ACME).invitations.create({ items: [{ email, client: 1, ...given }] });
  return { email, id: created?.id ?? 0 };
};

/** Accepts by the link, and returns what the person has then. */
const accept = async (app: TestApp, { email, id }: { email: string; id: number }) => {
  const { url } = await app.as(ROOT).invitations.copyLink({ id });
  const [, key = '', signature = ''] =
    /invitations?\/([^/]+)\/(?:\?signature=|#)?([^/]+)\/?$/.exec(url) ?? [];
  const page = await app.as(null).invitations.preview({ key, signature });
  await app.as(null).invitations.accept({ key, signature, password: PASSWORD });
  const { apps } = await app.as(ROOT).users.get({ email });
  const grants = await app.as(ROOT).access.listByUser({ email });
  return { page, apps, ends: grants.map(({ app, expires_at }) => [app, expires_at]) };
};

let teams = 0;
const makeGroup = async (app: TestApp, client = 1, apps = [CHURN]) =>
  (await app.as(ROOT).groups.create({ id: client, name: `Team ${++teams}`, apps })).id;

invitations('to groups give the apps of the groups, and grants that end', async ({ app }) => {
  const group = await makeGroup(app);
  const end = new Date(app.clock.now().getTime() + 14 * DAY_MS);
  const invitation = await inviteWith(app, { initial_apps: [SALES], groups: [group], apps_expire_at: end });
  const details = await app.as(ACME).invitations.get({ id: invitation.id });
  assert.equal([details.groups, details.apps_expire_at], [[group], end]);

  const { page, apps, ends } = await accept(app, invitation);

  assert.is(page.apps.length, 2);
  assert.equal(apps.toSorted(), [CHURN, SALES].toSorted());
  assert.equal(
    ends.filter(([id]) => id === SALES),
    [[SALES, end]],
  );
  const { members } = await app.as(ACME).groups.get({ id: 1, group_id: group });
  assert.equal(members, [invitation.email]);
  const [path] = (await app.as(ACME).access.explain({ email: invitation.email, app_id: CHURN })).paths;
  assert.equal([path?.kind, path?.granted_by], ['group', ACME]);
});

invitations('to groups give no app whose time is over when they are accepted', async ({ app }) => {
  const end = new Date(app.clock.now().getTime() + 60_000);
  const invitation = await inviteWith(app, { initial_apps: [SALES], apps_expire_at: end });
  await sql`update invitations set apps_expire_at = ${app.clock.now()}::timestamptz - interval '1 hour' where id = ${invitation.id}`.execute(
    app.db(),
  );

  assert.equal((await accept(app, invitation)).apps, []);
});

invitations(
  'to groups refuse groups of another client and times in the past, by the name of the field',
  async ({ app }) => {
    const foreign = await makeGroup(app, 2, [FLEET]);
    const items = [
      { email: 'a@new.test', client: 1, groups: [foreign] },
      { email: 'b@new.test', client: 1, apps_expire_at: new Date(0) },
    ];
    const { fields } = await rejectsWith(app.as(ACME).invitations.create({ items }), 'invalid-input');
    assert.equal(Object.keys(fields ?? {}), ['items.0.groups', 'items.1.apps_expire_at']);
    const { email } = await inviteWith(app, {});
    const update = (changes: object) => app.as(ACME).invitations.update({ email, ...changes });
    const refused = await rejectsWith(update({ groups: [foreign] }), 'invalid-input');
    assert.equal(Object.keys(refused.fields ?? {}), ['groups']);
    const past = await rejectsWith(update({ apps_expire_at: new Date(0) }), 'invalid-input');
    assert.equal(Object.keys(past.fields ?? {}), ['apps_expire_at']);
  },
);

invitations(
  'to groups are changed while they are pending, and keep what a renewal does not name',
  async ({ app }) => {
    const [one, two] = [await makeGroup(app), await makeGroup(app, 1, [SALES])];
    const end = new Date(app.clock.now().getTime() + DAY_MS);
    const { email, id } = await inviteWith(app, {
      initial_apps: [SALES],
      groups: [one],
      apps_expire_at: end,
    });
    const stateOf = async () => {
      const { groups, apps_expire_at, initial_apps } = await app.as(ACME).invitations.get({ id });
      return { groups, apps_expire_at, initial_apps };
    };
    await app.as(ACME).invitations.create({ items: [{ email, client: 1, groups: [two] }] });
    assert.equal(await stateOf(), { groups: [one, two], apps_expire_at: end, initial_apps: [SALES] });
    await app.as(ACME).invitations.update({ email, groups: [two], apps_expire_at: null });
    assert.equal(await stateOf(), { groups: [two], apps_expire_at: null, initial_apps: [SALES] });
    await app.as(ACME).groups.remove({ id: 1, group_id: two });
    assert.equal((await stateOf()).groups, []);
  },
);

invitations(
  'to groups are taken by the path of a client, and not shown in its documented shape',
  async ({ app }) => {
    const group = await makeGroup(app);
    const created = await app.send('POST /jb/clients/1/users/invitations/', {
      as: ACME,
      payload: { email: 'path@new.test', groups: [group], apps_expire_at: '2099-01-31T12:00:00Z' },
    });
    assert.is(created.statusCode, 200, created.body);
    const { id, groups, apps_expire_at } = created.json();
    assert.equal([groups, apps_expire_at], [undefined, undefined]);
    assert.equal((await app.as(ACME).invitations.get({ id })).groups, [group]);
    assert.equal(
      (await app.as(GLOBEX).invitations.search({})).some((found) => found.id === id),
      false,
    );
  },
);

const PATH = '/jb/users/invitations/';

const peopleOf = (domain: string) =>
  [
    { email: `new@${domain}`, initial_apps: [CHURN, SALES, CHURN], is_demo_user: true },
    { email: `odd@${domain}`, extra: { '"\\': '\u0001\ud800🎉\u2028', list: [null, 1.5, { a: {} }] } },
    { email: `pending@${domain}`, initial_apps: [CHURN] },
    { email: `over@${domain}`, is_demo_user: 'true', initial_apps: [SALES] },
    { email: `plain@${domain}` },
  ].map((item) => ({ client: 1, ...item }));

/** A pending invitation with apps and data, and an expired one. */
const inviteBefore = async (app: TestApp, domain: string): Promise<void> => {
  const before = [`pending@${domain}`, `over@${domain}`].map((email) => ({
    email,
    client: 1,
    extra: { email },
    initial_apps: [SALES],
  }));
  await app.send(`POST ${PATH}`, { as: ROOT, payload: before });
  await sql`
    update invitations set expires_at = date_invited where email = ${`over@${domain}`}`.execute(app.db());
};

invitations(
  'responses have one invitation per address after concurrent bulks in different orders',
  async ({ app }) => {
    await inviteBefore(app, 'bulk.test');
    const people = [
      ...peopleOf('bulk.test'),
      ...Array.from({ length: 50 }, (_, n) => ({ email: `c${n}@bulk.test`, client: 1 })),
    ];
    const orders = [
      people,
      people.toReversed(),
      people,
      people.toReversed(),
      people.slice(2),
      people.slice(0, 20),
    ];
    const sent = await Promise.all(orders.map((payload) => app.send(`POST ${PATH}`, { as: ROOT, payload })));

    assert.equal(new Set(sent.map(({ statusCode }) => statusCode)), new Set([200]));
    const { rows } = await sql<{ count: number; people: number }>`
    select count(*)::int as count, count(distinct email)::int as people from invitations
    where email like '%@bulk.test' and status = 'pending'`.execute(app.db());
    assert.equal(rows, [{ count: people.length, people: people.length }]);
  },
);

invitations('update changes apps and extra without sending a mail', async ({ app }) => {
  await invite(app, 'up@x.test', { initial_apps: ['zylTKNVx'], extra: { a: 1 } });
  const changed = await app.as(ACME).invitations.update({ email: 'UP@x.test', initial_apps: ['Qm3vR8pa'] });

  assert.equal([changed.initial_apps, changed.extra], [['Qm3vR8pa'], { a: 1 }]);
  assert.equal((await app.as(ACME).invitations.update({ email: 'up@x.test', extra: {} })).extra, {});
  assert.is(await mailsTo(app, 'up@x.test'), 1);
});

invitations('update refuses apps of other clients and changes nothing', async ({ app }) => {
  await invite(app, 'keep@x.test', { initial_apps: ['zylTKNVx'] });
  const attempt = app
    .as(ROOT)
    .invitations.update({ email: 'keep@x.test', extra: { b: 1 }, initial_apps: ['Hb7cW2ke'] });

  assert.ok((await rejectsWith(attempt, 'invalid-input')).fields?.initial_apps);
  const [kept] = (await app.as(ACME).invitations.list({})).filter((i) => i.email === 'keep@x.test');
  assert.equal([kept?.initial_apps, kept?.extra], [['zylTKNVx'], {}]);
});

invitations(
  'update fails with not-found for another client, an expired invitation and an unknown address',
  async ({ app }) => {
    await invite(app, 'theirs@x.test', {}, GLOBEX);

    await rejectsWith(app.as(ACME).invitations.update({ email: 'theirs@x.test', extra: {} }), 'not-found');
    await rejectsWith(app.as(ACME).invitations.update({ email: 'never@x.test', extra: {} }), 'not-found');
    app.clock.advance(15 * DAY_MS);
    await rejectsWith(app.as(GLOBEX).invitations.update({ email: 'theirs@x.test', extra: {} }), 'not-found');
  },
);

invitations(
  'update is forbidden for an invitation that the caller may see but not change',
  async ({ app }) => {
    await app.as(ROOT).roles.setClientAdmin({ id: 1, email: STAFF, is_admin: true });
    await invite(app, 'seen@x.test', {}, GLOBEX);

    await rejectsWith(app.as(STAFF).invitations.update({ email: 'seen@x.test', extra: {} }), 'forbidden');
  },
);

invitations(
  'update prefers the invitation by the caller, or requires the client with 409',
  async ({ app }) => {
    await invite(app, 'both@x.test', {}, ACME);
    await invite(app, 'both@x.test', {}, GLOBEX);
    const ambiguous = await app.send('PATCH /jb/users/invitations/both@x.test/', {
      as: ROOT,
      payload: { extra: {} },
    });
    const named = await app.send('PATCH /jb/users/invitations/both@x.test/?client=2', {
      as: ROOT,
      payload: { extra: { named: true } },
    });
    const own = await app.as(ACME).invitations.update({ email: 'both@x.test', extra: { own: true } });

    assert.is(ambiguous.statusCode, 409);
    assert.match(ambiguous.json().detail, '?client=');
    assert.is(named.json().user.email, GLOBEX);
    assert.is(own.user.email, ACME);
  },
);

const people = (count: number, prefix = 'p') =>
  Array.from({ length: count }, (_, n) => ({ email: `${prefix}${n}@x.test`, initial_apps: ['zylTKNVx'] }));

const counts = async (app: TestApp) => {
  const count = async (table: 'invitations' | 'invitation_apps' | 'outbox_mails') =>
    (await app.db().selectFrom(table).selectAll().execute()).length;
  return [await count('invitations'), await count('invitation_apps'), await count('outbox_mails')];
};

const bulk = appSuite('invitations.create: bulk');

bulk('creates nothing if any element is invalid', async ({ app }) => {
  for (const at of [0, 57, 99]) {
    const items = people(100).with(at, { email: ADA, initial_apps: [] });
    const attempt = await rejectsWith(app.as(ACME).invitations.create({ items }), 'invalid-input');
    assert.equal(Object.keys(attempt.fields ?? {}), [`items.${at}.email`]);
  }
  assert.equal(await counts(app), [0, 0, 0]);
});

bulk('reports every invalid element, and duplicate addresses', async ({ app }) => {
  const response = await app.send('POST /jb/users/invitations/', {
    as: ACME,
    payload: [
      { email: 'twin@x.test' },
      { email: 'TWIN@x.test' },
      { email: ADA },
      { email: 'ok@x.test', client: 2 },
      { email: 'app@x.test', initial_apps: ['AAAAAAAA', 'zylTKNVx'] },
    ],
  });

  assert.is(response.statusCode, 400);
  assert.equal(response.json().errors, {
    1: { email: ['Element 0 already invites this address.'] },
    2: { email: ['An active user of this client already has this address.'] },
    3: { client: ['You cannot invite to client 2.'] },
    4: { initial_apps: ['This client has no app AAAAAAAA.'] },
  });
});

bulk('reports schema errors and conflicts together, with all errors of each element', async ({ app }) => {
  const response = await app.send('POST /jb/users/invitations/', {
    as: ACME,
    payload: [
      { email: 'bad' },
      { email: ADA, client: 1, initial_apps: ['AAAAAAAA'] },
      { initial_apps: [7] },
      'text',
    ],
  });
  const { errors } = response.json();

  assert.equal(Object.keys(errors), ['0', '1', '2', '3']);
  assert.equal(Object.keys(errors[1]).sort(), ['email', 'initial_apps']);
  assert.equal(errors[2].email, ['This field is required.']);
});

bulk('changes nothing in a dry run', async ({ app }) => {
  const before = await counts(app);
  const response = await app.send('POST /jb/users/invitations/?dry_run=true', {
    as: ACME,
    payload: people(3),
  });
  const bad = await app.send('POST /jb/users/invitations/?dry_run=true', {
    as: ACME,
    payload: [{ email: ADA }],
  });
  const odd = await app.send('POST /jb/users/invitations/?dry_run=perhaps', { as: ACME, payload: people(3) });

  assert.is(response.json().length, 3);
  assert.is(bad.statusCode, 400);
  assert.ok(odd.json().errors.dry_run);
  assert.equal(await counts(app), before);
});

bulk('returns one element for each, in order, from one transaction', async ({ app }) => {
  const items = people(500, 'many').toReversed();
  const made = await app.as(ACME).invitations.create({ items });
  const [invitations, apps, mails] = await counts(app);

  assert.equal(
    fieldOf(made, 'email'),
    items.map((item) => item.email),
  );
  assert.equal([invitations, apps, mails], [500, 500, 500]);
});

invitations.run();
bulk.run();
