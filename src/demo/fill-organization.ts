import { sql } from 'kysely';
import { type Em, kysely } from '../db/kysely.ts';
import { DAY_MS, MINUTE_MS } from '../lib/clock.ts';
import { newInvitationKeys } from '../lib/ids.ts';
import { handleBase, profileColorOf } from '../services/accounts/new-accounts.ts';
import type { AuditAction } from '../services/audit/audit.ts';
import { mailContexts } from '../services/mail/mail-context.ts';
import { keepVariables } from '../services/mail/mail-variables.ts';
import {
  ALL_APPS,
  APP_IN_MAINTENANCE,
  DATA_PERMISSIONS,
  INVITEES,
  MAINTENANCE_DAYS,
  MEMBERS,
  NORTHWIND_ADMIN,
} from './organization.ts';
import { PEOPLE, USAGE_DAYS } from './workspace.ts';

const INVITATION_MS = 14 * DAY_MS;
/** The default time after which sent mails are deleted. */
const MAIL_DAYS = 30;
const DELIVERY_MS = 3_000;

/** Past times, at different minutes of the day. */
const daysBefore = (now: Date, days: number, index = 0): Date =>
  new Date(now.getTime() - days * DAY_MS - ((index * 7) % 180) * MINUTE_MS - MINUTE_MS);

/** Adds the people of the organization, and makes the people of the workspace as old as their usage. */
export const addMembers = async (tx: Em, hash: string, now: Date): Promise<void> => {
  const db = kysely(tx);
  const seenAt = daysBefore(now, 0);
  for (const { email, isActive = true } of [...PEOPLE, NORTHWIND_ADMIN]) {
    await db
      .updateTable('users')
      .set({
        date_joined: daysBefore(now, USAGE_DAYS),
        last_password_set: daysBefore(now, USAGE_DAYS),
        extra: DATA_PERMISSIONS[email] ?? {},
        ...(isActive ? { last_login: seenAt } : { last_deactivated: daysBefore(now, 45) }),
      })
      .where('email', '=', email)
      .execute();
  }
  const since = daysBefore(now, USAGE_DAYS);
  await db.updateTable('memberships').set({ joined_at: since }).execute();
  await db.updateTable('app_grants').set({ granted_at: since }).execute();
  const rows = MEMBERS.map((member, index) => {
    const joined = daysBefore(now, member.joinedDaysAgo, index);
    const { lastSeenDaysAgo, leftDaysAgo } = member;
    return {
      email: member.email,
      handle: handleBase(member.email),
      first_name: member.firstName,
      last_name: member.lastName,
      extra: member.extra,
      profile_color: profileColorOf(member.email),
      password_hash: lastSeenDaysAgo === null ? null : hash,
      is_active: leftDaysAgo === null,
      last_deactivated: leftDaysAgo === null ? null : daysBefore(now, leftDaysAgo, index),
      last_login: lastSeenDaysAgo === null ? null : daysBefore(now, lastSeenDaysAgo, index),
      date_joined: joined,
      last_password_set: joined,
    };
  });
  const added = await db.insertInto('users').values(rows).returning(['id', 'email']).execute();
  const idOf = new Map(added.map(({ id, email }) => [email, id]));
  const withId = MEMBERS.map((member) => ({ ...member, user_id: idOf.get(member.email) ?? 0 }));
  const memberships = withId.flatMap(({ user_id, clientIds, isAdmin, joinedDaysAgo }, index) => {
    const joined_at = daysBefore(now, joinedDaysAgo, index);
    return clientIds.map((client_id) => ({ user_id, client_id, is_admin: isAdmin, joined_at }));
  });
  await db.insertInto('memberships').values(memberships).execute();
  await sql`update memberships m set extra = users.extra from users where users.id = m.user_id`.execute(db);
  const grants = withId.flatMap(({ user_id, apps }) => apps.map((app_id) => ({ user_id, app_id })));
  await db.insertInto('app_grants').values(grants).execute();
};

