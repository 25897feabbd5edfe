import { access, glob, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const PROJECT = join(import.meta.dirname, '..', '..');
const DOCUMENTS = ['README.md', 'docs/**/*.md', 'packaging/client/README.md'];

/** A path in backticks that starts at a folder of sources. */
const SOURCE_PATH = /`((?:bench|entities|migrations|packaging|routers|src|tests)\/[\w./-]*)`/g;

const links = suite('links of the documentation');

const exists = (path: string): Promise<boolean> =>
  access(join(PROJECT, path)).then(
    () => true,
    () => false,
  );

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const anchorsIn = (markdown: string): string[] =>
  [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));

const errorOf = async (file: string, link: string): Promise<string | null> => {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? file : join(dirname(file), path);
  if (anchor === undefined) {
    return (await exists(target)) ? null : `${file}: ${link} does not exist`;
  }
  const markdown = await readFile(join(PROJECT, target), 'utf8').catch(() => '');
  return anchorsIn(markdown).includes(anchor) ? null : `${file}: ${link} has no such heading`;
};

links('lead to files and headings that exist', async () => {
  const errors: string[] = [];
  let count = 0;
  for await (const file of glob(DOCUMENTS, { cwd: PROJECT, exclude: ['**/node_modules/**'] })) {
    const markdown = await readFile(join(PROJECT, file), 'utf8');
    for (const [, link = ''] of markdown.matchAll(/\]\(((?!https?:)[^)\s]+)\)/g)) {
      count += 1;
      const error = await errorOf(file, link);
      if (error) errors.push(error);
    }
  }

  assert.ok(count > 100, `${count} links`);
  assert.equal(errors, []);
});

links('name folders and files of the sources that exist', async () => {
  const missing: string[] = [];
  for await (const file of glob(DOCUMENTS, { cwd: PROJECT, exclude: ['**/node_modules/**'] })) {
    const markdown = await readFile(join(PROJECT, file), 'utf8');
    for (const [, path = ''] of markdown.matchAll(SOURCE_PATH)) {
      if (!(await exists(path))) missing.push(`${file}: ${path}`);
    }
  }

  assert.equal(missing, []);
});

links.run();
