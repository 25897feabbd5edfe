/** The name of a statement that is to be prepared; undefined for one that is sent as it is. */
export type StatementNames = (text: string, values: readonly unknown[]) => string | undefined;

/** Texts remembered, seen or named: a few hundred are all that the service has; lists of values make more. */
const MAX_TEXTS = 500;
/** Longer ones hold lists of values, and hardly come again. */
const MAX_LENGTH = 20_000;

/**
 * Names the statements that come again, so that PostgreSQL parses each once for a connection, and plans it once where
 * a plan for all values does as well: of a small query that is half of its work. Those without values begin and end
 * transactions, or are the ORM's, which writes values into the text.
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
