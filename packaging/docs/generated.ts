import { join } from 'node:path';
import { PROJECT } from '../compile.ts';
import { eventsTable } from './events-table.ts';
import { metricsTable } from './metrics-table.ts';
import { restTables } from './rest-tables.ts';
import { screensTable } from './screens-table.ts';
import { settingsTable } from './settings-table.ts';

const BLOCK = /(<!-- generated: npm run docs -->\n).*?(<!-- end of generated -->)/s;

type GeneratedDocument = { file: string; generate: () => string };

const docsFile = (name: string): string => join(PROJECT, 'docs', name);

/** Documents with one generated block. The text around the block is written by hand. */
export const GENERATED_DOCUMENTS: readonly GeneratedDocument[] = [
  { file: docsFile('console.md'), generate: screensTable },
  { file: docsFile('events.md'), generate: eventsTable },
  { file: docsFile('metrics.md'), generate: metricsTable },
  { file: docsFile('rest.md'), generate: restTables },
  { file: docsFile('settings.md'), generate: settingsTable },
];

/** @returns the document with its generated block replaced */
export const withGeneratedBlock = (document: string, block: string): string => {
  if (!BLOCK.test(document)) throw new Error('The document has no generated block.');
  return document.replace(BLOCK, (_match, start: string, end: string) => `${start}\n${block}\n\n${end}`);
};
