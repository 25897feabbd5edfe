import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { EXPORT_PART_NAMES } from '../../../src/services/data-rights/export-rows.ts';
import { appSuite } from '../../support/test-app.ts';

const columns = appSuite('personal columns');

const DELETED = 'deleted';
const PSEUDONYM = 'pseudonym';
const EMPTIED = 'emptied';
/** An id leads to the pseudonym. */
const ID = 'kept: an id';
const NO_PERSON = 'kept: no person';
/** The app hears of the logout under this name. */
const LOGOUT = 'kept for a week';
/** Of texts that others wrote. */
const TEXT = 'kept: a text of an app, a client or an operator';

/**
 * Every column that may name a person: the part of an export that has it, and what an erasure does. Backups hold all of them; a restore
 * continues the erasures that were unfinished, and operators repeat those since the backup.
 */
const COLUMNS: Record<string, readonly [part: string | null, erasure: string]> = {
  'access_requests.decided_by': [null, ID],
  'access_requests.user_id': ['access_requests', DELETED],
  'access_view_uses.ip_address': ['access_view_uses', EMPTIED],
  'access_view_uses.user_agent': ['access_view_uses', EMPTIED],
  'access_view_uses.user_id': ['access_view_uses', DELETED],
  'access_views.label': ['access_views', DELETED],
  'access_views.user_id': ['access_views', DELETED],
  'api_tokens.created_by': [null, ID],
  'api_tokens.last_address': ['tokens', DELETED],
  'api_tokens.name': ['tokens', DELETED],
  'api_tokens.user_id': ['tokens', DELETED],
  'app_grants.granted_by': [null, ID],
  'app_grants.user_id': ['app_grants', DELETED],
  'apps.label': [null, TEXT],
  'audit_entries.actor_id': ['audit', ID],
  'audit_entries.actor_label': ['audit', PSEUDONYM],
  'audit_entries.address': ['audit', EMPTIED],
  'audit_entries.target_id': ['audit', ID],
  'audit_entries.target_label': ['audit', PSEUDONYM],
  'backups.name': [null, NO_PERSON],
  'backups.target': [null, NO_PERSON],
  'client_domains.vouched_by': [null, ID],
  'clients.default_from_email': [null, EMPTIED],
  'clients.invitation_subject': [null, TEXT],
  'clients.name': [null, TEXT],
  'clients.support_email': [null, EMPTIED],
  'clients.upload_bucket_name': [null, NO_PERSON],
  'directory_groups.display_name': [null, TEXT],
  'directory_groups.stated_by': [null, ID],
  'directory_holds.user_id': [null, DELETED],
  'directory_people.addresses': ['directory_people', DELETED],
  'directory_people.email': ['directory_people', DELETED],
  'directory_people.extra': ['directory_people', DELETED],
  'directory_people.first_name': ['directory_people', DELETED],
  'directory_people.last_name': ['directory_people', DELETED],
  'directory_people.stated_by': [null, ID],
  'directory_people.user_id': ['directory_people', DELETED],
  'directory_people.user_name': ['directory_people', DELETED],
  'email_changes.new_email': ['email_changes', DELETED],
  'email_changes.old_email': ['email_changes', DELETED],
  'email_changes.requested_by': [null, ID],
  'email_changes.user_id': ['email_changes', DELETED],
  'erasures.addresses': [null, EMPTIED],
  'erasures.pseudonym': [null, PSEUDONYM],
  'erasures.user_id': [null, ID],
  'event_sinks.name': [null, NO_PERSON],
  'external_identities.email': ['external_identities', DELETED],
  'external_identities.subject': ['external_identities', DELETED],
  'external_identities.user_id': ['external_identities', DELETED],
  'fetched_packages.fetched_by': [null, PSEUDONYM],
  'group_apps.added_by': [null, ID],
  'group_members.added_by': [null, ID],
  'group_members.user_id': [null, DELETED],
  'groups.name': [null, TEXT],
  'idempotent_responses.user_id': [null, DELETED],
  'invitations.email': ['invitations_received', PSEUDONYM],
  'invitations.extra': ['invitations_received', EMPTIED],
  'invitations.first_name': ['invitations_received', EMPTIED],
  'invitations.inviter_id': ['invitations_sent', ID],
  'invitations.last_name': ['invitations_received', EMPTIED],
  'invitations.roles_by': [null, ID],
  'invitations.user_id': ['invitations_received', ID],
  'launch_codes.user_id': [null, DELETED],
  'list_view_pins.user_id': ['list_view_pins', DELETED],
  'list_views.name': ['list_views', DELETED],
  'list_views.user_id': ['list_views', DELETED],
  'loaded_packages.loaded_by': [null, PSEUDONYM],
  'login_challenges.user_id': [null, DELETED],
  'memberships.claims': ['memberships', DELETED],
  'memberships.extra': ['memberships', DELETED],
  'memberships.user_id': ['memberships', DELETED],
  'mfa_factors.name': ['second_factors', DELETED],
  'mfa_factors.user_id': ['second_factors', DELETED],
  'mikro_orm_migrations.name': [null, NO_PERSON],
  'openid_apps.claims': [null, NO_PERSON],
  'openid_consents.claims': ['openid_consents', DELETED],
  'openid_consents.user_id': ['openid_consents', DELETED],
  'openid_logins.subject': ['openid_logins', LOGOUT],
  'openid_logins.user_id': ['openid_logins', ID],
  'operation_changes.user_id': [null, DELETED],
  'operations.user_id': [null, ID],
  'outbox_mails.recipient': ['mails', PSEUDONYM],
  'outbox_mails.request_address': [null, EMPTIED],
  'outbox_mails.user_id': ['mails', ID],
  'passkeys.user_handle': [null, DELETED],
  'password_links.user_id': [null, DELETED],
  'recovery_codes.user_id': [null, DELETED],
  'saved_filter_defaults.user_id': ['saved_filter_defaults', DELETED],
  'saved_filters.name': ['saved_filters', DELETED],
  'saved_filters.user_id': ['saved_filters', DELETED],
  'service_accounts.created_by': [null, ID],
  'service_accounts.name': [null, NO_PERSON],
  'service_accounts.user_id': [null, NO_PERSON],
  'sessions.last_address': ['sessions', DELETED],
  'sessions.user_agent': ['sessions', DELETED],
  'sessions.user_id': ['sessions', DELETED],
  'sites.name': [null, TEXT],
  'sso_connections.name': [null, TEXT],
  'stacks.label': [null, TEXT],
  'ticket_revocations.user_id': [null, ID],
  'usage_days.email': [null, PSEUDONYM],
  'usage_days.user_id': [null, ID],
  'usage_entries.email': ['usage', PSEUDONYM],
  'usage_entries.extra': ['usage', EMPTIED],
  'usage_entries.full_name': ['usage', EMPTIED],
  'usage_entries.user_id': ['usage', ID],
  'users.email': ['profile', PSEUDONYM],
  'users.extra': ['profile', EMPTIED],
  'users.first_name': ['profile', EMPTIED],
  'users.handle': ['profile', PSEUDONYM],
  'users.last_name': ['profile', EMPTIED],
  'users.profile_avatar': ['profile', EMPTIED],
  'view_as.actor_id': ['viewed_as', ID],
  'view_as.user_id': ['viewed_as', DELETED],
  'webhook_deliveries.subject': [null, NO_PERSON],
  'webhooks.created_by': [null, ID],
};

