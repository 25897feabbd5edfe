import { type FieldErrors, invalid } from '../../lib/problems.ts';
import { type Actor, requireClientAdmin, userAppsRefusal } from '../access/actor.ts';
import { readClient } from '../clients/clients.ts';
import { startOperation } from '../operations/operation-log.ts';
import type { Unit } from '../unit.ts';
import { lockTargets, type Target, writeCells } from './access-cells.ts';
import { type GrantableApp, grantEvents } from './app-grants.ts';

/** Whether a user is to have an app. */
export type Cell = { email: string; app_id: string; granted: boolean };

/** What changes for a user. */
export type CellChanges = {
  target: Target;
  granted: GrantableApp[];
  revoked: GrantableApp[];
  /** Ids of clients. */
  joined: number[];
};

const MAX_FAULTS = 100;

export const createAccessUpdates = ({ em, clock, audit }: Pick<Unit, 'em' | 'clock' | 'audit'>) => ({
  /**
   * Changes all cells in one transaction, or none. Cells that are as requested stay unchanged.
   * @throws Problem `not-found`, `forbidden`, `invalid-input` on `cells`
   */
  update: (actor: Actor, client: number, cells: readonly Cell[]) =>
    em.transactional(async (tx) => {
      await readClient(tx, actor, client);
      requireClientAdmin(actor, client);
      const emails = [...new Set(cells.map(({ email }) => email))];
      const { targets, apps } = await lockTargets(tx, actor, client, emails);
      requireChangeable(actor, cells, targets, apps);

      const changes = planCells(cells, targets, apps);
      const operation = await startOperation(tx, actor, `access of client ${client}`, clock.now());
      await writeCells(tx, operation.id, changes, clock.now());
      const events = changes.flatMap(({ target, granted, revoked }) =>
        grantEvents(actor, target.email, granted, revoked),
      );
      await audit.withDetails({ operation: operation.id }).record(tx, events);
      const changed = changes.reduce((sum, { granted, revoked }) => sum + granted.length + revoked.length, 0);
      return { operation: operation.id, undo_until: operation.undoUntil, changed };
    }),
});

type Targets = ReadonlyMap<string, Target>;
type Apps = ReadonlyMap<string, GrantableApp>;

/** @throws Problem `invalid-input` with the errors of all cells, as `cells.{index}.{field}` */
const requireChangeable = (actor: Actor, cells: readonly Cell[], targets: Targets, apps: Apps): void => {
  const refusals = new Map(
    [...targets].map(([email, target]) => [email, userAppsRefusal(actor, target)?.message]),
  );
  const seen = new Set<string>();
  const fields: FieldErrors = {};
  for (const [index, { email, app_id }] of cells.entries()) {
    const refusal = targets.has(email) ? refusals.get(email) : 'No such user.';
    if (refusal) fields[`cells.${index}.email`] = [refusal];
    if (!apps.has(app_id)) fields[`cells.${index}.app_id`] = ['No app of this client has this id.'];
    if (seen.has(`${app_id} ${email}`)) fields[`cells.${index}`] = ['Another cell has this user and app.'];
    seen.add(`${app_id} ${email}`);
    if (Object.keys(fields).length >= MAX_FAULTS) break;
  }
  if (Object.keys(fields).length > 0) throw invalid(fields);
};

const planCells = (cells: readonly Cell[], targets: Targets, apps: Apps): CellChanges[] => {
  const changes = new Map<string, CellChanges>();
  for (const { email, app_id, granted } of cells) {
    const [target, app] = [targets.get(email), apps.get(app_id)];
    if (!target || !app || target.apps.has(app_id) === granted) continue;
    const change = changes.get(email) ?? { target, granted: [], revoked: [], joined: [] };
    changes.set(email, change);
    (granted ? change.granted : change.revoked).push(app);
    if (granted && !target.clientIds.includes(app.client_id)) change.joined = [app.client_id];
  }
  return [...changes.values()];
};
