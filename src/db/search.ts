import { type RawBuilder, sql } from 'kysely';

/** The words of a search; empty when it says nothing. */
export const wordsOf = (search: string): string[] => [...new Set(search.split(/\s+/u).filter(Boolean))];

/**
 * SQL that holds where each word of the search is part of the text. `folded` is the text in lower case, as the database
 * makes it: it folds the words too, so that both agree on what a lower case is.
 */
export const hasWords = (folded: RawBuilder<string>, search: string): RawBuilder<boolean> => {
  const conditions = wordsOf(search).map((word) => sql<boolean>`${folded} like lower(${patternOf(word)})`);
  return conditions.length === 0 ? sql`true` : sql`(${sql.join(conditions, sql` and `)})`;
};

/** `%` and `_` stand for themselves. */
const patternOf = (word: string): string => `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`;
