import type { Database } from '../../../entities/index.ts';

type Table = keyof Database;
type Columns = Partial<Record<Table, readonly string[]>>;

/** Texts by or about any person, in which an erasure replaces the person's address, handle and full name. */
export const SEARCHED: Columns = {
  access_views: ['data_permissions', 'selections', 'flags'],
  access_view_uses: ['data_permissions', 'selections'],
  api_tokens: ['name'],
  apps: ['label', 'description', 'help_html', 'footer_html', 'maintenance_message', 'package_info'],
  audit_entries: ['actor_email', 'target', 'details'],
  clients: [
    ...[
      'name',
      'default_from_email',
      'support_email',
      'invitation_subject',
      'invitation_body',
      'login_title',
    ],
    ...['login_subtitle', 'home_location', 'subtitle_404', 'message_404', 'subtitle_500', 'message_500'],
  ],
  fetched_packages: ['manifest', 'fetched_by'],
  invitations: ['extra'],
  loaded_packages: ['loaded_by'],
  outbox_mails: ['last_error'],
  saved_filters: ['name'],
  sites: ['name'],
  stacks: ['label'],
  usage_entries: ['entry_key', 'action_description', 'stack', 'extra'],
  users: ['extra'],
};

/** Columns that an erasure replaces in the rows of the person, or whose rows it deletes. */
export const REPLACED: Columns = {
  access_views: ['key'],
  access_view_uses: ['raw_key', 'ip_address', 'user_agent'],
  api_tokens: ['digest', 'name', 'last_address', 'replacement'],
  audit_entries: ['actor_email', 'target', 'details', 'address'],
  erasures: ['address', 'pattern', 'needles', 'scanned_table', 'transaction_id'],
  idempotent_responses: ['key', 'fingerprint', 'response', 'checkpoint'],
  invitations: ['email', 'extra'],
  outbox_mails: ['recipient', 'request_address', 'last_error'],
  rate_limits: ['key'],
  saved_filters: ['name', 'hash'],
  sessions: ['digest', 'last_address', 'user_agent'],
  usage_days: ['email'],
  usage_entries: ['email', 'full_name', 'extra', 'entry_key', 'action_description'],
  usage_stack_days: ['stack'],
  users: [
    ...['email', 'handle', 'first_name', 'last_name', 'extra', 'profile_color', 'profile_avatar'],
    'password_hash',
  ],
};

/** Columns that name no person, and why. */
export const KEPT: Partial<Record<Table | 'mikro_orm_migrations', Record<string, string>>> = {
  access_views: {
    app_id: 'random',
    stack_slug: 'the name of a stack in paths',
    allowed_networks: 'networks of a client',
    language_code: 'two letters',
  },
  access_view_uses: { stack_slug: 'the name of a stack in paths', language_code: 'two letters' },
  app_grants: { app_id: 'random' },
  apps: { id: 'random', slug: 'the name of an app in paths', launch_url: 'the address of an app' },
  audit_entries: { action: 'one of a fixed list', request_id: 'random, or from the caller’s logs' },
  backups: {
    target: 'a folder or bucket',
    name: 'a time and random digits',
    error: 'a failure of the disk, the bucket or the database',
  },
  clients: { upload_bucket_name: 'the name of a bucket', embed_origins: 'the addresses of sites' },
  embed_sessions: { digest: 'of a random secret' },
  erasures: { pseudonym: 'random', digest: 'a keyed digest' },
  fetched_packages: { slug: 'the name of an app in paths', version: 'semver', sha256: 'a digest' },
  invitation_apps: { app_id: 'random' },
  invitations: { key: 'random', status: 'one of a fixed list' },
  launch_codes: {
    digest: 'of a random secret',
    app_id: 'random',
    stack_slug: 'the name of a stack in paths',
  },
  loaded_packages: { app_id: 'random' },
  mikro_orm_migrations: { name: 'the name of a migration' },
  operations: { id: 'random', change: 'an action and random ids of apps' },
  operation_changes: {
    operation_id: 'random',
    granted: 'random',
    revoked: 'random',
    superseded: 'random',
    undone: 'random ids of apps and fixed texts',
  },
  outbox_mails: { kind: 'one of a fixed list', operation_id: 'random', traceparent: 'random ids of a trace' },
  saved_filters: { stack_id: 'random' },
  signing_keys: { id: 'random', sealed_key: 'random', public_key: 'random' },
  sites: { domain: 'a host name' },
  stacks: { id: 'random', app_id: 'random', slug: 'the name of a stack in paths' },
  ticket_revocations: { app_id: 'random' },
  usage_app_days: { app_id: 'random' },
  usage_days: { app_id: 'random' },
  usage_entries: { app_id: 'random', action: 'an upper-case word' },
  usage_stack_days: { app_id: 'random' },
  usage_windows: { app_id: 'random' },
};
