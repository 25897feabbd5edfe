import { type RawBuilder, sql } from 'kysely';
import { type Condition, condition, type Em, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { type Actor, isSharedUser, requireAccessAdmin, type TargetRoles } from '../access/actor.ts';
import { CLIENT_ROLES, can, globalRolesOf, labelOf } from '../access/permissions.ts';
import { heldRoleNames, isAllowedIn, isListedView } from '../access/visibility.ts';
import { readTarget } from '../accounts/user-locks.ts';
import { isUnexpired, isUsed } from '../auth/sessions.ts';
import { readManagedClient } from '../clients/clients.ts';
import { isAboutAccount } from '../outbox/mail-status.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { readGrantedApps } from './app-grants.ts';

type Counts = Record<
  'sessions' | 'tokens' | 'access_views' | 'invitations' | 'mails' | 'requests',
  number
> & {
  is_active: boolean;
  groups: string[];
  clients: { id: number; name: string; roles: string[] }[];
};

/** Previews what an offboarding would end, with the same numbers as the lists. */
export const createOffboardingPreview = ({ em, clock }: Pick<UnitOfWork, 'em' | 'clock'>) => ({
  /**
   * `clients`: the clients in which the membership is suspended instead, if the account also belongs to others.
   * @param client of an offboarding in this client alone
   * @throws Problem `not-found`, `forbidden`, `self-modification`
   */
  read: async (actor: Actor, email: string, client: number | undefined) => {
    if (client !== undefined) await readManagedClient(em, actor, client, 'manage-people');
    const target = await readTarget(em, actor, email);
    requireAccessAdmin(actor, target);
    if (target.id === actor.id) throw new Problem('self-modification');
    const isAccount = client === undefined && !isSharedUser(actor, target);
    const isConcerned = (clientId: RawBuilder<number>) =>
      client === undefined
        ? isAllowedIn(clientId, actor, 'manage-people')
        : condition`${clientId} = ${client}`;
    const now = clock.now();
    const apps = await readGrantedApps(em, target.id, now, isConcerned);
    const scope = { isAccount, isConcerned, now };
    const { clients, ...counts } = await countEnded(em, target, scope);
    const suspended = clients.map(({ id, name }) => ({ id, name }));
    return {
      ...counts,
      deactivates_account: isAccount,
      clients: isAccount ? [] : suspended,
      apps,
      roles: [
        ...(client === undefined && can(actor, 'administer') ? globalRolesOf(target).map(labelOf) : []),
        ...clientRolesOf(clients),
      ],
    };
  },
});

const clientRolesOf = (clients: Counts['clients']) =>
  CLIENT_ROLES.flatMap((role) =>
    clients.filter(({ roles }) => roles.includes(role.name)).map(({ name }) => `${labelOf(role)} of ${name}`),
  );

type Scope = { isAccount: boolean; isConcerned: (clientId: RawBuilder<number>) => Condition; now: Date };

/** What would end in the given clients. Credentials, and mails about the account, end only with the account. */
export const countEnded = async (em: Em, { id, email }: Pick<TargetRoles, 'id' | 'email'>, scope: Scope) => {
  const { isAccount, isConcerned, now } = scope;
  const isEnded = (column: string) => isConcerned(sql.ref(column));
  const {
    rows: [counts],
  } = await sql<Counts>`
    select case when ${isAccount} then u.is_active
        else exists (select from memberships m
          where m.user_id = u.id and m.is_active_member and ${isEnded('m.client_id')}) end as is_active,
      (select count(*)::int from sessions
        where user_id = u.id and ${isUnexpired(now)} and ${isUsed(now)} and ${isAccount}) as sessions,
      (select count(*)::int from api_tokens t where t.user_id = u.id and ${isAccount}) as tokens,
      array(select gr.name from group_members gm join groups gr on gr.id = gm.group_id
        where gm.user_id = u.id and ${isEnded('gr.client_id')} order by lower(gr.name), gr.id) as groups,
      (select count(*)::int from access_views join apps a on a.id = access_views.app_id
        where access_views.user_id = u.id and access_views.is_active and ${isListedView(now)} and ${isEnded('a.client_id')}) as access_views,
      (select count(*)::int from invitations i
        where i.email = u.email and i.status = 'pending' and ${isEnded('i.client_id')}) as invitations,
      (select count(*)::int from outbox_mails o
        where o.sent_at is null and o.failed_at is null and (o.user_id = u.id or o.recipient = u.email)
          and case when ${isAboutAccount('o')}
            then o.user_id = u.id and ${isAccount}
            else ${isEnded('o.client_id')} end) as mails,
      (select count(*)::int from access_requests r join apps a on a.id = r.app_id
        where r.user_id = u.id and r.status = 'pending' and ${isEnded('a.client_id')}) as requests,
      coalesce((select json_agg(json_build_object('id', c.id, 'name', c.name, 'roles', ${heldRoleNames('m')}) order by c.id)
        from memberships m join clients c on c.id = m.client_id
        where m.user_id = u.id and ${isEnded('m.client_id')}), '[]') as clients
    from users u where u.id = ${id} and u.email = ${email}`.execute(kysely(em));
  if (!counts) throw new Problem('not-found');
  return counts;
};