/** People who joined during the days of usage were invited; others have not come yet. */
const invitationsOf = (now: Date) => [
  ...MEMBERS.filter(({ joinedDaysAgo }) => joinedDaysAgo < USAGE_DAYS).map(
    ({ email, clientIds: [clientId = 1], apps, joinedDaysAgo }, index) => ({
      email,
      clientId,
      apps,
      status: 'accepted' as const,
      isRejected: false,
      invitedAt: daysBefore(now, joinedDaysAgo + 1 + (index % 5), index),
      closedAt: daysBefore(now, joinedDaysAgo, index),
    }),
  ),
  ...INVITEES.map(({ invitedDaysAgo, ...invitee }, index) => ({
    ...invitee,
    invitedAt: daysBefore(now, invitedDaysAgo, index),
    closedAt: invitee.status === 'revoked' ? daysBefore(now, invitedDaysAgo - 2, index) : null,
  })),
];

type Invitation = ReturnType<typeof invitationsOf>[number] & { id: number };

/** The client's second admin. */
const inviterOf = (clientId: number): string =>
  MEMBERS.find(({ isAdmin, clientIds }) => isAdmin && clientIds[0] === clientId)?.email ?? '';

/** Adds invitations of every status, and the mails of the last month, with the audit entries that the service would write. */
export const addInvitations = async (tx: Em, now: Date): Promise<void> => {
  const db = kysely(tx);
  const people = await db.selectFrom('users').select(['id', 'email']).execute();
  const idOf = new Map(people.map(({ id, email }) => [email, id]));
  const invitations = invitationsOf(now);
  const keys = newInvitationKeys(invitations.length);
  const added = await db
    .insertInto('invitations')
    .values(
      invitations.map(({ email, clientId, status, isRejected, invitedAt, closedAt }, index) => ({
        client_id: clientId,
        email,
        key: keys[index] ?? '',
        inviter_id: idOf.get(inviterOf(clientId)) ?? 0,
        status,
        date_invited: invitedAt,
        expires_at: new Date(invitedAt.getTime() + INVITATION_MS),
        closed_at: closedAt,
        email_count: isRejected ? 0 : 1,
      })),
    )
    .returning(['id', 'email'])
    .execute();
  const invitationIdOf = new Map(added.map(({ id, email }) => [email, id]));
  const withId = invitations.map((one) => ({ ...one, id: invitationIdOf.get(one.email) ?? 0 }));
  const invitedTo = withId.flatMap(({ id, apps }) => apps.map((app_id) => ({ invitation_id: id, app_id })));
  await db.insertInto('invitation_apps').values(invitedTo).execute();
  await addMails(tx, withId, idOf, now);
  await addEntries(
    tx,
    withId.flatMap(({ id, email, clientId, apps, status, invitedAt, closedAt }) => {
      const inviter = inviterOf(clientId);
      const created = entry(invitedAt, 'invitation.create', inviter, email, [clientId], { id, apps });
      if (closedAt === null) return [created];
      const labels = ALL_APPS.filter((app) => apps.includes(app.id)).map(({ label }) => label);
      const closed =
        status === 'accepted'
          ? entry(closedAt, 'invitation.accept', email, email, [clientId], { id, apps: labels })
          : entry(closedAt, 'invitation.revoke', inviter, email, [clientId], { id });
      return [created, closed];
    }),
  );
};

