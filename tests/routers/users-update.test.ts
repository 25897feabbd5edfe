import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const updating = appSuite('users.update');

const PATH = `/jb/users/${ADA}/`;
const NAMES = ['"quoted"\\', 'tab\tand\u0001', '🎉 é\u2028', ''];
const CHANGES: { [field: string]: unknown }[] = [
  ...NAMES.map((name) => ({ first_name: name, last_name: name })),
  { extra: { '\u0000': '\ud800', deep: [{ a: null }] }, is_demo_user: true },
  { apps: [] },
  { apps: [CHURN, SALES, FLEET], is_active: false },
  { apps: [SALES], is_active: true },
  {},
];

const logOf = async (app: TestApp) => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from audit_entries where target = ${ADA}`.execute(app.db());
  return rows[0]?.count ?? 0;
};

/** With an idempotency key, the change is part of a larger transaction. */
const WAYS = [
  { as: ROOT, path: PATH },
  { as: ACME, path: `/jb/users/${GRACE}/` },
].flatMap((way) => [
  { ...way, keys: false },
  { ...way, keys: true },
]);

for (const { as, path, keys } of WAYS) {
  const how = keys ? ', in the transaction of a key' : '';
  updating(`returns to ${as}${how} byte for byte the user that they read afterwards`, async ({ app }) => {
    for (const [index, changes] of CHANGES.entries()) {
      const own = as === ACME && changes.apps ? { ...changes, apps: [SALES] } : changes;
      const headers = keys ? { 'idempotency-key': `change-${index}` } : {};
      const answer = await app.send(`PATCH ${path}`, { as, payload: own, headers });
      const read = await app.send(`GET ${path}`, { as });

      assert.is(answer.statusCode, 200, answer.body);
      assert.is(answer.body, read.body);
    }
  });
}

updating('records concurrent changes one after another', async ({ app }) => {
  const names = Array.from({ length: 8 }, (_, index) => `Ada ${index}`);
  const send = (first_name: string) => app.send(`PATCH ${PATH}`, { as: ROOT, payload: { first_name } });
  const { first_name: before } = (await app.send(`GET ${PATH}`, { as: ROOT })).json();
  await Promise.all(names.map(send));

  const { rows } = await sql<{ from: string; to: string }>`
    select details->'first_name'->>'from' as from, details->'first_name'->>'to' as to
    from audit_entries where target = ${ADA} and details->'first_name'->>'to' = any(${names})
    order by id`.execute(app.db());
  const steps = new Map(rows.map(({ from, to }) => [from, to]));
  const recorded = [];
  for (let at = steps.get(before); at !== undefined; at = steps.get(at)) recorded.push(at);
  assert.equal(recorded.toSorted(), names);
});

updating('keeps the exact text of extra if it is not given', async ({ app }) => {
  const text = '{"big": 12345678901234567890,  "twice": 1, "twice": 1.0}';
  await sql`update users set extra = ${text}::json where email = ${ADA}`.execute(app.db());
  await app.send(`PATCH ${PATH}`, { as: ROOT, payload: { first_name: 'Other', apps: [CHURN] } });

  const { rows } = await sql<{ extra: string }>`
    select extra::text from users where email = ${ADA}`.execute(app.db());
  assert.equal(rows, [{ extra: text }]);
});

updating('writes neither the user nor the audit trail if nothing changes', async ({ app }) => {
  const row = () => sql`select xmin::text, ctid::text from users where email = ${ADA}`.execute(app.db());
  const { first_name, apps } = (await app.send(`GET ${PATH}`, { as: ROOT })).json();
  const before = [(await row()).rows, await logOf(app)];
  // A row lock only changes `xmax`.
  await app.send(`PATCH ${PATH}`, { as: ROOT, payload: { first_name, apps } });

  assert.equal([(await row()).rows, await logOf(app)], before);
});

updating.run();
