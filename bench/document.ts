import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';

const DOCUMENT = join(import.meta.dirname, '../docs/benchmarks.md');
const DATE_FORMAT = { day: 'numeric', month: 'long', year: 'numeric' } as const;

/** Writes the tables of a command into docs/benchmarks.md. */
export const writeTables = async (lines: readonly string[], command: string): Promise<void> =>
  writeFile(DOCUMENT, replaceTables(await readFile(DOCUMENT, 'utf8'), lines, command));

/** Replaces the text of a document between the two markers of a command. */
export const replaceTables = (document: string, lines: readonly string[], command: string): string => {
  const begin = `<!-- begin: ${command} -- --write -->`;
  const end = `<!-- end: ${command} -- --write -->`;
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`The document lacks the markers ${begin} and ${end}.`);
  return [document.slice(0, from) + begin, '', ...lines, '', document.slice(to)].join('\n');
};

/** The date, the machine and the versions with which tables were measured. */
export const describeMachine = (versions: readonly string[] = []): string => {
  const parts = [
    `${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${availableParallelism()} cores`,
    `${Math.round(totalmem() / 1e9)} GB`,
    `Node ${process.versions.node}`,
    ...versions,
  ];
  return `${new Date().toLocaleDateString('en-GB', DATE_FORMAT)}: ${parts.join(', ')}.`;
};
