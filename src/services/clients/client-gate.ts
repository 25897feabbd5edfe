import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { notFound, roleRequired } from '../../lib/problems.ts';
import { type Actor, requireClientAdmin } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import { type AuditEvent, diffColumns, isEmpty } from '../audit/audit.ts';
import type { Unit } from '../unit.ts';

type GateChanges = { is_open?: boolean | undefined; embed_origins?: string[] | undefined };

/** Whether the apps of a client open, and which sites may show them in frames. */
export const createClientGate = ({ em, audit }: Unit) => ({
  /** @throws Problem `not-found` */
  get: async (actor: Actor, id: number) => {
    const { is_open, embed_origins } = await gateRow(em, actor, id).executeTakeFirstOrThrow(() =>
      notFound('client'),
    );
    return { is_open, embed_origins };
  },

  /**
   * Only superusers close and reopen a client.
   * @throws Problem `not-found`, `forbidden`
   */
  update: (actor: Actor, id: number, changes: GateChanges) =>
    em.transactional(async (tx) => {
      const { name, ...before } = await gateRow(tx, actor, id)
        .forNoKeyUpdate()
        .executeTakeFirstOrThrow(() => notFound('client'));
      requireClientAdmin(actor, id);
      const after = {
        is_open: changes.is_open ?? before.is_open,
        embed_origins: changes.embed_origins ?? before.embed_origins,
      };
      const isSwitched = after.is_open !== before.is_open;
      if (isSwitched && !actor.isSuperuser) throw roleRequired('superuser');
      await tables(tx).updateTable('clients').set(after).where('id', '=', id).execute();
      const about = { actor, target: name, clients: [id] };
      const events: AuditEvent[] = [];
      if (isSwitched) events.push({ action: after.is_open ? 'client.reopen' : 'client.close', ...about });
      const details = diffColumns(before, after, ['embed_origins']);
      if (!isEmpty(details)) events.push({ action: 'client.update', ...about, details });
      await audit.record(tx, events);
      return after;
    }),
});

const gateRow = (em: Db, actor: Actor, id: number) =>
  tables(em)
    .selectFrom('clients')
    .select(['name', 'is_open', 'embed_origins'])
    .where('id', '=', id)
    .where(clientVisibleTo(actor, sql`clients.id`));
