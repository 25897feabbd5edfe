import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const FOLDER = join(import.meta.dirname, '..', '..', 'docs', 'decisions');
const PARTS = ['**Context.**', '**Decision.**', '**Consequences.**'];

const decisions = suite('decision records');

const names = (await readdir(FOLDER)).filter((name) => /^\d{4}-/.test(name)).sort();
const records = await Promise.all(
  names.map(async (name) => ({ name, text: await readFile(join(FOLDER, name), 'utf8') })),
);

decisions('are numbered from 1 without gaps', () => {
  assert.ok(records.length > 0);
  for (const [index, { name, text }] of records.entries()) {
    assert.is(Number(name.slice(0, 4)), index + 1, name);
    assert.match(text, new RegExp(`^# ${index + 1}\\. \\S`), name);
  }
});

decisions('have a context, a decision and consequences', () => {
  const incomplete = records.filter(({ text }) => !PARTS.every((part) => text.includes(part)));

  assert.equal(
    incomplete.map(({ name }) => name),
    [],
  );
});

decisions('are all in the index, with their titles', async () => {
  const index = await readFile(join(FOLDER, 'README.md'), 'utf8');
  const missing = records.filter(({ name, text }) => {
    const title = /^# \d+\. (.*)$/m.exec(text)?.[1];
    return !index.includes(`[${name.slice(0, 4)}. ${title}](${name})`);
  });

  assert.equal(
    missing.map(({ name }) => name),
    [],
  );
});

decisions.run();
