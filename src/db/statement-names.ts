/** Returns the name of a statement to prepare; undefined for one to send unprepared. */
export type StatementNames = (text: string, values: readonly unknown[]) => string | undefined;

/** Texts remembered, seen or named. The service has a few hundred, and more with lists of values. */
const MAX_TEXTS = 500;
/** Longer texts contain lists of values and are seldom repeated. */
const MAX_LENGTH = 20_000;

/**
 * Names repeated statements, so that PostgreSQL parses each once per connection, and plans it once if a generic plan is as
 * good: half of the work of a small query. Statements without values are not named: they begin or end transactions, or are
 * the ORM's, which writes values into the text.
 */
export const createStatementNames = (prefix: string): StatementNames => {
  const names = new Map<string, string | null>();
  let made = 0;

  return (text, values) => {
    if (values.length === 0 || text.length > MAX_LENGTH) return undefined;
    const known = names.get(text);
    if (known) return known;
    if (known === null) {
      made += 1;
      const name = `${prefix}_${made}`;
      names.set(text, name);
      return name;
    }
    if (names.size < MAX_TEXTS) names.set(text, null);
    return undefined;
  };
};
