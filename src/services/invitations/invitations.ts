import { sql } from 'kysely';
import type { Db } from '../../db/kysely.ts';
import { afterCursor, type PageRequest, readPage } from '../../db/pagination.ts';
import { hasWords } from '../../db/search.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { invalid, notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requireClientAdmin } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import { requireViewableAppId } from '../apps/app-rows.ts';
import type { AuditEvent } from '../audit/audit.ts';
import { readClient } from '../clients/clients.ts';
import type { Unit } from '../unit.ts';
import {
  type CheckedInvitation,
  checkInvitations,
  type InvitationElement,
  type InvitationInput,
} from './invitation-checks.ts';
import type { InvitationRow, InvitationSearch } from './invitation-rows.ts';
import { hasStatus, invitationRows, readInvitation, readWritten, withInviters } from './invitation-rows.ts';
import { writeInvitations } from './invitation-writes.ts';
import { findPending, type InvitationChanges, updatePending } from './pending-invitation.ts';

type Deps = Pick<Unit, 'em' | 'clock' | 'audit' | 'invitationDays'>;
type Filter = InvitationSearch & { app?: string | undefined };

export const createInvitations = ({ em, clock, audit, invitationDays }: Deps) => {
  const write = async (tx: Db, actor: Actor, items: CheckedInvitation[]) => {
    const now = clock.now();
    const expiresAt = new Date(now.getTime() + invitationDays * DAY_MS);
    const written = await writeInvitations(tx, actor, items, { now, expiresAt });
    const events = written.map(({ id, isNew, email, client, initial_apps: apps }): AuditEvent => {
      const action = isNew ? 'invitation.create' : 'invitation.renew';
      return { action, actor, target: email, clients: [client], details: { id, apps } };
    });
    await audit.record(tx, events);
    return readWritten(tx, actor, written, now);
  };

  const create = async (actor: Actor, items: InvitationElement[], { dryRun = false } = {}) => {
    const checked = await checkInvitations(em, actor, items);
    let rows: InvitationRow[] = [];
    const rollback = new Error('dry run');
    // Nested in an outer transaction, if any: a separate one would need a second connection.
    const done = em.transactional(async (tx) => {
      rows = await write(tx, actor, checked);
      if (dryRun) throw rollback;
    });
    await done.catch((error: unknown) => {
      if (error !== rollback) throw error;
    });
    return rows;
  };

  return {
    /** @throws Problem `not-found` if the app or client is not visible to the actor */
    list: async (actor: Actor, filter: Filter, part: PageRequest): Promise<InvitationRow[]> => {
      const rows = await findInvitations(em, actor, filter, clock.now());
      return withInviters(em, actor, await readPage(rows, 'id', part));
    },

    /**
     * Creates all or none. Returns one invitation per element, in the same order; pending invitations are renewed. A dry run
     * does the same work and rolls it back.
     * @throws Problem `invalid-input` with all errors, as `items.{index}.{field}`
     */
    create,

    /**
     * Creates one invitation. The path names the client, so errors have no element index.
     * @throws Problem `not-found`, `forbidden`, `invalid-input`
     */
    createForClient: async (actor: Actor, client: number, input: Omit<InvitationInput, 'client'>) => {
      await readClient(em, actor, client);
      requireClientAdmin(actor, client);
      const element = { value: { ...input, client }, faults: {} };
      const [row] = await create(actor, [element]).catch(rethrowAsSingle);
      if (!row) throw notFound('invitation');
      return row;
    },

    /**
     * The pending invitation of an address that `update` would change.
     * @throws Problem `not-found`, `ambiguous-invitation`
     */
    pending: async (actor: Actor, email: string, client: number | undefined): Promise<InvitationRow> => {
      const { id } = await findPending(em, actor, { email, client, now: clock.now() });
      return readInvitation(em, actor, id);
    },

    /**
     * Changes a pending invitation without sending mail.
     * @throws Problem `not-found`, `forbidden`, `ambiguous-invitation`, `invalid-input` on `initial_apps`
     */
    update: (
      actor: Actor,
      email: string,
      client: number | undefined,
      changes: InvitationChanges,
    ): Promise<InvitationRow> =>
      em.transactional(async (tx) => {
        const query = { email, client, now: clock.now() };
        const { id, client_id } = await updatePending(tx, actor, query, changes);
        const details = { id, apps: changes.initial_apps, extra: changes.extra && 'changed' };
        const event = { actor, target: email, clients: [client_id], details };
        if (changes.initial_apps || changes.extra)
          await audit.record(tx, [{ action: 'invitation.update', ...event }]);
        return readInvitation(tx, actor, id);
      }),
  };
};

/** Removes the element index from error fields: `items.0.email` becomes `email`. */
const rethrowAsSingle = (error: unknown): never => {
  if (!(error instanceof Problem) || !error.fields) throw error;
  const fields = Object.entries(error.fields).map(([path, faults]) => [path.replace('items.0.', ''), faults]);
  throw invalid(Object.fromEntries(fields), error);
};

/** Invitations of a client, to an app (its slug), or else by the actor, of clients that are visible to the actor now. */
const findInvitations = async (em: Db, actor: Actor, filter: Filter, now: Date) => {
  const { status, search, app, client, cursor } = filter;
  let rows = afterCursor(invitationRows(em), 'id', cursor)
    .where(clientVisibleTo(actor, sql`client_id`))
    .where(hasStatus(status, now));
  if (search !== undefined) rows = rows.where(hasWords(sql`email`, search));
  if (client !== undefined) {
    await readClient(em, actor, client);
    return rows.where('client_id', '=', client);
  }
  if (app === undefined) return rows.where('inviter_id', '=', actor.id);
  const appId = await requireViewableAppId(em, actor, app);
  return rows.where(sql<boolean>`exists (select from invitation_apps ia
    where ia.invitation_id = invitations.id and ia.app_id = ${appId})`);
};
