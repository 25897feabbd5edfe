import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../access/actor.ts';
import { type BareInvitation, bareRows, type InvitationRow, withInviters } from './invitation-rows.ts';
import type { WrittenInvitation } from './invitation-writes.ts';

/** Rows of written invitations. New ones are known from the request; only renewed ones are read again. */
export const rowsOfWritten = async (
  tx: SqlEntityManager,
  actor: Actor,
  written: readonly WrittenInvitation[],
  now: Date,
): Promise<InvitationRow[]> => {
  const renewed = written.flatMap(({ id, key }) => (key === null ? id : []));
  const read = new Map((await bareRows(tx, renewed)).map((row) => [row.id, row]));
  const rows = written.flatMap(
    ({ id, key, client, email, extra = {}, is_demo_user = false, apps }): BareInvitation | never[] =>
      key === null
        ? (read.get(id) ?? [])
        : {
            id,
            client_id: client,
            email,
            key,
            inviter_id: actor.id,
            extra,
            date_invited: now,
            email_count: 0,
            is_demo_user,
            initial_apps: apps,
          },
  );
  return withInviters(tx, actor, rows);
};
