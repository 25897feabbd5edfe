import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type CsvRow,
  MAX_ROWS,
  readInvitationCsv,
} from '../../../src/services/invitations/invitation-csv.ts';

const read = (file: string | Buffer, pieceBytes = 7) => {
  const bytes = Buffer.from(file);
  const pieces = async function* () {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  };
  return readInvitationCsv(pieces());
};

const NOTHING = { apps: '', is_demo_user: '', extra: '' };
const rowOf = (line: number, email: string, cells: Partial<CsvRow['cells']> = {}): CsvRow => ({
  line,
  cells: { ...NOTHING, email, ...cells },
});

const csv = suite('readInvitationCsv');

for (const [name, delimiter] of [
  ['commas', ','],
  ['semicolons', ';'],
  ['tabs', '\t'],
] as const) {
  csv(`finds ${name} by the header, whatever the cells hold`, async () => {
    const file = `email|extra|apps\na@b.test|"{""a"":1,""b"":"";\t,;\t""}"|sales churn\n`;

    const { rows, faults } = await read(file.replaceAll('|', delimiter));

    assert.equal(faults, []);
    assert.equal(rows, [rowOf(2, 'a@b.test', { extra: '{"a":1,"b":";\t,;\t"}', apps: 'sales churn' })]);
  });
}

csv('reads the file as Excel writes it: a byte order mark, semicolons, CRLF', async () => {
  const { rows, faults } = await read('\ufeff"email";apps\r\na@b.test;sales\r\nc@d.test;\r\n', 1);

  assert.equal(faults, []);
  assert.equal(rows, [rowOf(2, 'a@b.test', { apps: 'sales' }), rowOf(3, 'c@d.test')]);
});

csv('takes columns in any order and any case, and a file without a last line end', async () => {
  const { rows } = await read(' Apps , EMAIL \n sales , a@b.test ');

  assert.equal(rows, [rowOf(2, 'a@b.test', { apps: 'sales' })]);
});

csv('counts lines as an editor does, in quoted cells and by empty lines as well', async () => {
  const extra = '"{\r\n""a"":\n1}"';

  const { rows } = await read(`\r\nemail,extra\r\n\r\na@b.test,${extra}\r\n,\r\n\r\nc@d.test,\r\n`);

  assert.equal(
    rows.map(({ line, cells }) => [line, cells.email]),
    [
      [4, 'a@b.test'],
      [9, 'c@d.test'],
    ],
  );
});

csv('takes a short line for one that says nothing of the last columns', async () => {
  const { rows, faults } = await read('email,apps,extra\na@b.test\nc@d.test,sales,,,\n');

  assert.equal(faults, []);
  assert.equal(rows, [rowOf(2, 'a@b.test'), rowOf(3, 'c@d.test', { apps: 'sales' })]);
});

csv('refuses columns that it does not know, by their names', async () => {
  const { rows, faults } = await read('\nemail,app,is_demo\na@b.test,sales,true\n');

  assert.equal(rows, []);
  assert.equal(
    faults.map(({ line, field }) => [line, field]),
    [
      [2, 'app'],
      [2, 'is_demo'],
    ],
  );
  assert.match(faults[0]?.message ?? '', 'Known columns: email, apps, is_demo_user, extra.');
});

for (const [what, file] of [
  ['an empty file', ''],
  ['a file of empty lines', '\n\r\n\n'],
  ['a header without it', 'apps,extra\nsales,\n'],
] as const) {
  csv(`misses the column of addresses in ${what}`, async () => {
    const { rows, faults } = await read(file);

    assert.equal(rows, []);
    assert.equal(
      faults.map(({ field, message }) => [field, message]),
      [['email', 'This column is missing.']],
    );
  });
}

csv('refuses a column that is there twice', async () => {
  const { faults } = await read('email,apps,Email\na@b.test,,c@d.test\n');

  assert.equal(
    faults.map(({ field, message }) => [field, message]),
    [['email', 'This column appears twice.']],
  );
});

csv('refuses a line with more cells than the header has columns, and reads on', async () => {
  const { rows, faults } = await read('email,extra\na@b.test,{a:1,b:2},y\nc@d.test,\n');

  assert.equal(rows, [rowOf(3, 'c@d.test')]);
  assert.equal(
    faults.map(({ line, email }) => [line, email]),
    [[2, 'a@b.test']],
  );
  assert.match(faults[0]?.message ?? '', 'more fields than the header');
});

for (const [what, line, reason] of [
  ['a quote inside a cell', 'c@d.test,{"a": 1}', 'in the middle of a field'],
  ['something behind a quoted cell', 'c@d.test,"{}"x', 'in the middle of a field'],
  ['a quote that never ends', 'c@d.test,"{}', 'never closed'],
  ['a quote that swallows too much', `c@d.test,"${'x\n'.repeat(300_000)}"`, 'A quote may be missing'],
] as const) {
  csv(`tells the line of ${what}, after what stands before it`, async () => {
    const { rows, faults } = await read(`email,extra\n"a@b.test",\n${line}\ne@f.test,\n`, 4096);

    assert.equal(rows, [rowOf(2, 'a@b.test')]);
    assert.equal(
      faults.map((fault) => fault.line),
      [3],
    );
    assert.match(faults[0]?.message ?? '', reason);
    assert.match(faults[0]?.message ?? '', 'The rest of the file was not read.');
  });
}

csv('refuses bytes that are no UTF-8 by line and column, rather than replace them', async () => {
  const latin1 = Buffer.from('email,extra\na@b.test,"{""name"": ""Zoë""}"\nc@d.test,\n', 'latin1');

  const { rows, faults } = await read(latin1);

  assert.equal(rows, [rowOf(3, 'c@d.test')]);
  assert.equal(
    faults.map(({ line, field }) => [line, field]),
    [[2, 'extra']],
  );
});

csv('tells a file in UTF-16 from one that is broken', async () => {
  const { faults } = await read(Buffer.from('\ufeffemail\na@b.test\n', 'utf16le'));

  assert.match(faults[0]?.message ?? '', 'UTF-16');
});

csv(`takes ${MAX_ROWS} rows and no more`, async () => {
  const rows = 'a@b.test\n'.repeat(MAX_ROWS);

  const most = await read(`email\n${rows}`, 65_536);
  const more = await read(`email\n${rows}a@b.test\n`, 65_536);

  assert.is(most.rows.length, MAX_ROWS);
  assert.equal(most.faults, []);
  assert.equal(
    more.faults.map(({ line }) => line),
    [MAX_ROWS + 2],
  );
});

csv('passes on a failure to read, such as of a disk', async () => {
  const broken = async function* () {
    yield Buffer.from('email\na@b.test\n');
    throw new Error('the disk is gone');
  };

  const [outcome] = await Promise.allSettled([readInvitationCsv(broken())]);

  assert.is(outcome.status === 'rejected' && outcome.reason.message, 'the disk is gone');
});

csv.run();
