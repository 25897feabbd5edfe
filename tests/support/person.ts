import { sql } from 'kysely';
import { DAY_MS } from '../../src/lib/clock.ts';
import { hashKey } from '../../src/services/rate-limits/counters.ts';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { setProved } from './mails.ts';
import { addLogouts } from './openid.ts';
import { enrollPasskey } from './passkeys.ts';
import { addRows, rowOf, setRows } from './rows.ts';
import { enroll } from './second-factors.ts';
import { ACME, ADA, ROOT, type TestApp } from './test-app.ts';
import { SALES } from './usage.ts';

export const PERSON = 'zephyrine.quill@acme.test';
/** Texts that name the person: none may be left after the erasure. */
export const TRACES = ['zephyrine', 'quillfeather'];

const NAMES = { first_name: 'Zephyrine', last_name: 'Quillfeather' };
/** A user of client 1 who has rows in every table that can hold some. */
export const addPerson = async (app: TestApp, { entries = 10, audited = 10 } = {}): Promise<void> => {
  const db = app.db();
  const admin = app.as(ACME);
  await admin.users.create({ email: PERSON, apps: [SALES], extra: { nick: 'Zephyrine' } });
  await admin.users.update({ email: PERSON, ...NAMES });
  // As a password that is set by a mailed link would.
  await setProved(app, PERSON);
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: PERSON, is_admin: true });
  const self = app.as(PERSON);
  await self.tokens.createNamed({ name: 'Zephyrine’s export' });
  await enroll(app, PERSON, 'Phone of Zephyrine');
  await addIdentity(app);
  await enrollPasskey(app, PERSON, 'Laptop of Zephyrine');
  await self.savedFilters.create({ stack_id: 'a0a91e46', hash: 'zephyrine', name: 'Zephyrine north' });
  const state = { state: { nick: 'Zephyrine' }, description: 'of Zephyrine' };
  await self.savedFilters.setState({ hash: 'zephyrine', ...state });
  const { id: filter } = await rowOf(app, 'saved_filters', { hash: 'zephyrine' });
  await self.savedFilters.setDefault({ stack_id: 'a0a91e46', filter });
  const shown = { list: 'people', name: 'Team of Zephyrine', search: { search: 'Quillfeather' } } as const;
  const view = await self.listViews.create({ ...shown, client: 1, is_shared: true });
  await self.listViews.pin({ id: view.id, is_pinned: true });
  await self.invitations.create({ items: [{ email: 'guest@guest.test', client: 1 }] });
  await fillTables(app);
  await addSnapshots(app);
  const now = app.clock.now();
  const log = Array.from({ length: entries }, (_, n) => ({
    entryKey: `${PERSON}/${n}`,
    email: PERSON,
    fullName: 'Zephyrine Quillfeather',
    action: 'STACK_ACCESS',
    actionDescription: 'Zephyrine opened a stack',
    stack: 'a0a91e46',
    extra: JSON.stringify({ request: { META: { REMOTE_USER: PERSON, name: 'Zephyrine' } } }),
    occurredAt: new Date(now.getTime() - (n % 90) * DAY_MS - n),
  }));
  for (let at = 0; at < log.length; at += 5_000)
    await writeUsage(app.orm.em.fork(), SALES, log.slice(at, at + 5_000), now);
  await sql`insert into audit_entries (occurred_at, action, actor_type, actor_id, actor_label, target_type, target_id, target_label, address)
    select ${now}::timestamptz, 'user.update', 'user', actor.id, actor.email, 'user', target.id, target.email,
      '192.0.2.1'
    from generate_series(1, ${audited}) n
      join users actor on actor.email = case when n % 2 = 0 then ${PERSON} else ${ACME} end
      join users target on target.email = case when n % 3 = 0 then ${PERSON} else ${ADA} end`.execute(db);
};

