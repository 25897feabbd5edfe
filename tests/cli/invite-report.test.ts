import { readFile, stat } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { shown, sortByLine, summarizeErrors, writeReport } from '../../src/cli/reports.ts';
import type { CsvFault } from '../../src/services/invitations/invitation-csv.ts';
import { makeScratchFolder } from '../support/files.ts';

const faultOf = (line: number, change: Partial<CsvFault> = {}): CsvFault => ({
  line,
  email: 'eve@acme.test',
  field: 'email',
  message: 'Must be an email address.',
  ...change,
});

const report = suite('report of refused invitations');

report('contains every error by line, and no cell that a spreadsheet would run', async () => {
  await using folder = await makeScratchFolder();
  const file = folder.join('report.csv');

  await writeReport(file, [
    faultOf(2, { email: '=HYPERLINK("http://x.test","you@acme.test")' }),
    faultOf(3, { email: '+1\n2', field: 'apps', message: '@SUM(1)' }),
    faultOf(4, { email: '', field: '', message: 'x'.repeat(2000) }),
  ]);

  const quoted = `"'=HYPERLINK(""http://x.test"",""you@acme.test"")"`;
  assert.equal((await readFile(file, 'utf8')).split('\r\n'), [
    'line,email,field,message',
    `2,${quoted},email,Must be an email address.`,
    `3,"'+1\n2",apps,'@SUM(1)`,
    `4,,,${'x'.repeat(500)}…`,
    '',
  ]);
});

report('is readable only by its owner, because it contains addresses', async () => {
  await using folder = await makeScratchFolder();

  await writeReport(folder.join('report.csv'), [faultOf(2)]);

  assert.is((await stat(folder.join('report.csv'))).mode & 0o777, 0o600);
});

report('is sorted by line and column', () => {
  const fields = ['extra', 'email', 'apps'];

  const ordered = sortByLine([faultOf(9), ...fields.map((field) => faultOf(3, { field }))]);

  assert.equal(
    ordered.map(({ line, field }) => `${line} ${field}`),
    ['3 email', '3 apps', '3 extra', '9 email'],
  );
});

report('shows the first 20 errors and the number of further ones', () => {
  const shown = summarizeErrors(Array.from({ length: 23 }, (_, index) => faultOf(index + 2)));

  assert.is(shown.length, 21);
  assert.is(shown[19], 'line 21: eve@acme.test: email: Must be an email address.');
  assert.is(shown[20], '… and 3 more.');
});

report('removes control characters of cells', () => {
  assert.is(shown('a\x1b[2J\r\nb\u202ec'), 'a\ufffd[2J\ufffd\ufffdb\ufffdc');
  assert.is(shown('\u{1f600}'.repeat(500)).length, 121);
});

report.run();
