import { Buffer } from 'node:buffer';
import * as assert from 'uvu/assert';
import { importSuite } from '../../fixtures/django/import-suite.ts';
import { djangoUser } from '../../fixtures/django/records.ts';

const faults = importSuite('invalid dumps');

const good = djangoUser('good@example.org');
const text = JSON.stringify([good]);

const WRONG_FILES: Record<string, string | Buffer> = {
  'is empty': '',
  'is no JSON': 'email,password\ngood@example.org,x\n',
  'has no end': text.slice(0, -1),
  'ends within a record': text.slice(0, 80),
  'goes on after its end': `${text}]`,
  'holds two arrays': `${text}\n${text}`,
  'has a comma too many': `${text.slice(0, -1)},]`,
  'has a comma too few': `${text.slice(0, -1)} ${text.slice(1)}`,
  'is an object of records': `{"users":${JSON.stringify(good)}}`,
  'is one record': JSON.stringify(good),
  'is a number': '5',
  'is null': 'null',
  'has no record': '[]',
  'has records of other models alone': JSON.stringify([{ ...good, model: 'auth.group' }]),
  'is UTF-16': Buffer.from(`\ufeff${text}`, 'utf16le'),
  'is Latin-1': Buffer.from(JSON.stringify([djangoUser('x@example.org', { first_name: 'Zoé' })]), 'latin1'),
  'is nested without end': '['.repeat(100_000),
};

for (const [what, file] of Object.entries(WRONG_FILES)) {
  faults(`are refused if the file ${what}`, async ({ database }) => {
    const before = await database.contents();

    const { totals, remarks } = await database.importDump(file);

    assert.is(totals.isRefused, true);
    assert.is(totals.imported, 0);
    const [fault, ...others] = remarks;
    assert.equal([fault?.position, fault?.outcome, fault?.field], [null, 'faulty', 'file']);
    assert.equal(others, []);
    assert.equal(await database.contents(), before);
  });
}

faults('are refused at a record larger than 16 MiB', async ({ database }) => {
  const large = djangoUser('large@example.org', { biography: 'x'.repeat(17 * 2 ** 20) });

  const { totals, remarks } = await database.importDump([good, large, good], { drop: ['biography'] });

  assert.equal(
    remarks.map(({ message }) => message),
    ['Record 2 is larger than 16 MiB.'],
  );
  assert.is(totals.isRefused, true);
});

faults('do not include dumps with a byte order mark and any text', async ({ database }) => {
  const name = 'Zoé 🔑 "quoted" \\ \u2028';
  const dump = JSON.stringify([djangoUser('zoe@example.org', { first_name: name })], null, 2);

  const { remarks } = await database.importDump(`\ufeff${dump}\n`);

  assert.equal(remarks, []);
  assert.is((await database.users())[0]?.first_name, name);
});

const LONG = 'x'.repeat(151);

/** field → error */
const WRONG_FIELDS: [string, unknown][] = [
  ['email', `${'x'.repeat(250)}@example.org`],
  ['email', 'a@b@example.org'],
  ['email', 'nul\0@example.org'],
  ['email', 7],
  ['first_name', LONG],
  ['last_name', LONG],
  ['first_name', 'nul \0'],
  ['last_name', 'half \ud800'],
  ['first_name', 7],
  ['is_active', 'true'],
  ['is_staff', 1],
  ['is_superuser', null],
  ['password', 7],
  ['password', 'x'.repeat(513)],
  ['password', 'md5$\0'],
  ['last_login', '2024-01-02T03:04:05'],
  ['last_login', '2024-02-30T03:04:05Z'],
  ['date_joined', '0000-01-01T00:00:00Z'],
  ['date_joined', '0001-01-01T00:00:00+14:00'],
  ['date_joined', '9999-12-31T23:59:59-14:00'],
  ['date_joined', 'yesterday'],
  ['date_joined', 1700000000],
];

faults('are reported with all errors, by record, key and field', async ({ database }) => {
  const records = WRONG_FIELDS.map(([field, value], index) =>
    djangoUser(`user${index}@example.org`, { username: 'no address', [field]: value }),
  );

  const { totals, remarks } = await database.importDump([good, ...records, good]);

  assert.equal(
    remarks.map(({ position, pk, field }) => [position, pk, field]),
    [
      ...records.map(({ pk }, index) => [index + 2, String(pk), WRONG_FIELDS[index]?.[0]]),
      [records.length + 2, String(good.pk), 'email'],
    ],
  );
  assert.match(remarks.at(-1)?.message ?? '', 'Record 1 has the same address.');
  assert.is(totals.faulty, WRONG_FIELDS.length + 1);
  assert.equal(await database.users(), []);
});

faults('may have elements that are no records', async ({ database }) => {
  const odd = [
    null,
    5,
    'x',
    [],
    {},
    { model: 5 },
    { model: 'auth.user' },
    { model: 'auth.user', fields: [] },
  ];

  const { totals, remarks } = await database.importDump(JSON.stringify([good, ...odd]));

  assert.is(totals.faulty, odd.length);
  assert.equal(
    remarks.map(({ position }) => position),
    odd.map((_element, index) => index + 2),
  );
});

faults('may have addresses that differ only in case, at any distance', async ({ database }) => {
  const others = Array.from({ length: 2500 }, (_, index) => djangoUser(`other${index}@example.org`));

  const { totals, remarks } = await database.importDump([good, ...others, djangoUser('GOOD@Example.org')]);

  assert.equal(
    remarks.map(({ position, message }) => [position, message]),
    [[2502, 'Record 1 has the same address.']],
  );
  assert.is(totals.faulty, 1);
  assert.equal(await database.users(), []);
});

faults('are reported without passwords and hashes', async ({ database }) => {
  const password = 'pbkdf2_sha256$1$salt$secret\0';
  const { remarks } = await database.importDump([
    djangoUser('x@example.org', { password, first_name: LONG }),
  ]);

  assert.is(remarks.length, 2);
  assert.not.ok(JSON.stringify(remarks).includes('secret'));
});

faults.run();
