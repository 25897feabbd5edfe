import { type RawBuilder, sql } from 'kysely';
import { condition } from './kysely.ts';

/** The words of a search; empty for a blank one. */
export const wordsOf = (search: string): string[] => [...new Set(search.split(/\s+/u).filter(Boolean))];

/**
 * SQL that is true if the text contains each word of the search. `folded` is the text in lower case; the database
 * converts the words in the same way.
 */
export const hasWords = (folded: RawBuilder<unknown>, search: string): RawBuilder<boolean> => {
  const conditions = wordsOf(search).map((word) => condition`${folded} like lower(${patternOf(word)})`);
  return conditions.length === 0 ? sql`true` : sql`(${sql.join(conditions, sql` and `)})`;
};

/** Escapes `%` and `_`. */
const patternOf = (word: string): string => `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`;
