import { type RawBuilder, sql } from 'kysely';
import { type Actor, canViewAll } from './actor.ts';

/** SQL that holds for the rows whose client the actor may see. */
export const clientVisibleTo = (actor: Actor, clientId: RawBuilder<number>): RawBuilder<boolean> =>
  canViewAll(actor) ? sql`true` : sql`${clientId} = any(${actor.adminOf}::int[])`;

/** SQL that holds for the rows whose client the actor may change. */
export const clientManagedBy = (actor: Actor, clientId: RawBuilder<number>): RawBuilder<boolean> =>
  actor.isSuperuser ? sql`true` : sql`${clientId} = any(${actor.adminOf}::int[])`;
