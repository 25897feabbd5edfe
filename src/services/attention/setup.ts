import { sql } from 'kysely';
import { condition, kysely } from '../../db/kysely.ts';
import { type Actor, requireIn } from '../access/actor.ts';
import { CLIENT_ADMIN } from '../access/permissions.ts';
import { appAccess, isAllowedIn } from '../access/visibility.ts';
import { readClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

type Steps = { app: boolean; invitation: boolean; visit: boolean; admin: boolean; sign_in: boolean };

/** What a new installation or a new client still needs. Each step is read from what exists, so that no one ticks it by hand. */
export const createSetup = ({ em, clock }: UnitOfWork) => ({
  /**
   * Of a client, or of all clients whose people the actor manages.
   * @throws Problem `not-found`, `forbidden`
   */
  read: async (actor: Actor, client: number | undefined) => {
    if (client !== undefined) {
      await readClient(em, actor, client);
      requireIn(actor, 'manage-people', client);
    }
    const within = (column: string) => {
      const id = sql.ref<number>(column);
      return condition`${isAllowedIn(id, actor, 'manage-people')}
        and (${client ?? null}::int is null or ${id} = ${client ?? null}::int)`;
    };
    const { rows } = await sql<Steps>`
      with shown as materialized (select id, first_opened_at from apps where ${within('client_id')})
      select
        exists (select from shown) as app,
        exists (select from shown join ${appAccess(clock.now())} g on g.app_id = shown.id)
          or exists (select from shown join invitation_apps ia on ia.app_id = shown.id)
          or exists (select from shown join group_apps ga on ga.app_id = shown.id
            join invitation_groups ig on ig.group_id = ga.group_id) as invitation,
        exists (select from shown where first_opened_at is not null)
          or exists (select from usage_app_days d where d.app_id in (select id from shown)) as visit,
        exists (select from memberships m join users u on u.id = m.user_id
          where m.is_admin and m.is_active_member and u.is_active and ${within('m.client_id')})
          or exists (select from invitations i where ${CLIENT_ADMIN} = any(i.roles)
            and i.status = 'pending' and i.expires_at > ${clock.now()} and ${within('i.client_id')}) as admin,
        exists (select from sso_connections s where s.is_active and ${within('s.client_id')})
          or exists (select from clients c where c.factor_policy <> 'off' and ${within('c.id')}) as sign_in`.execute(
      kysely(em),
    );
    const [steps] = rows;
    if (!steps) throw new Error('A query without a table has one row.');
    return steps;
  },
});
