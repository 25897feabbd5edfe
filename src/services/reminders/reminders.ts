import { type RawBuilder, sql } from 'kysely';
import { jsonObjectFrom } from 'kysely/helpers/postgres';
import { ClientReminders } from '../../../entities/reminders.ts';
import { type Em, kysely, pickDefined } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import { isEmpty, ofClient } from '../audit/audit.ts';
import { editEntity, requireExpected } from '../audit/edits.ts';
import { lockClient, readManagedClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { dueGrants, dueInvitations, dueSuspensions, isReportDue, isWarningDue } from './reminder-rules.ts';
import { type DigestFacts, digestFacts, hasNews, mondayOf } from './weekly-digest.ts';

/** 0 days: off. */
type Settings = typeof OFF;

type Changes = { [K in keyof Settings]?: Settings[K] | undefined };

const OFF = {
  access_days: 0,
  access_admins: false,
  invitation_days: 0,
  inactive_days: 0,
  suspend_days: 0,
  weekly_digest: false,
};

type Recipient = { email: string; first_name: string; last_name: string; at: Date | null; apps: string[] };
type Section = { count: number; people: Recipient[] };

/** The reminders that clients send to their people and admins. */
export const createReminders = ({ em, clock, audit, keyedMutex }: UnitOfWork) => ({
  /** @throws Problem `not-found` */
  get: (actor: Actor, id: number): Promise<Settings> => readSettings(em, actor, id),

  /**
   * Turning something on sends nothing at once: the next run does, within an hour. A change of the days of inactivity starts a new round:
   * people who were warned before are warned once more before they are suspended.
   * @throws Problem `not-found`, `forbidden`, `precondition-failed`
   */
  update: (actor: Actor, id: number, changes: Changes, expected?: Changes): Promise<Settings> =>
    em.transactional(async (tx) => {
      const { client } = await lockClient(tx, actor, id);
      if (expected) requireExpected(await readSettings(tx, actor, id), expected);
      const reminders = await findOrCreate(tx, id);
      const hadDigest = reminders.weeklyDigest;
      const details = editEntity(tx, ClientReminders, reminders, changes);
      const now = clock.now();
      if (details.inactive_days || details.suspend_days) reminders.inactiveSince = now;
      // The first digest is for this week.
      if (reminders.weeklyDigest && !hadDigest) reminders.digestFor = mondayOf(now);
      await tx.flush();
      const event = { actor, target: ofClient(client), clients: [id], details };
      if (!isEmpty(details)) await audit.record(tx, [{ action: 'client.change-reminders', ...event }]);
      return readSettings(tx, actor, id);
    }),

  /**
   * Previews who would get which mail in the next run, and whose membership would be suspended, by the stored settings with these changes.
   * The digest covers the seven days until now.
   * @throws Problem `not-found`, `forbidden`
   */
  preview: async (actor: Actor, id: number, changes: Changes, limit: number) => {
    await readManagedClient(em, actor, id, 'configure');
    // One at a time: it reads all members, and several would hold connections that other requests need.
    return keyedMutex(`preview of the reminders of ${id}`, async () => {
      const now = clock.now();
      const settings = await considered(em, actor, id, changes, now);
      const read = (due: RawBuilder<unknown>, at: string) => readSection(em, due, at, limit);
      const r = sql`${settings} r`;
      const grants = sql`(select email, first_name, last_name, min(expires_at) as expires_at,
      array_agg(label order by expires_at, label) as apps
      from (${dueGrants(settings, now)}) due group by user_id, email, first_name, last_name)`;
      const warnings = sql`(select users.email, users.first_name, users.last_name, users.last_login
      from ${r} join clients c on c.id = r.client_id and c.is_open join memberships m on m.client_id = r.client_id
        join users on users.id = m.user_id where ${isWarningDue(now)})`;
      const admins = (
        isDue: RawBuilder<unknown>,
      ) => sql`(select u.email, u.first_name, u.last_name, null::timestamptz as no_time
      from ${r} join clients c on c.id = r.client_id and c.is_open
        join memberships m on m.client_id = r.client_id and m.is_admin and m.is_active_member
        join users u on u.id = m.user_id and u.is_active where ${isDue})`;
      const digest = await readDigest(em, id, now);
      return {
        access: await read(grants, 'expires_at'),
        access_admins: await read(admins(isReportDue(now)), 'no_time'),
        invitations: await read(sql`(${dueInvitations(settings, now)})`, 'expires_at'),
        inactive: await read(warnings, 'last_login'),
        suspended: await read(sql`(${dueSuspensions(settings, now)})`, 'inactivity_warned_at'),
        weekly_digest: await read(admins(sql`r.weekly_digest and ${digest.hasNews}`), 'no_time'),
        digest: digest.facts,
      };
    });
  },
});

const readSettings = async (em: Em, actor: Actor, id: number): Promise<Settings> => {
  const { stored } = await kysely(em)
    .selectFrom('clients')
    .select(({ selectFrom }) =>
      jsonObjectFrom(
        selectFrom('client_reminders as r')
          .select(['r.access_days', 'r.access_admins', 'r.invitation_days', 'r.inactive_days'])
          .select(['r.suspend_days', 'r.weekly_digest'])
          .whereRef('r.client_id', '=', 'clients.id'),
      ).as('stored'),
    )
    .where('clients.id', '=', id)
    .where(clientVisibleTo(actor, sql`clients.id`))
    .executeTakeFirstOrThrow(() => notFound('client'));
  return stored ?? OFF;
};

/** The client must be locked. */
const findOrCreate = async (tx: Em, client: number) =>
  (await tx.findOne(ClientReminders, { client })) ??
  tx.create(ClientReminders, {
    client,
    accessDays: 0,
    accessAdmins: false,
    invitationDays: 0,
    inactiveDays: 0,
    suspendDays: 0,
    weeklyDigest: false,
  });

/**
 * SQL: a table with the row that `update` would store. Its values are constants for the planner, because it is read for each of many
 * members.
 */
const considered = async (em: Em, actor: Actor, id: number, changes: Changes, now: Date) => {
  const stored = await readSettings(em, actor, id);
  const settings: Settings = { ...stored, ...pickDefined(changes) };
  const isRestarted =
    settings.inactive_days !== stored.inactive_days || settings.suspend_days !== stored.suspend_days;
  const since = isRestarted ? sql`${now}::timestamptz` : sql`stored.inactive_since`;
  return sql`(select ${id}::int as client_id, ${settings.access_days}::int as access_days,
      ${settings.access_admins}::boolean as access_admins, ${settings.invitation_days}::int as invitation_days,
      ${settings.inactive_days}::int as inactive_days, ${settings.suspend_days}::int as suspend_days,
      ${settings.weekly_digest}::boolean as weekly_digest, ${since} as inactive_since, stored.access_told_until
    from (select) one left join client_reminders stored on stored.client_id = ${id})`;
};

const readSection = async (em: Em, due: RawBuilder<unknown>, at: string, limit: number): Promise<Section> => {
  const { rows } = await sql<Recipient & { total: number }>`
    select email, first_name, last_name, ${sql.ref(at)} as at, to_json(due) -> 'apps' as apps, count(*) over ()::int as total
    from ${due} due order by ${sql.ref(at)}, email limit ${limit}`.execute(kysely(em));
  return {
    count: rows[0]?.total ?? 0,
    people: rows.map(({ total: _, apps, ...person }) => ({ ...person, apps: apps ?? [] })),
  };
};

const readDigest = async (em: Em, id: number, now: Date) => {
  const facts = digestFacts(sql`${id}::int`, sql`${now}::timestamptz`, now);
  const { rows } = await sql<{ facts: DigestFacts; has_news: boolean }>`
    select facts, ${hasNews(sql`facts`)} as has_news
    from (select ${facts} as facts) found`.execute(kysely(em));
  const [row] = rows;
  if (!row) throw new Error('The facts of a digest are one row.');
  return { facts: row.facts, hasNews: sql`${row.has_news}::boolean` };
};
