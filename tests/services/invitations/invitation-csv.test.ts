import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type CsvRow,
  MAX_ROWS,
  readInvitationCsv,
} from '../../../src/services/invitations/invitation-csv.ts';

const read = (file: string | Buffer, pieceBytes = 7) => {
  const bytes = Buffer.from(file);
  const chunks = async function* () {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  };
  return readInvitationCsv(chunks());
};

const NOTHING = { first_name: '', last_name: '', client: '', apps: '', is_demo_user: '', extra: '' };
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
  csv(`detects ${name} by the header, not by the cells`, async () => {
    const file = `email|extra|apps\na@b.test|"{""a"":1,""b"":"";\t,;\t""}"|sales churn\n`;

    const { rows, faults } = await read(file.replaceAll('|', delimiter));

    assert.equal(faults, []);
    assert.equal(rows, [rowOf(2, 'a@b.test', { extra: '{"a":1,"b":";\t,;\t"}', apps: 'sales churn' })]);
  });
}

csv('reads files of Excel with a byte order mark, semicolons and CRLF', async () => {
  const { rows, faults } = await read('\ufeff"email";apps\r\na@b.test;sales\r\nc@d.test;\r\n', 1);

  assert.equal(faults, []);
  assert.equal(rows, [rowOf(2, 'a@b.test', { apps: 'sales' }), rowOf(3, 'c@d.test')]);
});

csv('accepts columns in any order and case, and a file without a final line break', async () => {
  const { rows } = await read(' Apps , EMAIL \n sales , a@b.test ');

  assert.equal(rows, [rowOf(2, 'a@b.test', { apps: 'sales' })]);
});

csv('counts lines as an editor does, including quoted line breaks and empty lines', async () => {
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

csv('treats missing cells at the end of a line as empty', async () => {
  const { rows, faults } = await read('email,apps,extra\na@b.test\nc@d.test,sales,,,\n');

  assert.equal(faults, []);
  assert.equal(rows, [rowOf(2, 'a@b.test'), rowOf(3, 'c@d.test', { apps: 'sales' })]);
});

csv('refuses unknown columns by name', async () => {
  const { rows, faults } = await read('\nemail,app,is_demo\na@b.test,sales,true\n');

  assert.equal(rows, []);
  assert.equal(
    faults.map(({ line, field }) => [line, field]),
    [
      [2, 'app'],
      [2, 'is_demo'],
    ],
  );
  assert.match(
    faults[0]?.message ?? '',
    'Known columns: email, first_name, last_name, client, apps, is_demo_user, extra; initial_apps for apps.',
  );
});

for (const [what, file] of [
  ['an empty file', ''],
  ['a file of empty lines', '\n\r\n\n'],
  ['a header without it', 'apps,extra\nsales,\n'],
] as const) {
  csv(`requires the email column in ${what}`, async () => {
    const { rows, faults } = await read(file);

    assert.equal(rows, []);
    assert.equal(
      faults.map(({ field, message }) => [field, message]),
      [['email', 'This column is missing.']],
    );
  });
}

csv('takes the names of the REST interface, and names the columns of the file in errors', async () => {
  const { rows, faults, nameOf } = await read('email,client,initial_apps\na@b.test,1,"[""zylTKNVx""]"\n');
  const twice = await read('email,apps,initial_apps\na@b.test,sales,sales\n');
  const spoilt = await read(Buffer.from('email,initial_apps\na@b.test,s\xffles\n', 'latin1'));

  assert.equal(faults, []);
  assert.equal(rows, [rowOf(2, 'a@b.test', { client: '1', apps: '["zylTKNVx"]' })]);
  assert.equal([nameOf('apps'), nameOf('email'), nameOf('extra')], ['initial_apps', 'email', 'extra']);
  assert.match(twice.faults[0]?.message ?? '', 'initial_apps is the same');
  assert.is(spoilt.faults[0]?.field, 'initial_apps');
});

csv('refuses a duplicate column', async () => {
  const { faults } = await read('email,apps,Email\na@b.test,,c@d.test\n');

  assert.equal(
    faults.map(({ field, message }) => [field, message]),
    [['email', 'This column appears twice.']],
  );
});

csv('refuses a line with more cells than columns, and continues', async () => {
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
  csv(`reports the line of ${what}, after the rows before it`, async () => {
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

csv('refuses invalid UTF-8 by line and column, and does not replace it', async () => {
  const latin1 = Buffer.from('email,extra\na@b.test,"{""name"": ""Zoë""}"\nc@d.test,\n', 'latin1');

  const { rows, faults } = await read(latin1);

  assert.equal(rows, [rowOf(3, 'c@d.test')]);
  assert.equal(
    faults.map(({ line, field }) => [line, field]),
    [[2, 'extra']],
  );
});

csv('distinguishes UTF-16 from invalid UTF-8', async () => {
  const { faults } = await read(Buffer.from('\ufeffemail\na@b.test\n', 'utf16le'));

  assert.match(faults[0]?.message ?? '', 'UTF-16');
});

csv(`accepts at most ${MAX_ROWS} rows`, async () => {
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

csv('rethrows an error of the stream', async () => {
  const broken = async function* () {
    yield Buffer.from('email\na@b.test\n');
    throw new Error('the disk is gone');
  };

  const [outcome] = await Promise.allSettled([readInvitationCsv(broken())]);

  assert.is(outcome.status === 'rejected' && outcome.reason.message, 'the disk is gone');
});

csv.run();
