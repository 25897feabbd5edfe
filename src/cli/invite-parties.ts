import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { tables } from '../db/kysely.ts';
import { normalizeEmail } from '../lib/email-address.ts';
import { invalid } from '../lib/problems.ts';
import { type Actor, administersClient } from '../services/access/actor.ts';
import { findActorByEmail } from '../services/auth/identity.ts';
import type { AppNames } from './invite-elements.ts';

/** The inviter and the client. */
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
  if (!client || !administersClient(inviter, clientId)) {
    throw invalid({ '--client': [`There is no client ${clientId} that ${inviter.email} may invite to.`] });
  }
  return { inviter, client, apps: await appNames(em, clientId) };
};

const findInviter = async (em: SqlEntityManager, email: string | undefined): Promise<Actor> => {
  const inviter = await findActorByEmail(em, email && normalizeEmail(email));
  if (!inviter) throw invalid({ '--as': [noInviter(email)] });
  return inviter;
};

const noInviter = (email: string | undefined): string =>
  email === undefined
    ? 'There is no active superuser: name who invites.'
    : `There is no active user ${email}.`;

/** If an id equals the slug of another app, the id wins. */
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
