import { type SelectQueryBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { CLIENT_ROLES } from '../access/permissions.ts';
import { VIEWS_ALL } from '../access/visibility.ts';
import { appsInvitedTo, statusAt } from '../invitations/invitation-rows.ts';
import { mailContexts } from '../mail/mail-context.ts';
import type { MailWriter } from '../mail/mail-writer.ts';
import { hasAddress } from '../users/addresses.ts';
import { visibleUsers } from '../users/user-rows.ts';

export type ExportRow = Record<string, unknown>;

export type Exported = {
  em: Em;
  person: { id: number; email: string; addresses: readonly string[] };
  now: Date;
  mailWriter: MailWriter;
  invitationDays: number;
};

/** `extra` of a usage entry may have 64 KiB. */
const PAGE_ROWS = 250;

type Pages = AsyncGenerator<ExportRow[]>;

/** Reads the rows of a query in the order of its key, a page at a time: a slow reader holds no connection. */
async function* pagesOf<DB, TB extends keyof DB, Row extends ExportRow>(
  query: SelectQueryBuilder<DB, TB, Row>,
  ...key: [string, ...string[]]
) {
  const columns = sql.join(key.map((column) => sql.ref(column)));
  const ordered = key.reduce((rows, column) => rows.orderBy(sql.ref(column)), query).limit(PAGE_ROWS);
  let rows = await ordered.execute();
  for (;;) {
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < PAGE_ROWS) return;
    const [first, ...others] = key.map((column) => last[column.replace(/^.*\./, '')]);
    rows = await ordered
      // Lets the planner skip months of usage.
      .where(condition`${sql.ref(key[0])} >= ${first}`)
      .where(condition`(${columns}) > (${sql.join([first, ...others])})`)
      .execute();
  }
}

