import type { createTextArray } from '../../db/binary-arrays.ts';
import type { FieldErrors } from '../../lib/problems.ts';
import { createExtras, type UsageColumns } from './usage-columns.ts';
import type { SanitizedExtra } from './usage-extra.ts';

/** An entry as a platform sends it; null is what it has left out. */
export type UsageReport = {
  id: string | null;
  email: string;
  full_name: string | null;
  timestamp: Date | null;
  action: string;
  action_description: string;
  extra: SanitizedExtra;
};
/** An element as it was sent: its value, or null and what was wrong with its form. */
export type UsageElement = { value: UsageReport; faults: null } | { value: null; faults: FieldErrors };

/**
 * Reports as columns of the log, where a name that was left out is null, and a time is NaN. They are made while the
 * elements are read: kept as objects until it is their turn to be written, all of them would have to grow old.
 */
export type UsageReports = Omit<UsageColumns, 'fullNames'> & {
  fullNames: (string | null)[];
  /** By index; elements at fault have a time, NaN, and stand in no other column. */
  faults: Map<number, FieldErrors>;
};

/** @param read what to make of the elements, one by one */
export const collectReports = <T>(
  elements: readonly T[],
  read: (element: T) => UsageElement,
): UsageReports => {
  const extras = createExtras(elements.length);
  const columns = emptyColumns();
  for (const [index, element] of elements.entries()) {
    const { value, faults } = read(element);
    columns.times.push(value?.timestamp?.getTime() ?? Number.NaN);
    if (value === null) columns.faults.set(index, faults);
    else add(value, columns, extras);
  }
  return { ...columns, extras: extras.bytes() };
};

const emptyColumns = (): Omit<UsageReports, 'extras'> => ({
  keys: [],
  emails: [],
  fullNames: [],
  actions: [],
  descriptions: [],
  stacks: [],
  times: [],
  faults: new Map(),
});

const add = (
  report: UsageReport,
  columns: Omit<UsageReports, 'extras'>,
  extras: ReturnType<typeof createTextArray>,
): void => {
  columns.keys.push(report.id);
  columns.emails.push(report.email);
  columns.fullNames.push(report.full_name);
  columns.actions.push(report.action);
  columns.descriptions.push(report.action_description);
  columns.stacks.push(report.extra.stack);
  extras.add(report.extra.text);
};
