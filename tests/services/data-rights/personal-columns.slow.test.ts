import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import type { Database } from '../../../entities/index.ts';
import { SEARCHED } from '../../../src/services/data-rights/erasure-work.ts';
import { addPerson, erase, PERSON } from '../../support/person.ts';
import { appSuite, type TestApp } from '../../support/test-app.ts';

const columns = appSuite('personal columns');

type Table = keyof Database;
type Columns = Partial<Record<Table, readonly string[]>>;

const SEARCHED_COLUMNS: Columns = Object.fromEntries(
  Object.entries(SEARCHED).map(([table, { columns: names }]) => [table, names]),
);

/** Columns that an erasure replaces in the rows of the person, or whose rows it deletes. */
const REPLACED: Columns = {
  access_views: ['key'],
  access_view_uses: ['raw_key', 'ip_address', 'user_agent'],
  api_tokens: ['digest', 'name', 'last_address', 'replacement'],
  audit_entries: ['actor_label', 'target_label', 'address'],
  email_changes: ['old_email', 'new_email'],
  erasures: ['address', 'pattern', 'needles', 'scanned_table', 'transaction_id'],
  external_identities: ['subject', 'email'],
  idempotent_responses: ['key', 'fingerprint', 'response', 'checkpoint'],
  invitations: ['email', 'first_name', 'last_name', 'extra'],
  login_challenges: ['digest', 'sealed_secret', 'sid'],
  memberships: ['extra'],
  mfa_factors: ['name', 'sealed_secret', 'challenge'],
  outbox_mails: ['recipient', 'request_address', 'last_error', 'variables'],
  passkeys: ['credential_id', 'public_key', 'user_handle', 'transports', 'aaguid'],
  rate_limits: ['key'],
  recovery_codes: ['digest'],
  saved_filters: ['name', 'hash'],
  sessions: ['digest', 'last_address', 'user_agent', 'sid'],
  usage_days: ['email'],
  usage_entries: ['email', 'full_name', 'extra', 'entry_key', 'action_description'],
  usage_stack_days: ['stack'],
};

/** Columns that name no person, and why. */
const KEPT: Partial<Record<Table | 'mikro_orm_migrations', Record<string, string>>> = {
  answered_challenges: { digest: 'of random bytes' },
  access_requests: { app_id: 'random', status: 'one of a fixed list' },
  access_views: {
    app_id: 'random',
    stack_slug: 'the name of a stack in paths',
    allowed_networks: 'networks of a client',
    language_code: 'two letters',
  },
  access_view_uses: {
    stack_slug: 'the name of a stack in paths',
    language_code: 'two letters',
    methods: 'from a fixed list',
  },
  app_grants: { app_id: 'random' },
  apps: { id: 'random', slug: 'the name of an app in paths', launch_url: 'the address of an app' },
  audit_entries: {
    action: 'one of a fixed list',
    actor_type: 'one of a fixed list',
    details: 'ids, fixed words, and texts of apps, clients and admins',
    request_id: 'random, or from the caller’s logs',
    target_id: 'an id',
    target_type: 'one of a fixed list',
  },
  backups: {
    target: 'a folder or bucket',
    name: 'a time and random digits',
    error: 'a failure of the disk, the bucket or the database',
  },
  clients: {
    upload_bucket_name: 'the name of a bucket',
    embed_origins: 'the addresses of sites',
    factor_policy: 'one of a fixed list',
  },
  client_domains: { domain: 'a domain name', token: 'random' },
  embed_sessions: { digest: 'of a random secret' },
  event_clients: { action: 'one of a fixed list' },
  group_apps: { app_id: 'random' },
  erasures: { pseudonym: 'random', digest: 'a keyed digest' },
  external_identities: { issuer: 'the address of an identity provider' },
  fetched_packages: { slug: 'the name of an app in paths', version: 'semver', sha256: 'a digest' },
  invitation_apps: { app_id: 'random' },
  invitations: { key: 'random', status: 'one of a fixed list' },
  launch_codes: {
    digest: 'of a random secret',
    app_id: 'random',
    stack_slug: 'the name of a stack in paths',
    methods: 'from a fixed list',
  },
  loaded_packages: { app_id: 'random' },
  login_challenges: {
    first_step: 'one of a fixed list',
    step: 'one of a fixed list',
    methods: 'fixed words',
  },
  event_sinks: { name: 'one of a fixed list', last_error: 'a failure of a file or the network' },
  mfa_factors: { kind: 'one of a fixed list' },
  mikro_orm_migrations: { name: 'the name of a migration' },
  operations: { id: 'random', change: 'an action and random ids of apps' },
  operation_changes: {
    operation_id: 'random',
    granted: 'random',
    revoked: 'random',
    superseded: 'random',
    undone: 'random ids of apps and fixed texts',
    ended: 'ids and fixed words',
  },
  outbox_mails: { kind: 'one of a fixed list', operation_id: 'random', traceparent: 'random ids of a trace' },
  saved_filters: { stack_id: 'random' },
  sessions: { methods: 'from a fixed list' },
  signing_keys: { id: 'random', sealed_key: 'random', public_key: 'random' },
  sites: { domain: 'a host name' },
  sso_connections: {
    issuer: 'the address of an identity provider',
    registered_as: 'what a provider calls the service',
    sealed_secret: 'encrypted',
    scopes: 'fixed words',
  },
  sso_groups: { claim_value: 'the name of a group at a provider' },
  sso_logouts: { digest: 'of a random id' },
  stacks: { id: 'random', app_id: 'random', slug: 'the name of a stack in paths' },
  ticket_revocations: { app_id: 'random' },
  usage_app_days: { app_id: 'random' },
  usage_days: { app_id: 'random' },
  usage_entries: { app_id: 'random', action: 'an upper-case word' },
  usage_stack_days: { app_id: 'random' },
  usage_windows: { app_id: 'random' },
  webhook_deliveries: { type: 'one of a fixed list', error: 'a failure of the network, with a host name' },
  webhooks: {
    url: 'the address of a receiver',
    types: 'from a fixed list',
    sealed_secret: 'encrypted',
    previous_secret: 'encrypted',
    disabled_reason: 'one of a fixed list',
  },
};

