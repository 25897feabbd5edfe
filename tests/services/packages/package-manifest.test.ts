import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Problem } from '../../../src/lib/problems.ts';
import { describeChanges, type PackageChanges } from '../../../src/services/packages/package-loading.ts';
import { parseManifest, parseYaml } from '../../../src/services/packages/package-manifest-parsing.ts';
import { manifestText } from '../../support/packages.ts';

const MIB = 1024 ** 2;

const parse = (text: string | Uint8Array) => parseManifest(Buffer.from(text));

const parseWith = (more: string) => parse(manifestText() + more);

const problemIn = (text: string | Uint8Array): Problem => {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid-package') return error;
    throw error;
  }
  throw new Error('it should have been refused');
};

const manifest = suite('app.yaml');

manifest('has defaults for omitted fields', () => {
  assert.equal(parseWith(''), {
    slug: 'sales',
    version: '1.0.0',
    label: 'Sales',
    description: '',
    help_html: '',
    footer_html: '',
    show_help: false,
    show_footer: false,
    launch_url: '',
    stacks: [],
    metadata: {},
    view_as: false,
    roles: [],
    personas: [],
  });
});

manifest('reads every field', () => {
  const full = parseWith(`description: |
  Two
  lines
help_html: <p>Help</p>
footer_html: "<p>Foot\\u00e9</p>"
show_help: true
show_footer: true
stacks:
  - { slug: overview, label: Overview }
  - { slug: trends, label: Trends, note: unknown keys are passed over }
client: 2
launch_url: https://apps.example.com/sales/?from=steward
metadata: { owner: [ada, 1, true, null], 7: seven }
`);

  assert.is(full.description, 'Two\nlines\n');
  assert.is(full.footer_html, '<p>Footé</p>');
  assert.is(full.launch_url, 'https://apps.example.com/sales/?from=steward');
  assert.equal(
    [full.help_html, full.show_help, full.show_footer, full.client],
    ['<p>Help</p>', true, true, 2],
  );
  assert.equal(full.stacks, [
    { slug: 'overview', label: 'Overview' },
    { slug: 'trends', label: 'Trends' },
  ]);
  assert.equal(full.metadata, { owner: ['ada', 1, true, null], 7: 'seven' });
});

manifest('treats a key without a value as omitted', () => {
  assert.equal(parseWith('description:\nstacks:\nclient: ~\nmetadata: null\n'), parseWith(''));
  assert.equal(problemIn('slug: a\nversion: 1.0.0\nlabel:\n').fields, { label: ['is required'] });
});

manifest('reports all errors at once, in one sentence and by field', () => {
  const problem = problemIn(
    'slug: A B\nversion: 1.0\nclient: 1.5\nstacks: [{ slug: a, label: a }, { label: 3 }]\n',
  );

  assert.equal(problem.fields, {
    slug: ['must be 1–64 of a–z, 0–9, - and _'],
    version: ['must be text (put it in quotes)'],
    label: ['is required'],
    'stacks.1.slug': ['is required'],
    'stacks.1.label': ['must be text (put it in quotes)'],
    client: ['must be a whole number'],
  });
  assert.match(
    problem.message,
    /^app\.yaml: slug must be .*; version must be .*; label is required; .* number\.$/,
  );
});

