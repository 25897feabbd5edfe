import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Problem } from '../../../src/lib/problems.ts';
import { parseYaml } from '../../../src/services/packages/package-manifest-parsing.ts';
import { cpuMs } from '../../support/time.ts';

const MIB = 1024 ** 2;
/** Of CPU time: parsing takes up to 0.5 s. Without limits, some of these took 24 s. */
const IN_TIME_MS = 3_000;

const yaml = suite('parseYaml');

const parse = (text: string) => parseYaml('app.yaml', Buffer.from(text));
const refusalOf = (text: string): string => {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid-package') return error.message;
    throw error;
  }
  return 'none';
};
const inTime = (text: string): string => {
  const started = cpuMs();
  const refusal = refusalOf(text);
  const tookMs = cpuMs() - started;
  assert.ok(tookMs < IN_TIME_MS, `took ${tookMs} ms`);
  return refusal;
};

/** Without limits, a MiB of each of these takes the library seconds or all memory. */
const COSTLY: [unit: string, before?: string, behind?: string][] = [
  ['[}'],
  [']'],
  ['['],
  ['- '],
  ['a: b\n'],
  ['}\n'],
  ['"'],
  ['%A\n'],
  ['a: @x\n'],
  ['\\q', 'a: "', '"'],
  ['a\n', 'a: "'],
  ['`,', '[', ']'],
  [',', '[', ']'],
  ['1,', 'a: [', ']'],
  ['{},', '[', ']'],
  ['!a x,', '[', ']'],
];
for (const [unit, before = '', behind = ''] of COSTLY) {
  const times = (count: number) => before + unit.repeat(count) + behind;
  const most = Math.floor((MIB - before.length - behind.length) / unit.length);

  yaml(`limits the time for any number of ${JSON.stringify(before + unit)}`, () => {
    assert.is(inTime(times(most)), 'app.yaml has more than 20000 tokens and lines.');
    // The largest input that reaches the parser.
    for (const count of [9_000, 19_000]) inTime(times(count));
  });
}

yaml('accepts long texts', () => {
  const long = 'x'.repeat(100_000);
  const lines = Array.from(
    { length: 5_000 },
    () => '  <p class="note">Much: ado, [about] {nothing}</p>',
  ).join('\n');

  assert.equal(parse(`a: ${long}\nb: "${long}"\n`), { a: long, b: long });
  assert.is(refusalOf(`help_html: |\n${lines}\nfooter_html: "<p>${'\\"'.repeat(1_000)}"\n`), 'none');
});

yaml('limits the time for a mapping with many keys', () => {
  const keys = Array.from({ length: 2_000 }, (_, i) => `k${i}: 1`);

  assert.is(inTime(keys.join('\n')), 'none');
});

yaml('accepts an unusually large manifest', () => {
  const stacks = Array.from({ length: 200 }, (_, i) => `  - { slug: s${i}, label: "Stack: ${i}" }`);
  const metadata = Array.from({ length: 1_000 }, (_, i) => `  key${i}: [1, two]`);

  assert.is(refusalOf(['stacks:', ...stacks, 'metadata:', ...metadata].join('\n')), 'none');
});

yaml.run();
