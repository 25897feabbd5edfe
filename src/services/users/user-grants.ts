import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import {
  auditEntryVisibleTo,
  clientVisibleTo,
  userClientVisibleTo,
  userVisibleTo,
} from '../access/visibility.ts';
import type { Unit } from '../unit.ts';

/** When and by whom an app was granted; null if the audit trail does not go back so far, as after an import. */
export type UserGrant = { app: string; granted_at: Date | null; granted_by: string | null };

export const createUserGrants = ({ em }: Pick<Unit, 'em'>) => ({
  /**
   * The apps of a user, by age, with their latest grant: an entry of the audit trail, or an accepted invitation, which its
   * inviter has granted.
   * @throws Problem `not-found`
   */
  list: async (actor: Actor, email: string): Promise<UserGrant[]> => {
    const { id } = await tables(em)
      .selectFrom('users')
      .select('id')
      .where('email', '=', email)
      .where(userVisibleTo(actor))
      .executeTakeFirstOrThrow(() => notFound('user'));
    const { rows } = await grantsOf(actor, { id, email }).execute(tables(em));
    return rows;
  },
});

const grantsOf = (actor: Actor, { id, email }: { id: number; email: string }) => sql<UserGrant>`
  select a.id as app, latest.granted_at, latest.granted_by
  from app_grants g join apps a on a.id = g.app_id left join (
    select distinct on (app_id) app_id, granted_at, granted_by from (
      select app_id, occurred_at, actor_email
      from audit_entries, json_array_elements_text(details -> 'granted') as granted (app_id)
      where target = ${email} and action = 'user.change-apps' and ${auditEntryVisibleTo(actor)}
      union all
      select ia.app_id, i.closed_at, inviter.email
      from invitations i join invitation_apps ia on ia.invitation_id = i.id
        join users inviter on inviter.id = i.inviter_id
      where i.email = ${email} and i.status = 'accepted' and ${clientVisibleTo(actor, sql`i.client_id`)}
    ) as grants (app_id, granted_at, granted_by)
    order by app_id, granted_at desc
  ) as latest on latest.app_id = a.id
  where g.user_id = ${id} and ${userClientVisibleTo(actor, sql`g.user_id`, sql`a.client_id`)}
  order by a.created_at, a.id`;
