import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const PROJECT = join(import.meta.dirname, '..', '..');

/** How many requirements of levels 1 and 2 each section has, by ASVS 5.0. Those of level 3 come last. */
const SECTIONS: Record<string, number> = {
  '6.1': 3,
  '6.2': 12,
  '6.3': 4,
  '6.4': 4,
  '6.5': 5,
  '6.6': 3,
  '6.8': 4,
  '7.1': 3,
  '7.2': 4,
  '7.3': 2,
  '7.4': 5,
  '7.5': 2,
  '7.6': 2,
  '10.1': 2,
  '10.2': 2,
  '10.5': 5,
};

/** What only the code shows: that something does not exist, or is not stored. */
const WITHOUT_TEST = ['6.4.2', '10.1.1'];

const asvs = suite('docs/asvs.md');

const text = await readFile(join(PROJECT, 'docs/asvs.md'), 'utf8');
const [gaps = '', ...chapters] = text.split(/^## V/m);
const numbersIn = (part: string): string[] => part.match(/\b\d+\.\d+\.\d+\b/g) ?? [];

/** Of the chapters: what meets requirements, each with the tests that it names. */
const rows = chapters
  .flatMap((chapter) => chapter.match(/^\| \d.*\|$/gm) ?? [])
  .map((row) => ({
    numbers: numbersIn(row.split('|')[1] ?? ''),
    tests: row.match(/tests\/[\w./-]+/g) ?? [],
  }));

asvs('has all requirements of levels 1 and 2', () => {
  const required = Object.entries(SECTIONS).flatMap(([section, count]) =>
    Array.from({ length: count }, (_, index) => `${section}.${index + 1}`),
  );
  const named = new Set(numbersIn(text));

  assert.equal(
    required.filter((number) => !named.has(number)),
    [],
  );
});

asvs('names a test for each requirement that is met', async () => {
  const without = rows.filter(({ tests }) => tests.length === 0).flatMap(({ numbers }) => numbers);
  const named = rows.flatMap(({ tests }) => tests);

  assert.equal(without, WITHOUT_TEST);
  assert.ok(named.length > 30, `${named.length} tests`);
  await Promise.all(named.map((path) => access(join(PROJECT, path))));
});

asvs('says what is missing of each requirement once', () => {
  const incomplete = (gaps.match(/^\| \d.*\|$/gm) ?? []).flatMap((row) => numbersIn(row.split('|')[1] ?? ''));

  assert.ok(incomplete.length > 0);
  assert.is(new Set(incomplete).size, incomplete.length);
});

asvs.run();
