import { resolve, win32 } from 'node:path';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Problem } from '../../../src/lib/problems.ts';
import { createPathRules } from '../../../src/services/packages/package-rules.ts';
import {
  inspect,
  inspectEntry,
  manifestText,
  type OddEntry,
  packageOf,
  paxHeader,
  refuses,
  tarEntry,
} from '../../support/packages.ts';

const paths = suite('inspectPackage: unsafe paths');

const OFFENCES: [what: string, entry: OddEntry, detail: RegExp][] = [
  ['a path out of the folder', { path: '../evil', body: 'x' }, /leads out of it: "\.\.\/evil"/],
  ['a path out of the folder further in', { path: 'a/../../evil', body: 'x' }, /leads out of it/],
  ['a path that ends in ..', { path: 'a/..', type: 'Directory' }, /leads out of it/],
  ['an absolute path', { path: '/etc/passwd', body: 'x' }, /absolute path: "\/etc\/passwd"/],
  ['an absolute path behind ./', { path: './/etc/passwd', body: 'x' }, /absolute path/],
  ['a drive letter', { path: 'C:evil', body: 'x' }, /absolute path/],
  ['a backslash', { path: '..\\evil', body: 'x' }, /backslash/],
  ['a line break', { path: 'a\nb', body: 'x' }, /control character: "a\\nb"/],
  ['an escape sequence', { path: 'a\x1b[2Jb', body: 'x' }, /control character: "a\\u001b\[2Jb"/],
  ['a tab', { path: 'a\tb', body: 'x' }, /control character/],
  ['DEL', { path: 'a\x7fb', body: 'x' }, /control character/],
  ['a C1 control character', { path: 'a\u009bb', body: 'x' }, /control character/],
  ['an empty segment', { path: 'a//b', body: 'x' }, /unclear path/],
  ['a dot segment', { path: 'a/./b', body: 'x' }, /unclear path/],
  ['a second app.yaml', { path: 'app.yaml', body: manifestText() }, /a path twice: "app.yaml"/],
  ['a second app.yaml behind ./', { path: './app.yaml', body: manifestText() }, /a path twice/],
  ['a folder named as a file is', { path: 'app.yaml/', type: 'Directory' }, /a path twice/],
];
for (const [what, entry, detail] of OFFENCES) {
  paths(`refuses ${what}`, () => refuses(inspectEntry(entry), detail));
}

paths('refuses a path in a pax header that leaves the folder, has a NUL or is too long', async () => {
  const hiding = (path: string) =>
    inspect(packageOf([paxHeader({ path }), tarEntry({ path: 'ok', body: 'x' })]));

  await refuses(hiding('../evil'), /leads out of it/);
  await refuses(hiding('ok\0/../evil'), /with a NUL/);
  await refuses(hiding('a\rb'), /control character/);
  await refuses(hiding('x'.repeat(1025)), /longer than 1024/);
});

paths('refuses a path in a GNU long name that leaves the folder', () =>
  refuses(
    inspect(
      packageOf([
        tarEntry({ path: '././@LongLink', type: 'NextFileHasLongPath', body: '../evil\0' }),
        tarEntry({ path: 'ok', body: 'x' }),
      ]),
    ),
    /leads out of it: "\.\.\/evil"/,
  ),
);

/** Paths that an attacker might try. */
const hostilePath = fc
  .array(fc.constantFrom('..', '.', '', 'a', 'b ', 'C:', '\\', '~', '%2e%2e', '…', 'app.yaml'), {
    maxLength: 6,
  })
  .map((segments) => segments.join('/'));

paths('accepts no combination that leaves the folder', () => {
  fc.assert(
    fc.property(hostilePath, (path) => {
      const admitted = admittedOf(path);
      if (admitted === null) return;
      assert.ok(`${resolve('/package', admitted)}/`.startsWith('/package/'), path);
      assert.is(win32.resolve('C:\\package', admitted).indexOf('C:\\package'), 0, path);
    }),
    { numRuns: 2000 },
  );
});

const admittedOf = (path: string): string | null => {
  try {
    return createPathRules()(path);
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
};

paths.run();
