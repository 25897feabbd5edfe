const MAX_SHOWN_LENGTH = 200;

/** Column → what it was and what it is. */
export type Changes = Record<string, { from: unknown; to: unknown }>;

/** What an update has changed of these columns, for the audit trail: long texts by their beginning. */
export const diffColumns = <T extends object>(
  before: T,
  after: T,
  columns: readonly (keyof T & string)[],
): Changes => {
  const changes: Changes = {};
  for (const column of columns) {
    const [from, to] = [before[column], after[column]];
    if (JSON.stringify(from) !== JSON.stringify(to)) changes[column] = { from: shown(from), to: shown(to) };
  }
  return changes;
};

/** Whether there is nothing to tell. */
export const isEmpty = (changes: Changes): boolean => Object.keys(changes).length === 0;

const shown = (value: unknown): unknown =>
  typeof value === 'string' && value.length > MAX_SHOWN_LENGTH
    ? `${value.slice(0, MAX_SHOWN_LENGTH).toWellFormed()}…`
    : value;
