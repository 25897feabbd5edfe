import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const PROJECT = join(import.meta.dirname, '../..');

/** The first TypeScript sample below a heading of a Markdown document, such as `## Generated clients` of `docs/rest.md`. */
export const readSample = async (document: string, heading: string): Promise<string> => {
  const text = await readFile(join(PROJECT, document), 'utf8');
  const [, section] = text.split(`\n${heading}\n`);
  const [, sample] = /^```ts\n([\s\S]*?)^```$/m.exec(section ?? '') ?? [];
  if (sample === undefined) throw new Error(`${document} has no TypeScript sample below ${heading}.`);
  return sample;
};