/** The parts of an export, which are files of its archive. Columns are listed one by one: secrets and hashes stay out. */
export const EXPORT_PARTS = {
  profile: async function* ({ em, person }: Exported): Pages {
    const users = await visibleUsers(em, VIEWS_ALL, [person.email])
      .select(['is_staff', 'is_superuser'])
      .select(condition`password_hash is not null`.as('has_password'))
      .execute();
    // Apps and clients have their own parts.
    yield users.map(({ id: _, apps: __, clientadmin_of: ___, ...profile }) => profile);
  },

  email_changes: ({ em, person }: Exported): Pages =>
    pagesOf(
      kysely(em)
        .selectFrom('email_changes')
        .select(['id', 'old_email', 'new_email', 'requested_at', 'changed_at'])
        .where('user_id', '=', person.id),
      'id',
    ),

  memberships: ({ em, person }: Exported): Pages =>
    pagesOf(
      kysely(em)
        .selectFrom('memberships as m')
        .innerJoin('clients', 'clients.id', 'm.client_id')
        .select(['m.client_id', 'clients.name as client'])
        .select(CLIENT_ROLES.map(({ flag }) => `m.${flag}` as const))
        .select(['m.is_active_member as is_active', 'm.extra', 'm.is_demo_user', 'm.joined_at', 'm.ended_at'])
        .where('m.user_id', '=', person.id),
      'm.client_id',
    ),

  app_grants: ({ em, person }: Exported): Pages =>
    pagesOf(
      kysely(em)
        .selectFrom('app_grants as g')
        .innerJoin('apps', 'apps.id', 'g.app_id')
        .select(['g.app_id', 'apps.slug', 'apps.label', 'g.granted_at', 'g.expires_at', 'g.reason'])
        .where('g.user_id', '=', person.id),
      'g.app_id',
    ),

  access_requests: ({ em, person }: Exported): Pages =>
    pagesOf(
      kysely(em)
        .selectFrom('access_requests as r')
        .innerJoin('apps', 'apps.id', 'r.app_id')
        .select([
          'r.id',
          'apps.slug as app',
          'r.reason',
          'r.days',
          'r.status',
          'r.created_at',
          'r.decided_at',
        ])
        .select(['r.decision_reason', 'r.expires_at'])
        .where('r.user_id', '=', person.id),
      'r.id',
    ),

  invitations_received: ({ em, person, now }: Exported): Pages =>
    pagesOf(invitations(em, now).where('invitations.email', '=', person.email), 'invitations.id'),

  invitations_sent: ({ em, person, now }: Exported): Pages =>
    pagesOf(invitations(em, now).where('inviter_id', '=', person.id), 'invitations.id'),

  mails: async function* ({ em, person, now, mailWriter, invitationDays }: Exported): Pages {
    const isRecipient = hasAddress('mail.recipient', person.addresses);
    const mails = mailContexts(em, { now, invitationDays }).where(
      condition`(${isRecipient} or mail.user_id = ${person.id})`,
    );
    for await (const rows of pagesOf(mails, 'mail.id'))
      yield rows.map((row) => {
        // Links are secrets.
        const { subject, text } = mailWriter.write(row, row.sent_at ?? now, { showsLink: false });
        const { id, kind, recipient, status, created_at, sent_at, failed_at, last_error } = row;
        return { id, kind, recipient, status, created_at, sent_at, failed_at, last_error, subject, text };
      });
  },

  sessions: ({ em, person }: Exported): Pages =>
    pagesOf(
      kysely(em)
        .selectFrom('sessions')
        .select(['id', 'created_at', 'authenticated_at', 'expires_at', 'last_used', 'last_address'])
        .select('user_agent')
        .where('user_id', '=', person.id),
      'id',
    ),

  tokens: ({ em, person }: Exported): Pages =>
    pagesOf(
      kysely(em)
        .selectFrom('api_tokens')
        .select(['id', 'name', 'created_at', 'last_used', 'last_address'])
        .where('user_id', '=', person.id),
      'id',
    ),

  saved_filters: ({ em, person }: Exported): Pages =>
    pagesOf(
      kysely(em)
        .selectFrom('saved_filters')
        .select(['id', 'stack_id', 'hash', 'name', 'created', 'modified'])
        .where('user_id', '=', person.id),
      'id',
    ),

  /** Without their keys, which open apps. */
  access_views: ({ em, person }: Exported): Pages =>
    pagesOf(
      kysely(em)
        .selectFrom('access_views as view')
        .innerJoin('apps', 'apps.id', 'view.app_id')
        .select(['view.id', 'apps.slug as app', 'is_active', 'allowed_uses', 'uses', 'expires_at'])
        .select(['data_permissions', 'selections', 'stack_slug', 'flags', 'autorotate', 'allowed_networks'])
        .select(['view.show_header', 'view.show_footer', 'language_code'])
        .select(['view.created_at', 'modified_at'])
        .where('user_id', '=', person.id),
      'view.id',
    ),

  access_view_uses: ({ em, person }: Exported): Pages =>
    pagesOf(
      kysely(em)
        .selectFrom('access_view_uses as used')
        .innerJoin('access_views as view', 'view.id', 'used.access_view_id')
        .innerJoin('apps', 'apps.id', 'view.app_id')
        .select(['used.id', 'used.access_view_id', 'apps.slug as app', 'used_at', 'used.data_permissions'])
        .select(['used.selections', 'used.stack_slug', 'used.autorotate', 'used.show_header'])
        .select(['used.show_footer', 'used.language_code', 'ip_address', 'user_agent'])
        .where('used.user_id', '=', person.id),
      'used.id',
    ),

  /** Oldest first. */
  usage: async function* ({ em, person }: Exported): Pages {
    const entries = kysely(em)
      .selectFrom('usage_entries')
      .innerJoin('apps', 'apps.id', 'usage_entries.app_id')
      .select(['usage_entries.id', 'apps.slug as app', 'occurred_at', 'action', 'action_description'])
      .select(['full_name', 'entry_key', 'extra'])
      .where(hasAddress('email', person.addresses));
    for await (const rows of pagesOf(entries, 'occurred_at', 'usage_entries.id'))
      yield rows.map(({ id: _, ...row }) => row);
  },

  /** What the person did, then what others did to them: without the network addresses of the others. Oldest first. */
  audit: async function* ({ em, person: { addresses } }: Exported): Pages {
    const isIn = (column: string) => hasAddress(column, addresses);
    const entries = kysely(em)
      .selectFrom('audit_entries')
      .select(['id', 'occurred_at', 'action', 'actor_email as actor', 'target', 'details']);
    const own = entries.select('address').where(isIn('actor_email'));
    yield* pagesOf(own, 'occurred_at', 'id');
    const byOthers = entries
      .select(sql<string | null>`case when actor_email = '' then address end`.as('address'))
      .where(isIn('target'))
      .where(condition`not ${isIn('actor_email')}`);
    yield* pagesOf(byOthers, 'occurred_at', 'id');
  },
} satisfies Record<string, (exported: Exported) => Pages>;

export type ExportPart = keyof typeof EXPORT_PARTS;
export const EXPORT_PART_NAMES = Object.keys(EXPORT_PARTS) as ExportPart[]; // its keys are literals

const invitations = (em: Em, now: Date) =>
  kysely(em)
    .selectFrom('invitations')
    .innerJoin('clients', 'clients.id', 'invitations.client_id')
    .innerJoin('users as inviter', 'inviter.id', 'invitations.inviter_id')
    .select(['invitations.id', 'clients.name as client', 'invitations.email', 'inviter.email as inviter'])
    .select([statusAt(now).as('status'), 'date_invited', 'expires_at', 'closed_at', 'email_count'])
    .select(['invitations.extra', appsInvitedTo(sql`a.slug`, sql`invitations.id`).as('apps')])
    .select([
      'invitations.apps_expire_at',
      sql<string[]>`array(select g.name from invitation_groups ig join groups g on g.id = ig.group_id
        where ig.invitation_id = invitations.id order by g.name)`.as('groups'),
    ]);
