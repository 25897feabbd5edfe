const MAX_TEXT_LENGTH = 200;

/** Old and new value by column. */
export type Changes = Record<string, { from: unknown; to: unknown }>;

/** Lists the changes of these columns for the audit trail. Long texts are truncated. */
export const diffColumns = <T extends object>(
  before: T,
  after: T,
  columns: readonly (keyof T & string)[],
): Changes => {
  const changes: Changes = {};
  for (const column of columns) {
    const [from, to] = [before[column], after[column]];
    if (JSON.stringify(from) !== JSON.stringify(to))
      changes[column] = { from: truncate(from), to: truncate(to) };
  }
  return changes;
};

export const isEmpty = (changes: Changes): boolean => Object.keys(changes).length === 0;

const truncate = (value: unknown): unknown =>
  typeof value === 'string' && value.length > MAX_TEXT_LENGTH
    ? `${value.slice(0, MAX_TEXT_LENGTH).toWellFormed()}…`
    : value;