const refused: [what: string, more: string, field: string, message: RegExp][] = [
  [
    'two stacks with one slug',
    'stacks: [{slug: a, label: x}, {slug: a, label: y}]',
    'stacks',
    /a slug twice/,
  ],
  ['more than 200 stacks', `stacks: [${stackList(201)}]`, 'stacks', /more than 200/],
  ['a stack with a bad slug', 'stacks: [{slug: A, label: x}]', 'stacks.0.slug', /must be 1–64/],
  ['a blank stack label', 'stacks: [{slug: a, label: " "}]', 'stacks.0.label', /is blank/],
  ['stacks that are no list', 'stacks: {a: b}', 'stacks', /must be a list/],
  ['text for a boolean', 'show_help: "true"', 'show_help', /must be true or false/],
  ['the yes of YAML 1.1', 'show_footer: yes', 'show_footer', /must be true or false/],
  ['client 0', 'client: 0', 'client', /must be positive/],
  ['a client beyond all ids', 'client: 2147483648', 'client', /is too large/],
  ['a long description', `description: ${'x'.repeat(10_001)}`, 'description', /longer than 10000/],
  ['a long help text', `help_html: ${'x'.repeat(100_001)}`, 'help_html', /longer than 100000/],
  ['a NUL', 'description: "a\\0b"', 'description', /NUL/],
  ['half a character', 'footer_html: "\\uD800"', 'footer_html', /half a character/],
  ['an invalid launch URL', 'launch_url: apps/sales', 'launch_url', /must be an http\(s\) URL/],
  ['a script as launch URL', 'launch_url: "javascript:alert(1)"', 'launch_url', /must be an http\(s\) URL/],
  ['a launch URL with a password', 'launch_url: https://a:b@c.test/', 'launch_url', /without a password/],
  ['a launch URL with #', 'launch_url: "https://c.test/#"', 'launch_url', /without #/],
  ['metadata that is a list', 'metadata: [1]', 'metadata', /must be a mapping/],
  ['a NUL in metadata', 'metadata: {a: [{b: "\\0"}]}', 'metadata', /plain data/],
  ['metadata beyond 64 KiB', `metadata: {a: ${'x'.repeat(65_536)}}`, 'metadata', /plain data/],
];

for (const [what, more, field, message] of refused) {
  manifest(`refuses ${what}`, () => {
    const { fields = {} } = problemIn(`${manifestText()}${more}\n`);

    assert.equal(Object.keys(fields), [field]);
    assert.match(String(Object.values(fields)[0]), message);
  });
}

function stackList(count: number): string {
  return Array.from({ length: count }, (_, i) => `{slug: s${i}, label: x}`).join(',');
}

const unreadable: [what: string, text: string | Uint8Array, detail: RegExp][] = [
  ['an empty file', '', /^app\.yaml: must be a mapping\.$/],
  ['a list', '- a\n', /must be a mapping/],
  [
    'broken YAML, naming the line',
    `${manifestText()}a: [1\nb: 2\n`,
    /^app\.yaml is not valid YAML at line 5: /,
  ],
  ['bytes that are not UTF-8', Uint8Array.of(0x61, 0x3a, 0xff), /utf-8/i],
  ['more than 1 MiB', `${manifestText()}#${'x'.repeat(MIB)}`, /larger than 1 MiB/],
  ['a second document', `${manifestText()}---\na: 1\n`, /multiple documents/],
  ['a duplicate key', `${manifestText()}label: Other\n`, /at line 4: Map keys must be unique/],
  [
    'aliases of aliases',
    `${manifestText()}metadata: {a: &a [x], b: &b [${'*a,'.repeat(11)}], c: [${'*b,'.repeat(11)}]}`,
    /alias count/,
  ],
];

for (const [what, text, detail] of unreadable) {
  manifest(`refuses ${what}`, () => {
    const problem = problemIn(text);

    assert.match(problem.message, detail);
    assert.match(problem.message, /^app\.yaml.*[^.]\.$/);
    assert.equal(Object.keys(problem.fields ?? {}), ['app_yaml']);
  });
}

const yaml = suite('parseYaml');

const parseText = (text: string) => parseYaml('app.yaml', Buffer.from(text));

const refusalOf = (text: string): string => {
  try {
    parseText(text);
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid-package') return error.message;
    throw error;
  }
  return 'none';
};

/** Without the limit, a MiB of each of these takes the library many seconds, or more memory or stack than there is. */
for (const unit of ['[', '[}', 'a: b\n']) {
  yaml(`refuses a MiB of ${JSON.stringify(unit)} before it is parsed`, () => {
    const text = unit.repeat(Math.floor(MIB / unit.length));

    assert.is(refusalOf(text), 'app.yaml has more than 20000 tokens and lines.');
  });
}

yaml('accepts an unusually large manifest', () => {
  const stacks = Array.from({ length: 200 }, (_, i) => `  - { slug: s${i}, label: "Stack: ${i}" }`);
  const metadata = Array.from({ length: 1_000 }, (_, i) => `  key${i}: [1, two]`);

  assert.is(refusalOf(['stacks:', ...stacks, 'metadata:', ...metadata].join('\n')), 'none');
});

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

manifest.run();
yaml.run();
described.run();
