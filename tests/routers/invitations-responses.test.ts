import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { ACME, appSuite, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const answers = appSuite('invitations.create: responses');

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

const readEach = async (app: TestApp, as: string, people: { email: string }[]): Promise<unknown[]> => {
  const read = [];
  for (const { email } of people) read.push((await app.send(`GET ${PATH}${email}/`, { as })).json());
  return read;
};

for (const as of [ROOT, ACME]) {
  answers(`are byte for byte the invitations that ${as} reads afterwards`, async ({ app }) => {
    const domain = as === ROOT ? 'root.test' : 'acme.test';
    const people = peopleOf(domain);
    await inviteBefore(app, domain);
    const made = await app.send(`POST ${PATH}`, { as, payload: people });

    assert.is(made.statusCode, 200, made.body);
    assert.is(made.body, JSON.stringify(made.json()));
    assert.equal(made.json(), await readEach(app, as, people));
    assert.equal(made.json()[0].initial_apps, [SALES, CHURN], 'by age');
  });
}

answers('are the same in a list and alone', async ({ app }) => {
  const people = peopleOf('list.test');
  await app.send(`POST ${PATH}`, { as: ACME, payload: people });
  const list = await app.send(`GET ${PATH}?search=list.test`, { as: ACME });

  assert.is(list.body, JSON.stringify(list.json()));
  // In a bulk, the ids are in the order of the addresses.
  const inOrder = people.toSorted((a, b) => (a.email < b.email ? -1 : 1));
  assert.equal(list.json(), await readEach(app, ACME, inOrder));
});

answers('are replayed for the same key', async ({ app }) => {
  const headers = { 'idempotency-key': 'once' };
  const request = { as: ACME, payload: peopleOf('again.test'), headers };
  const first = await app.send(`POST ${PATH}`, request);
  const second = await app.send(`POST ${PATH}`, request);

  assert.is(second.headers['idempotency-replayed'], 'true');
  assert.is(second.body, first.body);
});

answers('have one invitation per address after concurrent bulks in different orders', async ({ app }) => {
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
});

answers('replace an expired invitation, which stays in the history', async ({ app }) => {
  await inviteBefore(app, 'history.test');
  await app.send(`POST ${PATH}`, { as: ROOT, payload: peopleOf('history.test') });
  const { rows } = await sql`
    select email, array_agg(status order by id) as statuses from invitations
    where email in ('over@history.test', 'pending@history.test') group by email order by email`.execute(
    app.db(),
  );

  assert.equal(rows, [
    { email: 'over@history.test', statuses: ['expired', 'pending'] },
    { email: 'pending@history.test', statuses: ['pending'] },
  ]);
});

answers.run();