const NAMES =
  '(^|_)(user|actor|target|inviter|by|email|recipient|addresses|address|ip|agent|name|label|handle|subject|extra|pseudonym|avatar)(_(id|agent|label|email|handle)s?)?$|^claims$';

/** Columns whose names or types say that they may name a person. */
const readColumns = async (app: { db: () => Parameters<ReturnType<typeof sql>['execute']>[0] }) => {
  const { rows } = await sql<{ name: string }>`
    select relname || '.' || attname as name from pg_attribute
    join pg_class on pg_class.oid = attrelid join pg_type on pg_type.oid = atttypid
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
      and attnum > 0 and not attisdropped and typname <> 'bool'
      and (attname ~ ${NAMES} or typname in ('inet', 'cidr'))
    order by 1`.execute(app.db());
  return rows.map(({ name }) => name);
};

columns('are all listed, with their part of the export and what an erasure does', async ({ app }) => {
  await sql`create table newsletter_readers (contact_email varchar(254), seen_at timestamptz, seen_from inet)`.execute(
    app.db(),
  );
  const present = await readColumns(app);

  assert.equal(
    present.filter((name) => !(name in COLUMNS)),
    ['newsletter_readers.contact_email', 'newsletter_readers.seen_from'],
  );
  assert.equal(
    Object.keys(COLUMNS).filter((name) => !present.includes(name)),
    [],
  );
  const parts = new Set<string>(EXPORT_PART_NAMES);
  assert.equal(
    Object.values(COLUMNS).filter(([part]) => part !== null && !parts.has(part)),
    [],
  );
});

columns.run();
