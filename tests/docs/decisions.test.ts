import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const FOLDER = join(import.meta.dirname, '..', '..', 'docs', 'decisions');
const MAX_RECORDS = 40;
const PARTS = [
  /^Date: \d{4}-\d{2}-\d{2}\. Status: \w.*\.$/m,
  /^\*\*Context\.\*\* /m,
  /^\*\*Decision\.\*\* /m,
  /^\*\*Alternatives\.\*\* /m,
  /^\*\*Consequences\.\*\* /m,
];

const decisions = suite('decision records');

const names = (await readdir(FOLDER)).filter((name) => /^\d{4}-/.test(name)).sort();
const records = await Promise.all(
  names.map(async (name) => ({ name, text: await readFile(join(FOLDER, name), 'utf8') })),
);

decisions('there are at most 40, each with a number of its own, which its title repeats', () => {
  assert.ok(records.length > 0 && records.length <= MAX_RECORDS, `${records.length} records`);

  const numbers = records.map(({ name, text }) => {
    const number = Number(name.slice(0, 4));
    assert.match(text, new RegExp(`^# ${number}\\. \\S`), name);
    return number;
  });

  assert.is(new Set(numbers).size, numbers.length);
});

decisions('each has a date, a status, a context, a decision, alternatives and consequences', () => {
  const incomplete = records.filter(({ text }) => !PARTS.every((part) => part.test(text)));

  assert.equal(
    incomplete.map(({ name }) => name),
    [],
  );
});

decisions('the index has all of them, with their titles', async () => {
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
