import { type RawBuilder, sql } from 'kysely';
import { ExternalIdentity } from '../../../entities/sso.ts';
import { User } from '../../../entities/user.ts';
import { problemOfDatabaseError } from '../../db/database-errors.ts';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { type Audit, ofUser } from '../audit/audit.ts';
import type { CodeOwner } from '../auth/factor-verification.ts';
import { MINUTES } from '../auth/login-challenges.ts';
import { createLoginOpening } from '../auth/login-opening.ts';
import { type AuthMethod, addMethods, byProvider } from '../auth/methods.ts';
import { acceptWithProvider, lockInvitation } from '../invitations/invitee.ts';
import { enqueueNotice } from '../mail/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { changeAccess } from '../users/app-grants.ts';
import { addToGroups, groupEvents, groupsOf } from '../users/group-joining.ts';
import { closeEvents, closeObsoleteRequests, requestsIn } from '../users/request-closing.ts';
import { addUser } from '../users/user-creation.ts';
import type { ConnectionRow } from './connections.ts';
import { SsoFailure } from './failures.ts';
import { type Decision, decideLogin, type KnownUser, type Stated } from './login-decision.ts';
import type { ProviderLogin } from './pending-logins.ts';

type Deps = { tx: Em; audit: Audit; now: Date };

/**
 * Locks what a login may change and decides again what it does: connection, invitation, groups, person, in the order of other changes.
 * Concurrent logins of a new person wait for each other.
 * @throws SsoFailure if the connection is that of another provider, or not active, by now
 */
export const lockAndDecide = async (
  { tx, now }: Pick<Deps, 'tx' | 'now'>,
  connection: ConnectionRow,
  stated: Stated,
): Promise<Decision> => {
  const db = kysely(tx);
  const { email, subject } = stated;
  // A change of the connection ends its sessions: it must see the one that is about to begin.
  await db
    .selectFrom('sso_connections')
    .select('id')
    .where('id', '=', connection.id)
    .where('is_active', '=', true)
    .where('issuer', '=', connection.issuer)
    .where('registered_as', '=', connection.client_id)
    .forShare()
    .executeTakeFirstOrThrow(() => new SsoFailure('inactive'));
  if (email !== null) await lockInvitation(tx, { clientId: connection.client, email });
  await sql`select from groups where id in (select group_id from sso_groups where connection_id = ${connection.id})
    order by id for key share`.execute(db);
  // As accepting an invitation does.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`invitee ${email ?? subject}`}, 0))`.execute(db);
  const before = await decideLogin(tx, connection, stated, now);
  if (!('user' in before)) return before;
  await db.selectFrom('users').select('id').where('id', '=', before.user.id).forUpdate().execute();
  // A separate statement: one that waits for a lock sees the other tables as they were before it waited.
  return decideLogin(tx, connection, stated, now);
};

/**
 * Carries out the decision about a person who may log in, and returns their user.
 * @param isConfirmed whether the person of a link has shown that the account is theirs
 * @throws SsoFailure if the decision is another
 */
export const admitPerson = async (
  deps: Deps,
  connection: ConnectionRow,
  stated: Stated,
  decision: Decision,
  isConfirmed = false,
): Promise<CodeOwner> => {
  const user = await personOf(deps, connection, stated, decision, isConfirmed);
  if (decision.kind === 'log-in') await recordLogin(deps, connection, stated, decision.identityId, user);
  else await addIdentity(deps, connection, stated, user);
  // Others have got their account by this login.
  if (decision.kind === 'link' || decision.kind === 'adopt')
    await enqueueNotice(deps.tx, 'identity-linked', { userId: user.id, now: deps.now, address: null });
  const person = await deps.tx.findOneOrFail(User, user.id);
  person.lastLogin = deps.now;
  await deps.tx.flush();
  await syncGroups(deps, connection, user, stated);
  return user;
};

const personOf = async (
  deps: Deps,
  connection: ConnectionRow,
  stated: Stated,
  decision: Decision,
  isConfirmed: boolean,
): Promise<CodeOwner> => {
  const { client } = connection;
  const isNew = { clientIds: [client], lastPasswordSet: deps.now };
  const { firstName, lastName } = stated;
  const accept = (email: string, userId: number | null) =>
    acceptWithProvider(deps, { clientId: client, email, userId, firstName, lastName, now: deps.now });
  switch (decision.kind) {
    case 'log-in':
    case 'adopt':
      return decision.user;
    case 'link':
      if (!isConfirmed) throw new Error('A person who must be asked was not asked.');
      if (decision.hasInvitation) await accept(decision.user.email, decision.user.id);
      return decision.user;
    case 'accept-invitation':
      return { ...(await accept(decision.email, null)), ...isNew };
    case 'create':
      return { ...(await createPerson(deps, connection, stated, decision.email)), ...isNew };
    case 'refuse':
      throw new SsoFailure(decision.reason, { email: stated.email ?? '' });
  }
};