const fillTables = async (app: TestApp): Promise<void> => {
  const now = app.clock.now();
  const { id } = await rowOf(app, 'users', { email: PERSON });
  const common = { user_id: id, created_at: now };
  const later = new Date(now.getTime() + DAY_MS);
  const session = {
    authenticated_at: now,
    expires_at: later,
    last_used: now,
    user_agent: 'Zephyrine browser',
  };
  await addRows(app, 'sessions', { ...common, ...session, digest: 'd'.repeat(64) });
  await addRows(app, 'password_links', { ...common, expires_at: later });
  const challenge = { digest: 'e'.repeat(64), first_step: 'password' as const, expires_at: later };
  await addRows(app, 'login_challenges', { ...common, ...challenge });
  const change = { old_email: PERSON, new_email: 'zephyrine@new.test', requested_at: now, requested_by: id };
  await addRows(app, 'email_changes', { user_id: id, ...change });
  const request = { app_id: SALES, reason: 'Zephyrine needs it', decision_reason: 'Not Quillfeather' };
  await addRows(app, 'access_requests', { ...common, ...request });
  const looked = { app_id: SALES, client_id: 1, session_id: 0, reason: 'Zephyrine asked', link_digest: 'f' };
  const { id: actor_id } = await rowOf(app, 'users', { email: ACME });
  await addRows(app, 'view_as', { ...looked, actor_id, user_id: id, begun_at: now, ends_at: later });
  await addLogouts(app, SALES, PERSON, 1);
  await addRows(app, 'openid_consents', { user_id: id, app_id: SALES, claims: ['email'], created_at: now });
  const stated = {
    id: 'zephyrine-1',
    client_id: 1,
    user_id: id,
    user_name: 'Zephyrine',
    email: PERSON,
    stated_by: 0,
  };
  const resource = { userName: 'Zephyrine' };
  const times = { created_at: now, modified_at: now };
  await addRows(app, 'directory_people', { ...stated, ...times, resource, is_active: true });
  const path = `/Users?filter=userName eq "${PERSON}"`;
  const received = { client_id: 1, received_at: now, method: 'GET', path, status: 200 };
  await addRows(app, 'directory_requests', received);
  const stored = { key: 'zephyrine-1', fingerprint: 'f', response: Buffer.from('x') };
  await addRows(app, 'idempotent_responses', { ...common, ...stored });
  const keys = ['password', 'code', 'reset'].map((limit) => ({
    key: `account:${hashKey(PERSON)}:${limit}:`,
    points: 1,
  }));
  await addRows(app, 'rate_limits', keys);
  await app
    .as(ROOT)
    .invitations.create({ items: [{ email: PERSON, client: 2, extra: { is: 'Zephyrine' } }] });
  const failure = { last_error: `550 <${PERSON}> unknown`, request_address: '192.0.2.1' };
  await setRows(app, 'outbox_mails', { recipient: PERSON }, failure);
};

/** Rows that hold only the address. */
const addSnapshots = async (app: TestApp): Promise<void> => {
  const db = app.db();
  await setRows(app, 'clients', { id: 1 }, { support_email: PERSON, default_from_email: `Acme <${PERSON}>` });
  const fetched = await db
    .insertInto('fetched_packages')
    .values({
      slug: 'sales',
      version: '9.9.9',
      sha256: '0',
      size_bytes: 1,
      manifest: sql`'{}'`,
      fetched_at: app.clock.now(),
      fetched_by: PERSON,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await addRows(app, 'loaded_packages', {
    app_id: SALES,
    package_id: fetched.id,
    loaded_at: app.clock.now(),
    loaded_by: PERSON,
  });
};

/** Every table as text, with the rows that contain any of the words. */
export const rowsWith = async (
  { db: open }: Pick<TestApp, 'db'>,
  words: readonly string[],
): Promise<string[]> => {
  const db = open();
  const { rows: tables } = await sql<{ name: string }>`
    select relname as name from pg_class where relkind in ('r', 'p') and not relispartition
      and relnamespace = current_schema()::regnamespace`.execute(db);
  const found: string[] = [];
  for (const { name } of tables) {
    const { rows } = await sql<{ row: string }>`
      select ${name} || ': ' || t::text as row from ${sql.table(name)} t
      where t::text ~* ${words.join('|')} limit 3`.execute(db);
    found.push(...rows.map(({ row }) => row.slice(0, 300)));
  }
  return found;
};

/** Erases a person as the superuser, confirmed. */
export const erase = async (app: TestApp, email = PERSON) => {
  const { confirmation } = await app.as(ROOT).users.previewErasure({ email });
  return app.as(ROOT).users.erase({ email, confirmation, confirm_email: email });
};

const addIdentity = async (app: TestApp): Promise<void> => {
  const registration = { issuer: 'https://login.acme.test', client_id: 'steward' };
  const { id } = await app.as(ROOT).sso.create({ id: 1, name: 'Acme ID', ...registration });
  await sql`insert into external_identities (connection_id, user_id, subject, email, created_at)
    select ${id}, id, 'zephyrine', email, ${app.clock.now()}::timestamptz from users where email = ${PERSON}`.execute(
    app.db(),
  );
};
