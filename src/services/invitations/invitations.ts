import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
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
import {
  hasStatus,
  type InvitationRow,
  type InvitationStatus,
  invitationRows,
  readInvitation,
  readInvitations,
  withInviters,
} from './invitation-rows.ts';
import { writeInvitations } from './invitation-writes.ts';
import { findPending, type InvitationChanges, updatePending } from './pending-invitation.ts';

type Deps = Pick<Unit, 'em' | 'clock' | 'audit' | 'invitationDays'>;
type Filter = {
  status: InvitationStatus | 'all';
  search?: string | undefined;
  app?: string | undefined;
  /** Id of the last invitation of the previous page. */
  cursor?: number | undefined;
};

export const createInvitations = ({ em, clock, audit, invitationDays }: Deps) => {
  const write = async (tx: SqlEntityManager, actor: Actor, items: CheckedInvitation[]) => {
    const now = clock.now();
    const expiresAt = new Date(now.getTime() + invitationDays * DAY_MS);
    const written = await writeInvitations(tx, actor, items, { now, expiresAt });
    const ids = written.map(({ id }) => id);
    await audit.record(
      tx,
      written.map(({ id, key, email, client, initial_apps }) => ({
        action: key === null ? 'invitation.renew' : 'invitation.create',
        actor,
        target: email,
        clients: [client],
        details: { id, apps: initial_apps },
      })),
    );
    const rows = await readInvitations(tx, actor, ids);
    const byId = new Map(rows.map((row) => [row.id, row]));
    return ids.flatMap((id) => byId.get(id) ?? []);
  };

  const filtered = ({ status, search, cursor }: Filter) => {
    const rows = afterCursor(invitationRows(em), 'id', cursor).where(hasStatus(status, clock.now()));
    return search === undefined ? rows : rows.where(hasWords(sql`email`, search));
  };

  return {
    /**
     * Invitations to an app, or without `app` those that the actor created, of clients that are visible to the actor now.
     * @throws Problem `not-found` if no app with this slug is visible to the actor
     */
    list: async (actor: Actor, filter: Filter, part: PageRequest): Promise<InvitationRow[]> => {
      const visible = filtered(filter).where(clientVisibleTo(actor, sql`client_id`));
      const rows =
        filter.app === undefined
          ? visible.where('inviter_id', '=', actor.id)
          : visible.where(await isForApp(em, actor, filter.app));
      return withInviters(em, actor, await readPage(rows, 'id', part));
    },

    /** @throws Problem `not-found` */
    ofClient: async (actor: Actor, clientId: number, filter: Filter, part: PageRequest) => {
      await readClient(em, actor, clientId);
      const rows = filtered(filter).where('client_id', '=', clientId);
      return withInviters(em, actor, await readPage(rows, 'id', part));
    },

    /**
     * Creates all or none. Returns one invitation per element, in the same order; pending invitations are renewed. A dry run
     * does the same work and rolls it back.
     * @throws Problem `invalid-input` with all errors, as `items.{index}.{field}`
     */
    create: async (actor: Actor, items: InvitationElement[], { dryRun = false } = {}) => {
      const checked = await checkInvitations(em, actor, items);
      if (!dryRun) return em.transactional((tx) => write(tx, actor, checked));

      let written: InvitationRow[] = [];
      const rollback = new Error('dry run');
      // Nested in an outer transaction, if any: a separate one would need a second connection.
      const dry = em.transactional(async (tx) => {
        written = await write(tx, actor, checked);
        throw rollback;
      });
      await dry.catch((error: unknown) => {
        if (error !== rollback) throw error;
      });
      return written;
    },

    /**
     * Creates one invitation. The path names the client, so errors have no element index.
     * @throws Problem `not-found`, `forbidden`, `invalid-input`
     */
    createForClient: async (actor: Actor, clientId: number, input: Omit<InvitationInput, 'client'>) => {
      await readClient(em, actor, clientId);
      requireClientAdmin(actor, clientId);
      const checked = await checkInvitations(em, actor, [
        { value: { ...input, client: clientId }, faults: {} },
      ]).catch(rethrowAsSingle);
      const [row] = await em.transactional((tx) => write(tx, actor, checked));
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
        const found = await updatePending(tx, actor, { email, client, now: clock.now() }, changes);
        const { id } = found;
        const details = { id, apps: changes.initial_apps, extra: changes.extra && 'changed' };
        const clients = [found.client_id];
        const event: AuditEvent = { action: 'invitation.update', actor, target: email, clients, details };
        if (changes.initial_apps || changes.extra) await audit.record(tx, [event]);
        return readInvitation(tx, actor, id);
      }),
  };
};

/** Removes the element index from error fields: `items.0.email` becomes `email`. */
const rethrowAsSingle = (error: unknown): never => {
  if (!(error instanceof Problem) || !error.fields) throw error;
  const fields = Object.entries(error.fields).map(([path, messages]) => [
    path.replace('items.0.', ''),
    messages,
  ]);
  throw invalid(Object.fromEntries(fields), error);
};

const isForApp = async (em: SqlEntityManager, actor: Actor, slug: string) => {
  const appId = await requireViewableAppId(em, actor, slug);
  return sql<boolean>`exists (select from invitation_apps ia
    where ia.invitation_id = invitations.id and ia.app_id = ${appId})`;
};
