import type { FieldErrors } from '../../lib/problems.ts';
import type { SanitizedExtra } from './usage-extra.ts';

/** An entry as the log stores it. */
export type UsageEntryInput = {
  /** The platform's own id. */
  entryKey: string | null;
  email: string;
  fullName: string;
  action: string;
  actionDescription: string;
  stack: string | null;
  /** JSON. */
  extra: string;
  occurredAt: Date;
};

/** Entries of the log by column, which is how they are written. */
export type UsageColumns = {
  keys: (string | null)[];
  emails: string[];
  fullNames: string[];
  actions: string[];
  descriptions: string[];
  stacks: (string | null)[];
  /** JSON. */
  extras: string[];
  /** Milliseconds since 1970. */
  times: number[];
};

/** An entry as a platform sends it; null for what it left out. */
export type UsageReport = {
  id: string | null;
  email: string;
  full_name: string | null;
  timestamp: Date | null;
  action: string;
  action_description: string;
  extra: SanitizedExtra;
};
/** A validated element of a request. */
export type UsageElement = { value: UsageReport; faults: null } | { value: null; faults: FieldErrors };

/**
 * Reports by column, where a missing name is null and a missing time is NaN. Columns are filled while elements are
 * validated, so that large batches do not wait for their write as many small objects.
 */
export type UsageReports = Omit<UsageColumns, 'fullNames'> & {
  fullNames: (string | null)[];
  /** By index. Invalid elements have a time, NaN, and are missing from the other columns. */
  faults: Map<number, FieldErrors>;
};

export const columnsOf = (entries: readonly UsageEntryInput[]): UsageColumns => ({
  keys: entries.map(({ entryKey }) => entryKey),
  emails: entries.map(({ email }) => email),
  fullNames: entries.map(({ fullName }) => fullName),
  actions: entries.map(({ action }) => action),
  descriptions: entries.map(({ actionDescription }) => actionDescription),
  stacks: entries.map(({ stack }) => stack),
  extras: entries.map(({ extra }) => extra),
  times: entries.map(({ occurredAt }) => occurredAt.getTime()),
});

/** Validates elements one by one, and collects the valid ones by column. */
export const collectReports = <T>(
  elements: readonly T[],
  validate: (element: T) => UsageElement,
): UsageReports => {
  const columns: UsageReports = {
    keys: [],
    emails: [],
    fullNames: [],
    actions: [],
    descriptions: [],
    stacks: [],
    extras: [],
    times: [],
    faults: new Map(),
  };
  for (const [index, element] of elements.entries()) {
    const { value, faults } = validate(element);
    columns.times.push(value?.timestamp?.getTime() ?? Number.NaN);
    if (value === null) {
      columns.faults.set(index, faults);
      continue;
    }
    columns.keys.push(value.id);
    columns.emails.push(value.email);
    columns.fullNames.push(value.full_name);
    columns.actions.push(value.action);
    columns.descriptions.push(value.action_description);
    columns.stacks.push(value.extra.stack);
    columns.extras.push(value.extra.text);
  }
  return columns;
};
