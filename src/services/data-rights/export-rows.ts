import { type SelectQueryBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { appsInvitedTo, statusAt } from '../invitations/invitation-rows.ts';
import { mailContexts } from '../mail/mail-context.ts';
import type { MailWriter } from '../mail/mail-writer.ts';

export type ExportRow = Record<string, unknown>;

type Exported = {
  em: Em;
  person: {
    id: number;
    email: string;
    /** The clients that the person belongs to. */
    clients: readonly number[];
    /** Whether the reader is the person, without a role in all clients. */
    isForPerson: boolean;
  };
  now: Date;
  mailWriter: MailWriter;
  invitationMs: number;
};

/** Few, because `extra` of a usage entry may have 64 KiB. */
const PAGE_ROWS = 250;

type Pages = AsyncGenerator<ExportRow[]>;

/**
 * SQL: the rows that people see about themselves: rows of the clients that they belong to, and rows without a client. Data of clients that
 * they have left is for these clients to give. Superusers see all rows.
 */
const isSeen = ({ clients, isForPerson }: Exported['person'], clientId: string) =>
  isForPerson
    ? condition`coalesce(${sql.ref(clientId)} = any(${[...clients]}::int[]), true)`
    : condition`true`;

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

/** The rows of a query. */
const part =
  <DB, TB extends keyof DB, Row extends ExportRow>(
    key: string,
    query: (exported: Exported) => SelectQueryBuilder<DB, TB, Row>,
  ) =>
  (exported: Exported): Pages =>
    pagesOf(query(exported), key);

/** The parts of an export, which are the files of its archive. Columns are listed one by one, so that secrets and hashes stay out. */
export const EXPORT_PARTS = {
  profile: async function* ({ em, person }: Exported): Pages {
    yield await kysely(em)
      .selectFrom('users')
      .select(['email', 'handle', 'first_name', 'last_name', 'profile_color', 'profile_avatar'])
      .select(['last_login', 'date_joined', 'last_activated', 'last_deactivated', 'last_password_set'])
      .select(['extra', 'is_active', 'is_demo_user', 'is_staff', 'is_superuser'])
      .select(condition`password_hash is not null`.as('has_password'))
      .where('id', '=', person.id)
      .execute();
  },

  email_changes: part('id', ({ em, person }) =>
    kysely(em)
      .selectFrom('email_changes')
      .select(['id', 'old_email', 'new_email', 'requested_at', 'changed_at'])
      .where('user_id', '=', person.id),
  ),

  memberships: part('m.client_id', ({ em, person }) =>
    kysely(em)
      .selectFrom('memberships as m')
      .innerJoin('clients', 'clients.id', 'm.client_id')
      .select(['m.client_id', 'clients.name as client'])
      .select(['m.is_admin', 'm.roles'])
      .select(['m.is_active_member as is_active', 'm.extra', 'm.is_demo_user', 'm.joined_at', 'm.ended_at'])
      .select('m.claims')
      .where('m.user_id', '=', person.id),
  ),

  app_grants: part('g.app_id', ({ em, person }) =>
    kysely(em)
      .selectFrom('app_grants as g')
      .innerJoin('apps', 'apps.id', 'g.app_id')
      .select(['g.app_id', 'apps.slug', 'apps.label', 'g.granted_at', 'g.expires_at', 'g.reason'])
      .select(['g.attributes', 'g.app_roles'])
      .where('g.user_id', '=', person.id),
  ),

  access_requests: part('r.id', ({ em, person }) =>
    kysely(em)
      .selectFrom('access_requests as r')
      .innerJoin('apps', 'apps.id', 'r.app_id')
      .select(['r.id', 'apps.slug as app', 'r.reason', 'r.days', 'r.status', 'r.created_at', 'r.decided_at'])
      .select(['r.decision_reason', 'r.expires_at'])
      .where('r.user_id', '=', person.id)
      .where(isSeen(person, 'apps.client_id')),
  ),

  directory_people: part('d.id', ({ em, person }) =>
    kysely(em)
      .selectFrom('directory_people as d')
      .innerJoin('clients', 'clients.id', 'd.client_id')
      .select(['d.id', 'clients.name as client', 'd.user_name', 'd.external_id', 'd.email', 'd.is_active'])
      .select(['d.resource', 'd.created_at', 'd.modified_at'])
      .where(condition`(d.user_id = ${person.id} or d.email = ${person.email})`)
      .where(isSeen(person, 'd.client_id')),
  ),

  invitations_received: part('invitations.id', ({ em, person, now }) =>
    invitations(em, now)
      .where(condition`(invitations.user_id = ${person.id} or invitations.email = ${person.email})`)
      .where(isSeen(person, 'invitations.client_id')),
  ),

  invitations_sent: part('invitations.id', ({ em, person, now }) =>
    invitations(em, now).where('inviter_id', '=', person.id).where(isSeen(person, 'invitations.client_id')),
  ),

  mails: async function* ({ em, person, now, mailWriter, invitationMs }: Exported): Pages {
    const mails = mailContexts(em, { now, invitationMs })
      .where(condition`(mail.user_id = ${person.id} or mail.recipient = ${person.email})`)
      .where(isSeen(person, 'mail.client_id'));
    for await (const rows of pagesOf(mails, 'mail.id'))
      yield rows.map((row) => {
        // Links are secrets.
        const { subject, text } = mailWriter.write(row, { showsLink: false });
        const { id, kind, recipient, status, created_at, sent_at, failed_at, last_error, is_as_sent } = row;
        const times = { created_at, sent_at, failed_at };
        return { id, kind, recipient, status, ...times, last_error, subject, text, is_as_sent };
      });
  },

  sessions: part('id', ({ em, person }) =>
    kysely(em)
      .selectFrom('sessions')
      .select(['id', 'created_at', 'authenticated_at', 'expires_at', 'last_used', 'last_address'])
      .select(['user_agent', 'methods'])
      .where('user_id', '=', person.id),
  ),

  /** Without their secrets and keys, and without recovery codes. */
  second_factors: part('factor.id', ({ em, person }) =>
    kysely(em)
      .selectFrom('mfa_factors as factor')
      .leftJoin('passkeys', 'passkeys.factor_id', 'factor.id')
      .select(['factor.id', 'kind', 'name', 'created_at', 'confirmed_at', 'last_used_at'])
      .select(['transports', 'is_backed_up', 'aaguid'])
      .where('user_id', '=', person.id),
  ),

  external_identities: part('identity.id', ({ em, person }) =>
    kysely(em)
      .selectFrom('external_identities as identity')
      .innerJoin('sso_connections as connection', 'connection.id', 'identity.connection_id')
      .select(['identity.id', 'connection.name as connection', 'connection.issuer', 'identity.subject'])
      .select(['identity.email', 'identity.created_at', 'identity.last_login'])
      .where('identity.user_id', '=', person.id)
      .where(isSeen(person, 'connection.client_id')),
  ),

  tokens: part('id', ({ em, person }) =>
    kysely(em)
      .selectFrom('api_tokens')
      .select(['id', 'name', 'created_at', 'authenticated_at', 'last_used', 'last_address'])
      .where('user_id', '=', person.id),
  ),

  saved_filters: part('filter.id', ({ em, person }) =>
    kysely(em)
      .selectFrom('saved_filters as filter')
      .innerJoin('stacks', 'stacks.id', 'filter.stack_id')
      .innerJoin('apps', 'apps.id', 'stacks.app_id')
      .select(['filter.id', 'stack_id', 'hash', 'name', 'created', 'modified'])
      .select(['filter.description', 'filter.state_version', 'filter.state', 'filter.is_shared'])
      .select(GROUPS_OF_FILTER.as('groups'))
      .where('filter.user_id', '=', person.id)
      .where(isSeen(person, 'apps.client_id')),
  ),

  saved_filter_defaults: part('chosen.id', ({ em, person }) =>
    kysely(em)
      .selectFrom('saved_filter_defaults as chosen')
      .innerJoin('stacks', 'stacks.id', 'chosen.stack_id')
      .innerJoin('apps', 'apps.id', 'stacks.app_id')
      .select(['chosen.id', 'chosen.stack_id', 'chosen.saved_filter_id'])
      .where('chosen.user_id', '=', person.id)
      .where(isSeen(person, 'apps.client_id')),
  ),

  list_views: part('v.id', ({ em, person }) =>
    kysely(em)
      .selectFrom('list_views as v')
      .select(['v.id', 'v.list', 'v.name', 'v.client_id', 'v.search', 'v.is_shared'])
      .select(['v.created_at', 'v.modified_at'])
      .where('v.user_id', '=', person.id)
      .where(isSeen(person, 'v.client_id')),
  ),

  list_view_pins: part('p.list_view_id', ({ em, person }) =>
    kysely(em)
      .selectFrom('list_view_pins as p')
      .innerJoin('list_views as v', 'v.id', 'p.list_view_id')
      .select(['p.list_view_id', 'v.list'])
      .where('p.user_id', '=', person.id)
      .where(isSeen(person, 'v.client_id')),
  ),

  /** Without their keys, which open apps. */
  access_views: part('view.id', ({ em, person }) =>
    kysely(em)
      .selectFrom('access_views as view')
      .innerJoin('apps', 'apps.id', 'view.app_id')
      .select([
        'view.id',
        'view.label',
        'apps.slug as app',
        'is_active',
        'allowed_uses',
        'uses',
        'expires_at',
      ])
      .select(['data_permissions', 'selections', 'stack_slug', 'flags', 'autorotate', 'allowed_networks'])
      .select(['view.show_header', 'view.show_footer', 'language_code'])
      .select(['view.created_at', 'modified_at'])
      .where('view.user_id', '=', person.id)
      .where(isSeen(person, 'apps.client_id')),
  ),

  access_view_uses: part('used.id', ({ em, person }) =>
    kysely(em)
      .selectFrom('access_view_uses as used')
      .innerJoin('access_views as view', 'view.id', 'used.access_view_id')
      .innerJoin('apps', 'apps.id', 'view.app_id')
      .select(['used.id', 'used.access_view_id', 'apps.slug as app', 'used_at', 'used.data_permissions'])
      .select(['used.selections', 'used.stack_slug', 'used.autorotate', 'used.show_header'])
      .select(['used.show_footer', 'used.language_code', 'ip_address', 'user_agent'])
      .select(['used.methods', 'used.auth_time'])
      .where('used.user_id', '=', person.id)
      .where(isSeen(person, 'apps.client_id')),
  ),

  /** Who looked at apps as the person. */
  viewed_as: part('v.id', ({ em, person }) =>
    kysely(em)
      .selectFrom('view_as as v')
      .innerJoin('apps', 'apps.id', 'v.app_id')
      .innerJoin('users as actor', 'actor.id', 'v.actor_id')
      .select(['v.id', 'actor.email as actor', 'apps.slug as app', 'v.reason'])
      .select(['v.begun_at', 'v.ends_at', 'v.ended_at'])
      .where('v.user_id', '=', person.id)
      .where(isSeen(person, 'v.client_id')),
  ),

  /** Logins to apps by OpenID Connect, until a week after their end. Without tokens. */
  openid_logins: part('l.id', ({ em, person }) =>
    kysely(em)
      .selectFrom('openid_logins as l')
      .leftJoin('apps', 'apps.id', 'l.app_id')
      .select(['l.id', 'apps.slug as app', 'l.subject', 'l.started_at', 'l.ended_at'])
      .where('l.user_id', '=', person.id)
      .where(isSeen(person, 'l.client_id')),
  ),

  /** To which apps of other clients the person has agreed. */
  openid_consents: part('c.app_id', ({ em, person }) =>
    kysely(em)
      .selectFrom('openid_consents as c')
      .innerJoin('apps', 'apps.id', 'c.app_id')
      .select(['c.app_id', 'apps.slug as app', 'c.claims', 'c.created_at'])
      .where('c.user_id', '=', person.id)
      .where(isSeen(person, 'apps.client_id')),
  ),

  /** Oldest first. */
  usage: async function* ({ em, person }: Exported): Pages {
    const entries = kysely(em)
      .selectFrom('usage_entries')
      .innerJoin('apps', 'apps.id', 'usage_entries.app_id')
      .select(['usage_entries.id', 'apps.slug as app', 'occurred_at', 'action', 'action_description'])
      .select(['full_name', 'entry_key', 'extra'])
      .where('user_id', '=', person.id)
      .where(isSeen(person, 'apps.client_id'));
    for await (const rows of pagesOf(entries, 'occurred_at', 'usage_entries.id'))
      yield rows.map(({ id: _, ...row }) => row);
  },

  /** Actions of the person, then actions of others on the person, without the network addresses of the others. Oldest first. */
  audit: async function* ({ em, person }: Exported): Pages {
    const isActor = condition`actor_id = ${person.id}`;
    const isTarget = condition`(target_type = 'user' and target_id = ${String(person.id)})`;
    // Data of clients that the person has left is for these clients to give.
    const isKept = person.isForPerson
      ? condition`(client_ids <@ ${[...person.clients]}::int[])`
      : condition`true`;
    const entries = kysely(em)
      .selectFrom('audit_entries')
      .select(['id', 'occurred_at', 'action', 'actor_label as actor', 'target_label as target', 'details'])
      .where(isKept);
    yield* pagesOf(entries.select('address').where(isActor), 'occurred_at', 'id');
    const byOthers = entries
      .select((entry) =>
        entry.case().when('actor_id', 'is', null).then(entry.ref('address')).end().as('address'),
      )
      .where(isTarget)
      .where(condition`${isActor} is not true`);
    yield* pagesOf(byOthers, 'occurred_at', 'id');
  },
} satisfies Record<string, (exported: Exported) => Pages>;

export type ExportPart = keyof typeof EXPORT_PARTS;
export const EXPORT_PART_NAMES = Object.keys(EXPORT_PARTS) as ExportPart[]; // its keys are literals

/** SQL: the names of the groups of an invitation. */
const GROUPS = sql<string[]>`array(select g.name from invitation_groups ig join groups g on g.id = ig.group_id
  where ig.invitation_id = invitations.id order by g.name)`;

/** SQL: the names of the groups with which a filter is shared. */
const GROUPS_OF_FILTER = sql<
  string[]
>`array(select g.name from saved_filter_groups s join groups g on g.id = s.group_id
  where s.saved_filter_id = filter.id order by g.name)`;

const invitations = (em: Em, now: Date) =>
  kysely(em)
    .selectFrom('invitations')
    .innerJoin('clients', 'clients.id', 'invitations.client_id')
    .innerJoin('users as inviter', 'inviter.id', 'invitations.inviter_id')
    .select(['invitations.id', 'clients.name as client', 'invitations.email'])
    .select(['invitations.first_name', 'invitations.last_name'])
    .select([statusAt(now).as('status'), 'date_invited', 'expires_at', 'closed_at', 'email_count'])
    .select(['invitations.extra', appsInvitedTo('slug').as('apps')])
    .select(['invitations.apps_expire_at', 'invitations.roles', GROUPS.as('groups')]);
