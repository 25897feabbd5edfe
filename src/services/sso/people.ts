import { type RawBuilder, sql } from 'kysely';
import { ExternalIdentity } from '../../../entities/sso.ts';
import { User } from '../../../entities/user.ts';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { byProvider } from '../access/auth-methods.ts';
import { addUser } from '../accounts/new-accounts.ts';
import { type Audit, ofUser } from '../audit/audit.ts';
import type { CodeOwner } from '../auth/factor-verification.ts';
import { MINUTES } from '../auth/login-challenges.ts';
import { createLoginOpening } from '../auth/login-opening.ts';
import { proveAddress } from '../auth/ways-in.ts';
import { clientsOf } from '../clients/domains.ts';
import { acceptWithProvider, lockInvitation } from '../invitations/invitee.ts';
import { enqueueNotice } from '../outbox/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { changeAccess } from '../users/app-grants.ts';
import { addToGroups, groupEvents, groupsOf } from '../users/group-joining.ts';
import { closeEvents, closeObsoleteRequests, requestsIn } from '../users/request-closing.ts';
import type { ConnectionRow } from './connections.ts';
import { SsoFailure } from './failures.ts';
import { type Decision, decideLogin } from './login-decision.ts';
import type { Stated } from './stated.ts';

type Deps = { tx: Em; audit: Audit; now: Date };

/**
 * Locks everything that a login may change, and decides again: connection, invitation, groups, person, in the order of other changes.
 * Concurrent logins of a new person wait for each other.
 * @throws SsoFailure if by now the connection is inactive, or belongs to another provider
 */
export const lockAndDecide = async (
  { tx, now }: Pick<Deps, 'tx' | 'now'>,
  connection: ConnectionRow,
  stated: Stated,
): Promise<Decision> => {
  const db = kysely(tx);
  const { email, subject } = stated;
  // A change of the connection ends its sessions, so it must see the session that is about to begin.
  await db
    .selectFrom('sso_connections')
    .select('id')
    .where('id', '=', connection.id)
    .where('is_active', '=', true)
    .where('issuer', '=', connection.issuer)
    .where('registered_as', '=', connection.client_id)
    .forShare()
    .executeTakeFirstOrThrow(() => new SsoFailure('inactive'));
  if (email !== null && connection.client !== null)
    await lockInvitation(tx, { clientId: connection.client, email });
  await sql`select from groups where id in (select group_id from sso_groups where connection_id = ${connection.id})
    order by id for key share`.execute(db);
  // The same lock as when an invitation is accepted.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`invitee ${email ?? subject}`}, 0))`.execute(db);
  const before = await decideLogin(tx, connection, stated, now);
  if (!('user' in before)) return before;
  await db.selectFrom('users').select('id').where('id', '=', before.user.id).forUpdate().execute();
  // A separate statement: a statement that waits for a lock sees the other tables as they were before it waited.
  return decideLogin(tx, connection, stated, now);
};

/** Carries out the decision about a person who may log in, and returns their user. @throws SsoFailure if the decision is to refuse them */
export const admitPerson = async (
  deps: Deps,
  connection: ConnectionRow,
  stated: Stated,
  decision: Decision,
): Promise<CodeOwner> => {
  const user = await personOf(deps, connection, stated, decision);
  if (decision.kind === 'log-in') await recordLogin(deps, connection, stated, decision.identityId, user);
  else await addIdentity(deps, connection, stated, user);
  const person = await deps.tx.findOneOrFail(User, user.id, { refresh: true });
  person.lastLogin = deps.now;
  await deps.tx.flush();
  await syncGroups(deps, connection, user, stated);
  await syncAttributes(deps, connection, user, stated);
  return user;
};

const personOf = async (
  deps: Deps,
  connection: ConnectionRow,
  stated: Stated,
  decision: Decision,
): Promise<CodeOwner> => {
  const { client } = connection;
  const { firstName, lastName } = stated;
  const isNew = { clientIds: clientsOf(client) };
  const accept = (email: string, userId: number | null) => {
    if (client === null) throw new Error('Only clients invite.');
    return acceptWithProvider(deps, { clientId: client, email, userId, firstName, lastName, now: deps.now });
  };
  switch (decision.kind) {
    case 'log-in':
      return decision.user;
    case 'link': {
      const { user, joins } = decision;
      await proveAddress(deps, user);
      if (joins === 'invitation') await accept(user.email, user.id);
      if (joins === 'provision') await join(deps, connection, user.id);
      await enqueueNotice(deps.tx, 'identity-linked', { userId: user.id, now: deps.now, address: null });
      return { ...user, clientIds: [...new Set([...user.clientIds, ...clientsOf(client)])] };
    }
    case 'accept-invitation':
      return { ...(await accept(decision.email, null)), ...isNew };
    case 'create':
      return { ...(await createPerson(deps, connection, stated, decision.email)), ...isNew };
    case 'refuse':
      throw new SsoFailure(decision.reason, { email: stated.email ?? '' });
  }
};

