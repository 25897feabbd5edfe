import type { Attributes, SpanDetails } from '../../lib/tracing.ts';

const OPERATION = /^\s*(\w+)/;
/** Names in SQL may be quoted. A literal may match as well, but only names of tables are used. */
const TABLE = /\b(?:from|into|update|join)\s+"?(\w+)"?/gi;
const MAX_TABLES = 4;
/** Of a name of a span. */
const MAX_LENGTH = 200;
const NAMED = 3;
/** Summaries that are kept, of statements with parameters. The service has a few hundred. */
const MAX_KEPT = 500;

type Summary = { operation: string; tables: string[] };

/**
 * Describes statements by their operations and tables: `SELECT users`. Their texts are not recorded, because those of the ORM
 * contain values.
 * @param tables the names of all tables: nothing else of a text is recorded but its first word
 */
export const createStatementSummary = (tables: ReadonlySet<string>) => {
  const tablesOf = (text: string): string[] => {
    const found = new Set<string>();
    for (const [, name = ''] of text.matchAll(TABLE)) {
      if (tables.has(name)) found.add(name);
      if (found.size === MAX_TABLES) break;
    }
    return [...found];
  };

  const kept = new Map<string, Summary>();
  const summarize = (text: string): Summary => {
    const known = kept.get(text);
    if (known) return known;
    const operation = OPERATION.exec(text)?.[1]?.toUpperCase() ?? 'EMPTY';
    const summary = { operation, tables: tablesOf(text) };
    // The texts of other statements contain values, and seldom repeat.
    if (kept.size < MAX_KEPT && text.includes('$1')) kept.set(text, summary);
    return summary;
  };

  return (texts: readonly string[]): SpanDetails => {
    const summaries = texts.map(summarize);
    const parts = summaries.map(({ operation, tables }) => [operation, ...tables].join(' '));
    const [first] = summaries;
    const summary = [...parts.slice(0, NAMED), ...(parts.length > NAMED ? ['…'] : [])].join('; ');
    const attributes: Attributes = { 'db.system.name': 'postgresql', 'db.query.summary': summary };
    if (texts.length > 1) attributes['db.operation.batch.size'] = texts.length;
    else if (first) {
      attributes['db.operation.name'] = first.operation;
      if (first.tables.length === 1) attributes['db.collection.name'] = first.tables.join();
    }
    return { name: summary.slice(0, MAX_LENGTH), kind: 'client', attributes };
  };
};
