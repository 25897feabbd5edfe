import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { invalid } from '../core/problems.ts';
import { type Actor, changesClient } from '../services/actor.ts';
import { tables } from '../services/tables.ts';
import type { AppNames } from './invite-elements.ts';

/** Who invites, and where to. */
export type Parties = { inviter: Actor; client: { id: number; name: string }; apps: AppNames };

/**
 * Finds the inviter, by default the first active superuser, and the client with its apps.
 * @throws Problem `invalid-input` on `--as`, `--client`
 */
export const findParties = async (
  em: SqlEntityManager,
  clientId: number,
  email: string | undefined,
): Promise<Parties> => {
  const inviter = await findInviter(em, email);
  const client = await tables(em)
    .selectFrom('clients')
    .select(['id', 'name'])
    .where('id', '=', clientId)
    .executeTakeFirst();
  if (!client || !changesClient(inviter, clientId)) {
    throw invalid({ '--client': [`There is no client ${clientId} that ${inviter.email} may invite to.`] });
  }
  return { inviter, client, apps: await appNames(em, clientId) };
};

const findInviter = async (em: SqlEntityManager, email: string | undefined): Promise<Actor> => {
  const active = tables(em)
    .selectFrom('users')
    .select(['id', 'email', 'is_superuser', 'is_staff'])
    .where('is_active', '=', true)
    .orderBy('id')
    .limit(1);
  const user = await (email === undefined
    ? active.where('is_superuser', '=', true)
    : active.where('email', '=', email.toLowerCase())
  ).executeTakeFirst();
  if (!user) throw invalid({ '--as': [nobody(email)] });

  const offices = await tables(em)
    .selectFrom('memberships')
    .select('client_id')
    .where('user_id', '=', user.id)
    .where('is_admin', '=', true)
    .orderBy('client_id')
    .execute();
  return {
    id: user.id,
    email: user.email,
    isSuperuser: user.is_superuser,
    isStaff: user.is_staff,
    adminOf: offices.map((office) => office.client_id),
    via: null,
  };
};

const nobody = (email: string | undefined): string =>
  email === undefined
    ? 'There is no active superuser: name who invites.'
    : `There is no active user ${email}.`;

/** An id is what it is, should it be the slug of another app as well. */
const appNames = async (em: SqlEntityManager, clientId: number): Promise<AppNames> => {
  const apps = await tables(em)
    .selectFrom('apps')
    .select(['id', 'slug'])
    .where('client_id', '=', clientId)
    .execute();
  return new Map([
    ...apps.map(({ id, slug }) => [slug, id] as const),
    ...apps.map(({ id }) => [id, id] as const),
  ]);
};