const createPerson = async (
  deps: Deps,
  connection: ConnectionRow,
  { firstName, lastName }: Stated,
  email: string,
) => {
  const { tx, audit, now } = deps;
  const { id, client, name } = connection;
  // For now, the address is reserved for another account, which can still undo its change.
  const user = await addUser(tx, { email, firstName, lastName, isEmailVerified: true }, now).catch(
    (cause: unknown) => {
      if (cause instanceof Problem) throw new SsoFailure('unknown-person', { email, cause });
      throw cause;
    },
  );
  await tx.flush();
  await join(deps, connection, user.id);
  const about = {
    actor: null,
    target: ofUser(user),
    clients: clientsOf(client),
    details: { connection: id, name },
  };
  await audit.record(tx, [{ action: 'user.create', ...about }]);
  return { id: user.id, email };
};

/** Makes a person a member of the client, and adds them to the groups for new people of the connection. */
const join = async ({ tx, now }: Deps, { client, default_groups }: ConnectionRow, userId: number) => {
  await changeAccess(tx, { by: userId, now }, [
    { userId, granted: [], revoked: [], joined: clientsOf(client) },
  ]);
  await addToGroups(tx, { userId, by: null, now }, default_groups);
};

type Person = Pick<CodeOwner, 'id' | 'email'>;

const addIdentity = async (
  { tx, audit, now }: Deps,
  { id, client, name }: ConnectionRow,
  { subject, email }: Stated,
  user: Person,
): Promise<void> => {
  const identity = { subject, email: email ?? user.email, createdAt: now, lastLogin: now };
  tx.create(ExternalIdentity, { ...identity, connection: id, user: user.id });
  await tx.flush();
  const about = { actor: user, target: ofUser(user), clients: clientsOf(client) };
  await audit.record(tx, [{ action: 'identity.link', ...about, details: { connection: id, name } }]);
};

/** Records a new address when the provider states it for the first time; the account keeps its own. */
const recordLogin = async (
  { tx, audit, now }: Deps,
  { client }: ConnectionRow,
  { email }: Stated,
  identityId: number,
  user: Person,
): Promise<void> => {
  const identity = await tx.findOneOrFail(ExternalIdentity, identityId);
  const known = identity.email;
  tx.assign(identity, { lastLogin: now, email: email ?? known });
  await tx.flush();
  if (email === null || email === known || email === user.email) return;
  const about = { actor: user, target: ofUser(user), clients: clientsOf(client) };
  await audit.record(tx, [{ action: 'identity.note-address', ...about }]);
};

/** Replaces the data permissions that the provider has stated. Without a mapping, it removes them. */
const syncAttributes = async (
  { tx }: Deps,
  { client }: ConnectionRow,
  user: Person,
  { attributes }: Stated,
): Promise<void> => {
  if (client === null) return;
  const claims = Object.keys(attributes).length > 0 ? JSON.stringify(attributes) : null;
  await kysely(tx)
    .updateTable('memberships')
    .set({ claims: sql`${claims}::json` })
    .where('client_id', '=', client)
    .where('user_id', '=', user.id)
    .where(condition`claims::text is distinct from ${claims}::text`)
    .execute();
};

/** Adds the person to the groups that the mapping yields for them, and removes them from the other groups of the mapping. */
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

/** How and in which session a person has logged in at a provider. `hasConfirmed`: whether they have just logged in there. */
export type Entry = {
  connection: ConnectionRow;
  proof: { sid: string | null; amr: string[]; authTime: Date | null };
  hasConfirmed: boolean;
  userAgent: string;
};

/** Opens a session of a locked person, confined to the client of the connection. @throws SsoFailure `second-factor` */
export const openSession = async (
  unit: UnitOfWork,
  tx: Em,
  user: CodeOwner,
  { connection: { id: connectionId, name }, proof, hasConfirmed, userAgent }: Entry,
) => {
  const now = unit.clock.now();
  // Without `auth_time`, the person may have logged in there long ago.
  const authenticatedAt = hasConfirmed ? now : (proof.authTime ?? new Date(0));
  const opened = createLoginOpening(unit).open(tx, user, {
    methods: byProvider(proof.amr),
    userAgent,
    provider: { connectionId, sid: proof.sid },
    authenticatedAt: authenticatedAt < now ? authenticatedAt : now,
    details: { connection: connectionId, name },
  });
  const login = await opened.catch((error: unknown) => {
    if (!(error instanceof Problem && error.code === 'second-factor-required')) throw error;
    throw new SsoFailure('second-factor', { email: user.email });
  });
  return 'session' in login
    ? ({ kind: 'session', session: login.session } as const)
    : ({ kind: 'challenge', ...login, minutes: MINUTES[login.step] } as const);
};
