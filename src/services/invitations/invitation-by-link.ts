import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import type { SignedLinks } from '../auth/signed-links.ts';
import { statusAt } from './invitation-rows.ts';

type InvitationLink = { key: string; signature: string; now: Date };

/**
 * The invitation of a mailed link, with the contents of its page.
 * @throws Problem `not-found` for an unknown key or a wrong signature
 */
export const findInvitationByLink = async (
  em: SqlEntityManager,
  links: SignedLinks,
  { key, signature, now }: InvitationLink,
): Promise<InvitationByLink> => {
  const row = links.isInvitationSigned(key, signature)
    ? await rowsByKey(em, now).where('invitations.key', '=', key).executeTakeFirst()
    : undefined;
  if (!row) throw notFound('invitation');
  return row;
};

const rowsByKey = (em: SqlEntityManager, now: Date) =>
  tables(em)
    .selectFrom('invitations')
    .innerJoin('clients', 'clients.id', 'invitations.client_id')
    .innerJoin('users as inviter', 'inviter.id', 'invitations.inviter_id')
    .leftJoin('users as invitee', 'invitee.email', 'invitations.email')
    .select(['invitations.id', 'invitations.client_id', 'invitations.email', 'invitations.extra'])
    .select(['invitations.is_demo_user', 'invitations.expires_at', 'invitations.closed_at'])
    .select(['clients.name as client_name', 'invitation_body', 'support_email', 'home_location'])
    .select(['inviter.first_name as inviter_first_name', 'inviter.last_name as inviter_last_name'])
    /** null if no user has this address yet. */
    .select('invitee.is_active as user_is_active')
    .select([
      statusAt(now).as('status'),
      sql<string[]>`array(select a.label from invitation_apps ia join apps a on a.id = ia.app_id
        where ia.invitation_id = invitations.id order by a.created_at, a.id)`.as('app_labels'),
    ]);

export type InvitationByLink = Awaited<ReturnType<ReturnType<typeof rowsByKey>['execute']>>[number];
