import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Problem } from '../../../src/lib/problems.ts';
import { parseYaml } from '../../../src/services/packages/package-manifest-parsing.ts';

const MIB = 1024 ** 2;

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

  yaml(`refuses a MiB of ${JSON.stringify(before + unit)} before it is parsed`, () => {
    assert.is(refusalOf(times(most)), 'app.yaml has more than 20000 tokens and lines.');
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

yaml('accepts a mapping with many keys', () => {
  const keys = Array.from({ length: 2_000 }, (_, i) => `k${i}: 1`);

  assert.is(refusalOf(keys.join('\n')), 'none');
});

yaml('accepts an unusually large manifest', () => {
  const stacks = Array.from({ length: 200 }, (_, i) => `  - { slug: s${i}, label: "Stack: ${i}" }`);
  const metadata = Array.from({ length: 1_000 }, (_, i) => `  key${i}: [1, two]`);

  assert.is(refusalOf(['stacks:', ...stacks, 'metadata:', ...metadata].join('\n')), 'none');
});

yaml.run();