const addMails = async (
  tx: Em,
  invitations: readonly Invitation[],
  idOf: ReadonlyMap<string, number>,
  now: Date,
): Promise<void> => {
  const oldest = daysBefore(now, MAIL_DAYS);
  const ofInvitations = invitations.map(({ id, email, clientId, isRejected, invitedAt }) => ({
    ...deliveryOf(invitedAt, isRejected ? `550 5.1.1 <${email}>: Recipient address rejected` : null),
    kind: 'invitation' as const,
    recipient: email,
    client_id: clientId,
    invitation_id: id,
  }));
  const ofPasswords = MEMBERS.flatMap(({ email, lastSeenDaysAgo, leftDaysAgo }, index) => {
    if (index % 9 !== 4 || leftDaysAgo !== null || lastSeenDaysAgo === null) return [];
    const to = { recipient: email, user_id: idOf.get(email) ?? null };
    const requestedAt = daysBefore(now, lastSeenDaysAgo + (index % 20), index);
    const changedAt = new Date(requestedAt.getTime() + 5 * MINUTE_MS);
    if (index % 5 === 4)
      return [
        { ...deliveryOf(requestedAt, '452 4.2.2 Mailbox full'), ...to, kind: 'password-reset' as const },
      ];
    return [
      { ...deliveryOf(requestedAt, null), ...to, kind: 'password-reset' as const },
      { ...deliveryOf(changedAt, null), ...to, kind: 'password-changed' as const },
    ];
  });
  const mails = [...ofInvitations, ...ofPasswords].filter(({ created_at }) => created_at > oldest);
  mails.sort((a, b) => a.created_at.getTime() - b.created_at.getTime());
  await kysely(tx).insertInto('outbox_mails').values(mails).execute();
  const added = mailContexts(tx, { now, invitationMs: INVITATION_MS });
  await keepVariables(tx, await added.execute());
};

/** A mail that was sent at once, or that the mail server rejected. */
const deliveryOf = (createdAt: Date, error: string | null) => {
  const attemptedAt = new Date(createdAt.getTime() + DELIVERY_MS);
  return {
    created_at: createdAt,
    attempts: 1,
    last_attempt_at: attemptedAt,
    next_attempt_at: attemptedAt,
    last_error: error,
    sent_at: error === null ? attemptedAt : null,
    failed_at: error === null ? null : attemptedAt,
  };
};

/** Adds to the audit trail who left, who logged in last, and what an admin has changed. */
export const addTrail = async (tx: Em, now: Date): Promise<void> => {
  const ofMembers = MEMBERS.flatMap(({ email, clientIds, lastSeenDaysAgo, leftDaysAgo }, index) => {
    const admin = inviterOf(clientIds[0] ?? 1);
    const at = (days: number) => daysBefore(now, days, index);
    return [
      lastSeenDaysAgo !== null && entry(at(lastSeenDaysAgo), 'login.session', email, email, clientIds),
      leftDaysAgo !== null && entry(at(leftDaysAgo), 'user.deactivate', admin, email, clientIds),
    ].filter((each) => each !== false);
  });
  await addEntries(tx, [
    ...ofMembers,
    entry(daysBefore(now, MAINTENANCE_DAYS), 'app.update', 'admin@globex.test', 'warehouse', [2], {
      id: APP_IN_MAINTENANCE,
      in_maintenance: { from: false, to: true },
    }),
    entry(new Date(now.getTime() - DAY_MS), 'user.update', 'admin@acme.test', 'grace@acme.test', [1], {
      last_name: { from: null, to: null },
    }),
  ]);
};

const entry = (
  occurred_at: Date,
  action: AuditAction,
  actor_label: string,
  target_label: string,
  client_ids: number[],
  details: Record<string, unknown> = {},
) => ({ occurred_at, action, actor_type: 'user' as const, actor_label, target_label, client_ids, details });

/** Sorted by time, which is the order of lists of the audit trail. */
const addEntries = async (tx: Em, entries: readonly ReturnType<typeof entry>[]): Promise<void> => {
  const users = await kysely(tx).selectFrom('users').select(['id', 'email']).execute();
  const ids = new Map(users.map(({ id, email }) => [email, id]));
  const targetOf = (label: string) =>
    ids.has(label)
      ? { target_type: 'user', target_id: String(ids.get(label)) }
      : { target_type: 'app', target_id: APP_IN_MAINTENANCE };
  const rows = entries
    .toSorted((a, b) => a.occurred_at.getTime() - b.occurred_at.getTime())
    .map((row) => ({ ...row, ...targetOf(row.target_label), actor_id: ids.get(row.actor_label) ?? null }));
  await kysely(tx).insertInto('audit_entries').values(rows).execute();
};
