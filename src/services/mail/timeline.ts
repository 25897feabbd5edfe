import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { cursorRow, type PageRequest, readPage } from '../../db/pagination.ts';
import type { Actor } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import { detailedInvitations, type InvitationDetails } from '../invitations/invitation-lifecycle.ts';
import { withInviters } from '../invitations/invitation-rows.ts';
import type { Unit } from '../unit.ts';
import { type MailRow, mailRows } from './mail-context.ts';
import { mailVisibleTo } from './mails.ts';

/** `key` identifies the entry in the list: `mail-12`. */
type EntryKey = { key: string; type: 'mail' | 'invitation'; id: number; at: Date };

export type TimelineEntry = { key: string; at: Date } & (
  | { mail: MailRow; invitation: null }
  | { mail: null; invitation: InvitationDetails }
);

/** The mails and invitations of an address. Neither needs an account. */
export const createTimeline = ({ em, clock, invitationDays }: Unit) => ({
  /**
   * Newest first, with at most four statements for a page.
   * @throws Problem `invalid-input` on `cursor`
   */
  list: async (
    actor: Actor,
    email: string,
    part: PageRequest & { cursor?: string | undefined },
  ): Promise<TimelineEntry[]> => {
    const now = clock.now();
    let rows = entryKeys(em, actor, email);
    if (part.cursor !== undefined) {
      const { at, type, id } = await cursorRow(rows.where('key', '=', part.cursor));
      rows = rows.where(sql<boolean>`(at, type, id) < (${at}, ${type}, ${id})`);
    }
    const keys = await readPage(rows, 'key', part);
    const idsOf = (type: EntryKey['type']) => keys.flatMap((key) => (key.type === type ? key.id : []));
    const [mails, invitations] = await Promise.all([
      mailRows(em, { now, invitationDays })
        .where(sql<boolean>`mail.id = any(${idsOf('mail')}::bigint[])`)
        .execute(),
      detailedInvitations(em, actor, now)
        .where(sql<boolean>`invitations.id = any(${idsOf('invitation')}::int[])`)
        .execute(),
    ]);
    const mailsById = new Map(mails.map((mail) => [mail.id, mail]));
    const detailed = await withInviters(em, actor, invitations);
    const invitationsById = new Map(detailed.map((invitation) => [invitation.id, invitation]));
    return keys.flatMap(({ key, type, id, at }): TimelineEntry[] => {
      const mail = type === 'mail' ? mailsById.get(id) : undefined;
      if (mail) return [{ key, at, mail, invitation: null }];
      const invitation = type === 'invitation' ? invitationsById.get(id) : undefined;
      // Deleted since the keys were read.
      return invitation ? [{ key, at, mail: null, invitation }] : [];
    });
  },
});

const entryKeys = (em: Db, actor: Actor, email: string) =>
  tables(em)
    .selectFrom(
      sql<EntryKey>`(
        select 'mail-' || mail.id as key, 'mail' as type, mail.id, mail.created_at as at
        from outbox_mails mail where mail.recipient = ${email} and ${mailVisibleTo(actor)}
        union all
        select 'invitation-' || i.id, 'invitation', i.id, i.date_invited
        from invitations i where i.email = ${email} and ${clientVisibleTo(actor, sql`i.client_id`)}
      )`.as('entry'),
    )
    .select(['key', 'type', 'id', 'at'])
    .orderBy('at', 'desc')
    .orderBy('type', 'desc')
    .orderBy('id', 'desc');
