import { type RawBuilder, sql } from 'kysely';
import { type Actor, seesAll } from './actor.ts';

/** SQL that holds for the rows whose client the actor may see. */
export const inSeenClients = (actor: Actor, clientId: RawBuilder<number>): RawBuilder<boolean> =>
  seesAll(actor) ? sql`true` : sql`${clientId} = any(${actor.adminOf}::int[])`;

/** SQL that holds for the rows whose client the actor may change. */
export const inChangedClients = (actor: Actor, clientId: RawBuilder<number>): RawBuilder<boolean> =>
  actor.isSuperuser ? sql`true` : sql`${clientId} = any(${actor.adminOf}::int[])`;