const createPerson = async (
  { tx, audit, now }: Deps,
  { id, client, name, default_groups: groups }: ConnectionRow,
  { firstName, lastName }: Stated,
  email: string,
) => {
  const user = await addUser(tx, { email, firstName, lastName, client }, now);
  await tx.flush().catch((cause: unknown) => {
    // The address is that of another account for now: its change can still be undone.
    if (problemOfDatabaseError(cause)?.code !== 'user-exists') throw cause;
    throw new SsoFailure('unknown-person', { email, cause });
  });
  const joining = { userId: user.id, granted: [], revoked: [], joined: [client] };
  await changeAccess(tx, { by: user.id, now }, [joining]);
  await addToGroups(tx, { userId: user.id, by: null, now }, groups);
  const details = { connection: id, name };
  await audit.record(tx, [
    { action: 'user.create', actor: null, target: ofUser(user), clients: [client], details },
  ]);
  return { id: user.id, email };
};

type Person = Pick<KnownUser, 'id' | 'email'>;

const addIdentity = async (
  { tx, audit, now }: Deps,
  { id, client, issuer, name }: ConnectionRow,
  { subject, email }: Stated,
  user: Person,
): Promise<void> => {
  const identity = { issuer, subject, email: email ?? user.email, createdAt: now, lastLogin: now };
  tx.create(ExternalIdentity, { ...identity, connection: id, user: user.id });
  await tx.flush();
  // The first time counts.
  await kysely(tx)
    .insertInto('provider_links')
    .values({ user_id: user.id, client_id: client, since: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const details = { connection: id, name };
  await audit.record(tx, [
    { action: 'identity.link', actor: user, target: ofUser(user), clients: [client], details },
  ]);
};

/** Another address is recorded when the provider states it for the first time; the account keeps its own. */
const recordLogin = async (
  { tx, audit, now }: Deps,
  { id: connectionId, client }: ConnectionRow,
  { email }: Stated,
  identityId: number,
  user: Person,
): Promise<void> => {
  const identity = await tx.findOneOrFail(ExternalIdentity, identityId);
  const known = identity.email;
  tx.assign(identity, { lastLogin: now, connection: connectionId, email: email ?? known });
  await tx.flush();
  if (email === null || email === known || email === user.email) return;
  const about = { actor: user, target: ofUser(user), clients: [client] };
  await audit.record(tx, [{ action: 'identity.note-address', ...about }]);
};

/** Adds the person to the groups that the mapping names for them, and takes them out of its others. */
const syncGroups = async (
  { tx, audit, now }: Deps,
  { client, group_mapping: mapping }: ConnectionRow,
  user: Person,
  { groups: stated }: Stated,
): Promise<void> => {
  if (stated === null || mapping.length === 0) return;
  const mapped = new Set(mapping.map(({ group }) => group));
  const matches = mapping.filter(({ claim }) => stated.includes(claim));
  const wanted = new Set(matches.map(({ group }) => group));
  const unwanted = [...mapped].filter((id) => !wanted.has(id));
  const added = await addToGroups(tx, { userId: user.id, by: null, now }, [...wanted]);
  const left = await kysely(tx)
    .deleteFrom('group_members')
    .where('user_id', '=', user.id)
    .where(isAnyOf('group_id', unwanted, 'int'))
    .returning('group_id')
    .execute();
  const removed = left.map(({ group_id }) => group_id);
  const isOfClient = (id: RawBuilder<number>) => condition`${id} = ${client}`;
  const closed = await closeObsoleteRequests(tx, requestsIn(user.id, isOfClient), user.id, now);
  const groups = await kysely(tx)
    .selectFrom('groups')
    .select(['id', 'name', 'client_id as client'])
    .where(isAnyOf('id', [...added, ...removed], 'int'))
    .orderBy('id')
    .execute();
  await audit.record(tx, [
    ...groupEvents(null, groupsOf(groups, added), { added: [user.id], removed: [] }),
    ...groupEvents(null, groupsOf(groups, removed), { added: [], removed: [user.id] }),
    ...closeEvents(user, closed),
  ]);
};

/** How a person has logged in. `hasConfirmed`: here or there, just now. */
export type Entry = {
  connection: ConnectionRow;
  proof: ProviderLogin;
  hasConfirmed: boolean;
  userAgent: string;
};

/** Opens a session of a locked person. `entered`: what they have entered here. */
export const openSession = async (
  unit: UnitOfWork,
  tx: Em,
  user: CodeOwner,
  { connection: { id: connectionId, name }, proof, hasConfirmed, userAgent }: Entry,
  entered: readonly AuthMethod[] = [],
) => {
  const now = unit.clock.now();
  const methods = byProvider(proof.amr);
  // Without `auth_time`, the person may have logged in there long ago.
  const authenticatedAt = hasConfirmed ? now : (proof.authTime ?? new Date(0));
  const login = await createLoginOpening(unit).open(tx, user, {
    methods: addMethods(methods, entered),
    userAgent,
    provider: { connectionId, sid: proof.sid },
    authenticatedAt: authenticatedAt < now ? authenticatedAt : now,
    details: { connection: connectionId, name },
  });
  return 'session' in login
    ? ({ kind: 'session', session: login.session } as const)
    : ({ kind: 'challenge', ...login, minutes: MINUTES[login.step] } as const);
};
