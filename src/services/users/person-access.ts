import { sql } from 'kysely';
import { kysely } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import {
  clientVisibleTo,
  GROUP_ACCESS,
  LIVE_GRANTS,
  userClientVisibleTo,
  userVisibleTo,
} from '../access/visibility.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { readGrants, type UserGrant } from './access-matrix.ts';

type AppRow = {
  id: string;
  label: string;
  client: number;
  /** The strongest role that gives the app: `superuser`, `staff` or `client-admin`. */
  role: string | null;
  /** Ids of the groups that give it. */
  groups: number[];
};

/** An app of a client of the person, and how the person has it. */
export type PersonApp = AppRow & { grant: UserGrant | null };

/** A group of a client of the person. */
export type PersonGroup = { id: number; client: number; name: string; apps: string[]; is_member: boolean };

/** What the screen of a person shows of their access: one row for each app, also of those that they cannot open. */
export const createPersonAccess = ({ em }: Pick<UnitOfWork, 'em'>) => ({
  /** @throws Problem `not-found` */
  read: async (actor: Actor, email: string): Promise<{ apps: PersonApp[]; groups: PersonGroup[] }> => {
    const { id } = await kysely(em)
      .selectFrom('users')
      .select('id')
      .where('email', '=', email)
      .where(userVisibleTo(actor))
      .executeTakeFirstOrThrow(() => notFound('user'));
    const [apps, grants, groups] = await Promise.all([
      appsOf(actor, id).execute(kysely(em)),
      readGrants(em, actor, { id, email }),
      groupsOf(actor, id).execute(kysely(em)),
    ]);
    const grantOf = new Map(grants.map((grant) => [grant.app, grant]));
    return {
      apps: apps.rows.map((app) => ({ ...app, grant: grantOf.get(app.id) ?? null })),
      groups: groups.rows,
    };
  },
});

const appsOf = (actor: Actor, id: number) => sql<AppRow>`
  select a.id, a.label, a.client_id as client,
    case when u.is_superuser then 'superuser' when u.is_staff then 'staff' when m.is_admin then 'client-admin' end as role,
    array(select g.group_id from ${GROUP_ACCESS} g where g.user_id = u.id and g.app_id = a.id order by g.name) as groups
  from users u cross join apps a left join memberships m on m.user_id = u.id and m.client_id = a.client_id
  where u.id = ${id} and (m.user_id is not null or exists (
      select from ${LIVE_GRANTS} g where g.user_id = u.id and g.app_id = a.id))
    and ${userClientVisibleTo(actor, sql`u.id`, sql`a.client_id`)}
  order by a.created_at, a.id`;

/** Those to which the person could be added, too, for viewers of the client. */
const groupsOf = (actor: Actor, id: number) => sql<PersonGroup>`
  select gr.id, gr.client_id as client, gr.name, gm.user_id is not null as is_member,
    array(select ga.app_id from group_apps ga join apps a on a.id = ga.app_id where ga.group_id = gr.id
      order by a.created_at, a.id) as apps
  from memberships m join groups gr on gr.client_id = m.client_id
    left join group_members gm on gm.group_id = gr.id and gm.user_id = m.user_id
  where m.user_id = ${id} and (${clientVisibleTo(actor, sql`m.client_id`)}
    or (m.user_id = ${actor.id} and gm.user_id is not null))
  order by lower(gr.name), gr.id`;
