import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { describeChanges, type PackageChanges } from '../../../src/services/packages/package-loading.ts';

const described = suite('describeChanges');

const describe = ({ stacks, ...changes }: Partial<Omit<PackageChanges, 'stacks'>> & { stacks?: object }) =>
  describeChanges('sales', {
    version: { from: '1.0.0', to: '1.1.0' },
    columns: {},
    ...changes,
    stacks: { added: [], renamed: [], removed: [], ...stacks },
  });

described('says everything in one line', () => {
  const line = describe({
    columns: { label: { from: 'Sales', to: 'Sales live' }, show_help: { from: false, to: true } },
    stacks: { added: ['forecast'], removed: ['trends'], renamed: [{ slug: 'a', from: 'A', to: 'B' }] },
  });

  assert.is(
    line,
    'sales 1.1.0 (was 1.0.0): label "Sales" → "Sales live", show_help false → true, ' +
      'stacks + forecast, stacks − trends, stacks renamed a → "B"',
  );
});

described('says so when there is nothing more, and when there was no package before', () => {
  assert.is(describe({}), 'sales 1.1.0 (was 1.0.0): nothing else changed');
  assert.match(describe({ version: { from: null, to: '1.1.0' } }), /^sales 1\.1\.0 \(the first\): /);
});

described('returns one readable line for any package', () => {
  const html = `<p>\n${'x'.repeat(200)}`;
  const added = Array.from({ length: 25 }, (_, i) => `s${i}`);

  const line = describe({ columns: { help_html: { from: '', to: html } }, stacks: { added } });

  assert.not.match(line, '\n');
  assert.match(line, /help_html "" → "<p>\\nx{56}…", stacks \+ s0 .* s19 and 5 more$/);
});

described.run();