type Column = { table: string; column: string };

/** The columns with text, also those of partitioned tables and with arrays. */
const readColumns = async (app: TestApp) => {
  const { rows } = await sql<Column & { type: string }>`
    select relname as "table", attname as "column", typname as type from pg_attribute
    join pg_class on pg_class.oid = attrelid join pg_type on pg_type.oid = atttypid
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
      and attnum > 0 and not attisdropped
      and (typcategory in ('S', 'U') or typelem in (select oid from pg_type where typcategory in ('S', 'U')))
    order by 1, 2`.execute(app.db());
  return rows;
};

columns(
  'classify every text of every table: a new one must be searched, replaced or kept',
  async ({ app }) => {
    await sql`create table newsletter_readers (contact_email varchar(254), seen_at timestamptz)`.execute(
      app.db(),
    );
    const rows = await readColumns(app);
    const isIn = (lists: object, { table, column }: Column): boolean => {
      const names: unknown = Object.entries(lists).find(([name]) => name === table)?.[1];
      return Array.isArray(names) ? names.includes(column) : Object.keys(Object(names)).includes(column);
    };

    // The next test erases a user.
    const missing = rows
      .filter(({ table }) => table !== 'users')
      .filter((column) => ![SEARCHED_COLUMNS, REPLACED, KEPT].some((lists) => isIn(lists, column)))
      .map(({ table, column }) => ({ table, column }));
    const listed = [SEARCHED_COLUMNS, REPLACED, KEPT].flatMap((lists) =>
      Object.entries(lists).flatMap(([table, names]) =>
        (Array.isArray(names) ? names : Object.keys(names)).map((column: string) => `${table}.${column}`),
      ),
    );
    const known = new Set(rows.map(({ table, column }) => `${table}.${column}`));

    assert.equal(missing, [{ table: 'newsletter_readers', column: 'contact_email' }]);
    assert.equal(
      listed.filter((name) => !known.has(name)),
      [],
    );
  },
);

/** Values that meet the constraints of a column. */
const FILLED: Record<string, string> = { email: PERSON, profile_color: 'abcdef' };

columns('of the account of an erased person all lose their texts', async ({ app }) => {
  await addPerson(app);
  const texts = (await readColumns(app)).filter(({ table }) => table === 'users');
  const fill = ({ column, type }: (typeof texts)[number]): string =>
    FILLED[column] ?? (/json/.test(type) ? `{"${column}": "of the person"}` : `${column} of the person`);
  const values = texts.map((text) => sql`${sql.ref(text.column)} = ${fill(text)}`);
  await sql`update users set ${sql.join(values)} where email = ${PERSON}`.execute(app.db());
  const read = () => sql<Record<string, unknown>>`select * from users order by id`.execute(app.db());
  const before = (await read()).rows.find(({ email }) => email === PERSON);

  await erase(app);

  const after = (await read()).rows.find(({ id }) => id === before?.id);
  const left = texts.filter(({ column }) => isDeepStrictEqual(before?.[column], after?.[column]));
  assert.ok(texts.length > 5);
  assert.equal(
    left.map(({ column }) => column),
    [],
  );
});

columns.run();
