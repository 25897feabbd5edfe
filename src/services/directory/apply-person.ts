import { type InferResult, sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { addUser } from '../accounts/new-accounts.ts';
import { lockUser } from '../accounts/user-locks.ts';
import { ofUser, type Transaction } from '../audit/audit.ts';
import { createInvitations } from '../invitations/invitations.ts';
import { inviteToClient } from '../invitations/invite.ts';
import { enqueueJoinNotices } from '../policies/password-expiry.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { changeAccess } from '../users/app-grants.ts';
import { deleteRequests, requestAddress } from '../users/email-changes.ts';
import { endMembership } from '../users/memberships.ts';
import { type UserChanges, updateUser } from '../users/user-update.ts';
import {
  type ActingDirectory,
  dayBefore,
  IS_ACCOUNT_OF_CLIENT,
  IS_INVITATION_STALE,
  personChange,
} from './directory-rows.ts';
import { requireEndingAllowed } from './holds.ts';
import { syncMembers } from './members.ts';

/**
 * `isApproved`: an admin has seen what is applied, so that no end of a membership is held. `isNew`: this transaction has added the row, which
 * is in no group yet.
 */
type Applying = ActingDirectory & { isApproved?: boolean; isNew?: boolean };

/** A directory speaks for the client: it changes members of all roles, and nothing outside of the client. */
const ANY_MEMBER = (): void => {};

/**
 * Makes the membership of a person as the directory states it, in the transaction of `unit.em`. Again without a change, it does nothing.
 * @throws Problem `held-for-approval`, `user-exists` if the address is reserved, `throttled`
 */
export const applyPerson = async (unit: UnitOfWork, directory: Applying, id: string): Promise<void> => {
  const { em: tx, clock, audit } = unit;
  const now = clock.now();
  const transaction: Transaction = { tx, now, audit };
  const person = await (directory.isNew
    ? personRow(tx, id, now).executeTakeFirst()
    : lockPerson(tx, id, now));
  if (!person) return;
  if (person.is_invitation_stale && person.invitation_id !== null)
    await createInvitations(unit).revoke(directory.actor, person.invitation_id);
  switch (person.change) {
    case 'join':
      await join(transaction, directory, person);
      break;
    case 'invite':
      await inviteStated(unit, directory, person);
      break;
    case 'revoke':
      if (person.invitation_id !== null)
        await createInvitations(unit).revoke(directory.actor, person.invitation_id);
      break;
    case 'adopt':
    case 'update':
    case 'reactivate':
      await link(tx, person);
      await updateMember(transaction, directory, person);
      break;
    case 'suspend':
    case 'remove':
      await endAccess(transaction, directory, person);
      break;
    default:
  }
  if (person.is_removed) {
    await kysely(tx).deleteFrom('directory_people').where('id', '=', id).execute();
    return;
  }
  await followAddress(unit, directory, person);
  if (person.change !== null && !directory.isNew) await syncMembers(transaction, directory, { people: [id] });
  await settle(tx, person, directory.client);
};

const lockPerson = async (tx: Em, id: string, now: Date) => {
  // The account and the membership are read after a wait for the lock, by a statement of their own.
  await kysely(tx).selectFrom('directory_people').select('id').where('id', '=', id).forUpdate().execute();
  return personRow(tx, id, now).executeTakeFirst();
};

const personRow = (tx: Em, id: string, now: Date) =>
  kysely(tx)
    .selectFrom('directory_people as d')
    .leftJoin('users as u', (join) =>
      join.on(
        sql<boolean>`u.id = coalesce(d.user_id, (select known.id from users known where known.email = d.email))`,
      ),
    )
    .leftJoin('memberships as m', (join) =>
      join.onRef('m.client_id', '=', 'd.client_id').onRef('m.user_id', '=', 'u.id'),
    )
    .leftJoin('invitations as i', 'i.id', 'd.invitation_id')
    .select(['d.id', 'd.email', 'd.first_name', 'd.last_name', 'd.extra', 'd.is_active', 'd.is_removed'])
    .leftJoin('directory_holds as h', (join) =>
      join.onRef('h.client_id', '=', 'd.client_id').onRef('h.user_id', '=', 'u.id'),
    )
    .select(['d.user_id', 'd.invitation_id', 'd.due_at', 'd.problem', 'h.held_at'])
    .select([IS_INVITATION_STALE.as('is_invitation_stale'), IS_ACCOUNT_OF_CLIENT.as('is_account_of_client')])
    .select([
      'u.id as account_id',
      'u.email as account_email',
      'm.extra as member_extra',
      'm.is_active_member',
    ])
    .select(
      sql<string | null>`(select c.new_email from email_changes c
        where c.user_id = u.id and c.changed_at is null and c.requested_by = d.stated_by
          and c.requested_at > ${dayBefore(now)}::timestamptz limit 1)`.as('asked_email'),
    )
    .select(['u.first_name as account_first_name', 'u.last_name as account_last_name'])
    .select(personChange(now).as('change'))
    .where('d.id', '=', id);

type Person = InferResult<ReturnType<typeof personRow>>[number];

/** The row of the directory ends with the membership from now on. */
const link = (tx: Em, { id, account_id }: Person) =>
  kysely(tx).updateTable('directory_people').set({ user_id: account_id }).where('id', '=', id).execute();

const join = async (transaction: Transaction, { client, actor }: ActingDirectory, person: Person) => {
  const { tx, now, audit } = transaction;
  const isNew = person.account_id === null;
  const { email, first_name: firstName, last_name: lastName } = person;
  const user = isNew
    ? await addUser(tx, { email, firstName, lastName }, now)
    : { id: person.account_id ?? 0, email };
  await tx.flush();
  if (!isNew)
    await kysely(tx).selectFrom('users').select('id').where('id', '=', user.id).forUpdate().execute();
  await changeAccess(tx, { by: actor.id, now }, [
    { userId: user.id, granted: [], revoked: [], joined: [client] },
  ]);
  const action = isNew ? 'user.create' : 'membership.create';
  await audit.record(tx, [{ action, actor, target: ofUser(user), clients: [client] }]);
  if (!isNew) await enqueueJoinNotices(tx, [user.id], [client], now);
  if (Object.keys(person.extra).length > 0)
    await kysely(tx)
      .updateTable('memberships')
      .set({ extra: sql`${JSON.stringify(person.extra)}::json` })
      .where('client_id', '=', client)
      .where('user_id', '=', user.id)
      .execute();
};

const inviteStated = async (unit: UnitOfWork, { client, actor }: ActingDirectory, person: Person) => {
  const { id, email, first_name, last_name, extra } = person;
  const groups = await kysely(unit.em)
    .selectFrom('directory_members as dm')
    .innerJoin('directory_groups as g', 'g.id', 'dm.group_id')
    .select('g.group_id')
    .where('dm.person_id', '=', id)
    .where('g.group_id', 'is not', null)
    .execute();
  const { id: invitation } = await inviteToClient(unit, actor, client, {
    ...{ email, extra },
    // An invitation that an admin has made keeps the name that it has.
    ...(first_name !== '' && { first_name }),
    ...(last_name !== '' && { last_name }),
    initial_apps: [],
    groups: groups.flatMap(({ group_id }) => group_id ?? []),
  });
  await kysely(unit.em)
    .updateTable('directory_people')
    .set({ invitation_id: invitation })
    .where('id', '=', id)
    .execute();
};

const updateMember = async (transaction: Transaction, { client, actor }: ActingDirectory, person: Person) => {
  const { account_email: email, is_active, extra, member_extra } = person;
  if (email === null) return;
  const merged = { ...member_extra, ...extra };
  const changes: UserChanges = { is_active, extra: merged, members_of: [client] };
  await updateUser(transaction, actor, email, changes, ANY_MEMBER);
  const { first_name, last_name } = person;
  const isNamed = first_name !== '' || last_name !== '';
  const isOther = first_name !== person.account_first_name || last_name !== person.account_last_name;
  if (person.is_account_of_client && isNamed && isOther)
    await updateUser(transaction, actor, email, { first_name, last_name }, ANY_MEMBER);
};

const endAccess = async (
  transaction: Transaction,
  { client, actor, isApproved = false }: Applying,
  person: Person,
): Promise<void> => {
  const { tx, now } = transaction;
  const { account_email: email, account_id: userId } = person;
  if (email === null || userId === null) return;
  if (!isApproved && person.is_active_member) await requireEndingAllowed(tx, { client, userId }, now);
  if (person.change === 'suspend') {
    await link(tx, person);
    await updateUser(transaction, actor, email, { is_active: false, members_of: [client] }, ANY_MEMBER);
    return;
  }
  const { user } = await lockUser(tx, actor, email, ANY_MEMBER);
  // Whether the account stays active is not for a directory to say: it may come back in the next cycle.
  await endMembership(transaction, actor, client, user, { isDeactivated: false });
};

/** Another address of a member is confirmed by a mail to it, as if an admin had asked for it. */
const followAddress = async (unit: UnitOfWork, { actor }: ActingDirectory, person: Person) => {
  const { em: tx, clock, audit, emailChangeLimit } = unit;
  const { email, account_id: userId, account_email: present, asked_email: asked } = person;
  if (person.user_id === null || userId === null || present === null) return;
  const wanted = present === email ? null : email;
  if (wanted === asked || (wanted !== null && !person.is_account_of_client)) return;
  const { user } = await lockUser(tx, actor, present, ANY_MEMBER);
  if (wanted === null) {
    await deleteRequests(tx, userId).execute();
    return;
  }
  await emailChangeLimit.add(userId);
  await requestAddress({ tx, now: clock.now(), audit }, actor, { user, to: wanted, ipAddress: null });
};

/** Nothing of the person waits any more. */
const settle = async (tx: Em, { id, due_at, problem, held_at, account_id }: Person, client: number) => {
  if (held_at !== null)
    await kysely(tx)
      .deleteFrom('directory_holds')
      .where('client_id', '=', client)
      .where('user_id', '=', account_id)
      .execute();
  if (due_at === null && problem === null) return;
  await kysely(tx)
    .updateTable('directory_people')
    .set({ due_at: null, problem: null })
    .where('id', '=', id)
    .execute();
};
