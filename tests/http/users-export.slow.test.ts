import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { UserOutput } from '../../routers/schemas/users.ts';
import { userId } from '../support/access-views.ts';
import { unzip } from '../support/files.ts';
import { addPerson, PERSON } from '../support/person.ts';
import { rowsOf } from '../support/rows.ts';
import { appSuite, ROOT, type TestApp } from '../support/test-app.ts';

const exporting = appSuite('users.export');

const LISTS = [
  ...['email_changes', 'memberships', 'app_grants', 'access_requests', 'directory_people'],
  ...[
    'invitations_received',
    'invitations_sent',
    'mails',
    'sessions',
    'second_factors',
    'external_identities',
    'tokens',
  ],
  ...[
    'saved_filters',
    'saved_filter_defaults',
    'list_views',
    'list_view_pins',
    'access_views',
    'access_view_uses',
    'viewed_as',
    'openid_logins',
    'openid_consents',
    'usage',
    'audit',
  ],
];

const download = async (app: TestApp, email: string, as: string) => {
  const response = await app.send(`GET /jb/users/${email}/export/`, { as });
  assert.is(response.statusCode, 200, response.body);
  const files = await unzip(response.rawPayload);
  const itemsOf = (part: string): Record<string, unknown>[] =>
    JSON.parse(files.get(`${part}.json`) ?? 'null');
  return { response, files, itemsOf };
};

/** Used without an entry in the usage log. */
const addUsedView = async (app: TestApp): Promise<void> => {
  const { key } = await app.as(ROOT).accessViews.create({ app: 'sales', user: PERSON });
  await sql`insert into access_view_uses (access_view_id, user_id, raw_key, used_at, selections, autorotate,
      show_header, show_footer, language_code, ip_address, user_agent)
    select id, user_id, key, created_at, selections, autorotate, show_header, show_footer, language_code, '192.0.2.1', 'tests'
    from access_views where key = ${key}`.execute(app.db());
};

exporting('is a zip of all parts as JSON and CSV', async ({ app }) => {
  await addPerson(app, { entries: 600, audited: 300 });
  await addUsedView(app);

  const { response, files, itemsOf } = await download(app, PERSON, ROOT);

  assert.is(response.headers['content-type'], 'application/zip');
  assert.is(response.headers['content-disposition'], `attachment; filename="${PERSON}.zip"`);
  const names = ['profile', ...LISTS].flatMap((part) => [`${part}.json`, `${part}.csv`]);
  assert.equal([...files.keys()], ['README.txt', ...names]);
  for (const part of LISTS) assert.ok(itemsOf(part).length > 0, part);
  assert.is(itemsOf('usage').length, 600);
  assert.match(files.get('usage.csv') ?? '', /^app,occurred_at,action,/);
  assert.is(files.get('usage.csv')?.trim().split('\r\n').length, 601);
  assert.is(itemsOf('profile')[0]?.last_name, 'Quillfeather');
  const missing = UserOutput.keyof().options.filter((field) => !(field in (itemsOf('profile')[0] ?? {})));
  assert.equal(missing, ['apps', 'clientadmin_of'], 'they are in `app_grants` and `memberships`');
  assert.match(String(itemsOf('mails')[0]?.text), /Steward|Globex|Acme/);
});

exporting('has every audit entry of the person once, without the addresses of others', async ({ app }) => {
  const rows = (await download(app, PERSON, ROOT)).itemsOf('audit');
  const id = await userId(app, PERSON);
  const all = await rowsOf(app, 'audit_entries');
  const entries = all.filter(
    ({ actor_id, target_type, target_id }) =>
      actor_id === id || (target_type === 'user' && target_id === `${id}`),
  );

  // The export itself is recorded before it is read.
  assert.equal(rows.map(({ id }) => id).sort(), entries.map(({ id }) => id).sort());
  assert.is(rows.find(({ actor }) => actor !== PERSON)?.address, null);
  assert.ok(rows.some(({ actor, address }) => actor === PERSON && address === '192.0.2.1'));
});

exporting('holds no secrets', async ({ app }) => {
  const { files } = await download(app, PERSON, ROOT);
  const { rows } = await app.orm.pool.query(`
    select key from access_views union all select digest from api_tokens union all select digest from sessions union all select key from invitations
    union all select password_hash from users where password_hash is not null`);
  const all = [...files.values()].join('\n');

  for (const row of rows)
    for (const secret of Object.values(row)) assert.not.ok(all.includes(String(secret)));
  assert.not.match(all, /signature=|token=\d/);
});

exporting('streams pages of the same rows over tRPC, and is recorded', async ({ app }) => {
  const { itemsOf } = await download(app, PERSON, ROOT);
  const counts = new Map<string, number>();
  for await (const { part, items } of await app.as(ROOT).users.export({ email: PERSON }))
    counts.set(part, (counts.get(part) ?? 0) + items.length);
  const [entry] = await app.as(ROOT).audit.list({ action: 'user.export' });

  for (const part of LISTS) {
    const added = (counts.get(part) ?? 0) - itemsOf(part).length;
    assert.ok(added === 0 || (added === 1 && ['audit', 'tokens'].includes(part)), part);
  }
  assert.equal([entry?.actor, entry?.target, entry?.clients], [ROOT, PERSON, [1]]);
});

exporting.run();
