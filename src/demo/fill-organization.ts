import { sql } from 'kysely';
import { type Em, kysely } from '../db/kysely.ts';
import { DAY_MS, MINUTE_MS } from '../lib/clock.ts';
import { newInvitationKeys } from '../lib/ids.ts';
import { handleBase, profileColorOf } from '../services/accounts/new-accounts.ts';
import type { AuditAction } from '../services/audit/audit.ts';
import { mailContexts } from '../services/mail/mail-context.ts';
import { keepVariables } from '../services/mail/mail-variables.ts';
import { DATA_PERMISSIONS, INVITEES, MEMBERS, NORTHWIND_ADMIN } from './organization.ts';
import { PEOPLE, USAGE_DAYS } from './workspace.ts';

const INVITATION_MS = 14 * DAY_MS;
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

/** The client's second admin. */
const inviterOf = (clientId: number): string =>
  MEMBERS.find(({ isAdmin, clientIds }) => isAdmin && clientIds[0] === clientId)?.email ?? '';

/** Adds pending and expired invitations, their mails, and an audit trail: who was invited, who left, and who logged in last. */
export const addHistory = async (tx: Em, now: Date): Promise<void> => {
  const db = kysely(tx);
  const people = await db.selectFrom('users').select(['id', 'email']).execute();
  const idOf = new Map(people.map(({ id, email }) => [email, id]));
  const invitations = await addInvitations(tx, idOf, now);
  const entry = (
    action: AuditAction,
    at: Date,
    actor: string,
    target: string,
    client_ids: number[],
    details: Record<string, unknown> = {},
  ) => ({
    ...{ occurred_at: at, action, client_ids, details, actor_type: 'user' as const },
    ...{ actor_id: idOf.get(actor) ?? null, actor_label: actor, target_label: target },
    ...(idOf.has(target) && { target_type: 'user', target_id: String(idOf.get(target)) }),
  });
  const ofMembers = MEMBERS.flatMap(({ email, clientIds, lastSeenDaysAgo, leftDaysAgo }, index) => {
    const admin = inviterOf(clientIds[0] ?? 1);
    const at = (days: number) => daysBefore(now, days, index);
    return [
      lastSeenDaysAgo !== null && entry('login.session', at(lastSeenDaysAgo), email, email, clientIds),
      leftDaysAgo !== null && entry('user.deactivate', at(leftDaysAgo), admin, email, clientIds),
    ].filter((each) => each !== false);
  });
  const ofInvitations = invitations.map(({ id, email, client_id, apps, date_invited }) =>
    entry('invitation.create', date_invited, inviterOf(client_id), email, [client_id], { id, apps }),
  );
  const yesterday = new Date(now.getTime() - DAY_MS);
  const renamed = entry('user.update', yesterday, 'admin@acme.test', 'grace@acme.test', [1], {
    last_name: { from: null, to: null },
  });
  // Lists of the audit trail have the order of their ids.
  const entries = [...ofMembers, ...ofInvitations, renamed].toSorted(
    (a, b) => a.occurred_at.getTime() - b.occurred_at.getTime(),
  );
  await db.insertInto('audit_entries').values(entries).execute();
};

const addInvitations = async (tx: Em, idOf: ReadonlyMap<string, number>, now: Date) => {
  const db = kysely(tx);
  const keys = newInvitationKeys(INVITEES.length);
  const rows = INVITEES.map(({ email, clientId, isRejected, invitedDaysAgo }, index) => {
    const date_invited = daysBefore(now, invitedDaysAgo, index);
    return {
      ...{ email, client_id: clientId, date_invited, key: keys[index] ?? '' },
      inviter_id: idOf.get(inviterOf(clientId)) ?? 0,
      expires_at: new Date(date_invited.getTime() + INVITATION_MS),
      email_count: isRejected ? 0 : 1,
    };
  }).toSorted((a, b) => a.date_invited.getTime() - b.date_invited.getTime());
  const added = await db
    .insertInto('invitations')
    .values(rows)
    .returning(['id', 'email', 'client_id', 'date_invited'])
    .execute();
  const inviteeOf = new Map(INVITEES.map((invitee) => [invitee.email, invitee]));
  const invitations = added.map((row) => ({ ...row, apps: inviteeOf.get(row.email)?.apps ?? [] }));
  const invitedTo = invitations.flatMap(({ id, apps }) =>
    apps.map((app_id) => ({ invitation_id: id, app_id })),
  );
  await db.insertInto('invitation_apps').values(invitedTo).execute();
  const mails = invitations.map(({ id, email, client_id, date_invited }) => {
    const at = new Date(date_invited.getTime() + DELIVERY_MS);
    const outcome = inviteeOf.get(email)?.isRejected
      ? { failed_at: at, last_error: `550 5.1.1 <${email}>: Recipient address rejected` }
      : { sent_at: at };
    return {
      ...{ kind: 'invitation' as const, recipient: email, client_id, invitation_id: id },
      ...{ created_at: date_invited, attempts: 1, last_attempt_at: at, next_attempt_at: at, ...outcome },
    };
  });
  await db.insertInto('outbox_mails').values(mails).execute();
  await keepVariables(tx, await mailContexts(tx, { now, invitationMs: INVITATION_MS }).execute());
  return invitations;
};
