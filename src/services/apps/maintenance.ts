import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { condition } from '../../db/kysely.ts';
import { invalid } from '../../lib/problems.ts';

/** Maintenance of an app as it is stored: null means from now on, or without an end. The clock decides whether it counts. */
type Maintenance = { inMaintenance: boolean; maintenanceFrom: Date | null; maintenanceUntil: Date | null };
type Stored = { [K in keyof Maintenance]?: Maintenance[K] | undefined };

/** SQL: whether a row of `apps` is in maintenance now. */
export const isInMaintenance = (now: Date) => condition`
  (apps.in_maintenance and coalesce(apps.maintenance_from <= ${now}::timestamptz, true)
    and coalesce(apps.maintenance_until > ${now}::timestamptz, true))`;

/** SQL: a column of a row of `apps` while maintenance is planned or runs, and null otherwise. */
export const maintenanceTime = (
  column: 'maintenance_from' | 'maintenance_until',
  now: Date,
) => sql<Date | null>`
  case when apps.in_maintenance and coalesce(apps.maintenance_until > ${now}::timestamptz, true)
    then ${sql.ref(`apps.${column}`)} end`;

const NONE: Maintenance = { inMaintenance: false, maintenanceFrom: null, maintenanceUntil: null };

const hasBegun = ({ inMaintenance, maintenanceFrom: from }: Maintenance, now: Date): boolean =>
  inMaintenance && (from === null || from <= now);

/** Maintenance that is over counts as none. */
const withoutEnded = (stored: Stored, now: Date): Maintenance => {
  const { inMaintenance = false, maintenanceFrom = null, maintenanceUntil = null } = stored;
  const isOver = maintenanceUntil !== null && maintenanceUntil <= now;
  return inMaintenance && !isOver ? { inMaintenance, maintenanceFrom, maintenanceUntil } : NONE;
};

export type MaintenanceChanges = {
  in_maintenance?: boolean | undefined;
  maintenance_from?: Date | null | undefined;
  maintenance_until?: Date | null | undefined;
};

/**
 * The columns of an app after a change. `in_maintenance` begins or ends maintenance at once; the value that it has already changes nothing,
 * because callers send back whole apps. `maintenance_from` plans it, or with null cancels a plan.
 * @throws Problem `invalid-input` on `maintenance_until`
 */
export const changeMaintenance = (stored: Stored, changes: MaintenanceChanges, now: Date) => {
  const { in_maintenance: isOn, maintenance_from: from, maintenance_until: until } = changes;
  const before = withoutEnded(stored, now);
  let next = before;
  if (isOn !== undefined && isOn !== hasBegun(before, now)) next = { ...NONE, inMaintenance: isOn };
  if (from) next = { ...next, inMaintenance: true, maintenanceFrom: from };
  else if (from === null) next = hasBegun(next, now) ? { ...next, maintenanceFrom: null } : NONE;
  if (until !== undefined && next.inMaintenance) next = { ...next, maintenanceUntil: until };
  else if (until) throw invalid({ maintenance_until: ['Maintenance needs a start: send maintenance_from.'] });
  const { maintenanceFrom, maintenanceUntil } = next;
  const isOver = maintenanceUntil !== null && maintenanceUntil <= now;
  if (isOver || (maintenanceUntil && maintenanceFrom && maintenanceUntil <= maintenanceFrom))
    throw invalid({ maintenance_until: ['Must be after the begin, and in the future.'] });
  if (isDeepStrictEqual(next, before)) return {};
  return {
    in_maintenance: next.inMaintenance,
    maintenance_from: maintenanceFrom,
    maintenance_until: maintenanceUntil,
  };
};
