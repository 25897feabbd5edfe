import * as assert from 'uvu/assert';
import { errorsOf, importSuite } from '../../fixtures/django/import-suite.ts';
import { djangoUser } from '../../fixtures/django/records.ts';
import { rejectsWith } from '../../support/rejects.ts';

const fields = importSuite('mapped and dropped fields');

fields('unknown fields are refused until each is mapped or dropped', async ({ database }) => {
  const dump = [
    djangoUser('ada@example.org', { data_restrictions: { regions: ['north'] }, theme: 'dark', phone: '' }),
    djangoUser('bob@example.org', { data_restrictions: {}, theme: null, phone: null }),
  ];

  const refused = await database.importDump(dump);
  assert.equal(refused.totals.isRefused, true);
  assert.equal(
    errorsOf(refused).map(({ position, field }) => [position, field]),
    [
      [null, 'data_restrictions'],
      [null, 'theme'],
    ],
  );
  assert.is(
    errorsOf(refused)[0]?.message,
    'Would be lost; records with a value: 1. Import it with --map FIELD=data_restrictions, or leave it out with --drop data_restrictions.',
  );
  assert.equal(await database.users(), []);

  const mapping = { target: 'extra', source: { model: null, field: 'data_restrictions' } } as const;
  const accepted = await database.importDump(dump, { map: [mapping], drop: ['theme'] });
  assert.equal(
    accepted.dropped.map(({ field, message }) => [field, message]),
    [
      ['username', 'Dropped: users log in with their email address.'],
      ['groups', 'Dropped: empty in all records.'],
      ['user_permissions', 'Dropped: empty in all records.'],
      ['theme', 'Dropped.'],
      ['phone', 'Dropped: empty in all records.'],
    ],
  );
  assert.equal(accepted.totals.dropped, ['username', 'groups', 'user_permissions', 'theme', 'phone']);
  assert.equal(
    (await database.users()).map(({ extra }) => extra),
    [{ regions: ['north'] }, {}],
  );
});

fields('unknown fields with false and 0 are refused', async ({ database }) => {
  const { remarks } = await database.importDump([djangoUser('a@b.test', { is_restricted: false, level: 0 })]);

  assert.equal(
    remarks.map(({ field }) => field),
    ['is_restricted', 'level'],
  );
});

fields('groups must be dropped by name if a user has some', async ({ database }) => {
  const dump = [djangoUser('ada@example.org', { groups: [7] })];

  assert.equal(
    errorsOf(await database.importDump(dump)).map(({ field }) => field),
    ['groups'],
  );
  assert.is((await database.importDump(dump, { drop: ['groups'] })).totals.imported, 1);
});

fields('a mapped field replaces one of the same name, which must be dropped', async ({ database }) => {
  const dump = [djangoUser('ada@example.org', { extra: { old: 1 }, limits: { new: 2 } })];
  const map = [{ target: 'extra', source: { model: null, field: 'limits' } }] as const;

  assert.equal(
    errorsOf(await database.importDump(dump, { map })).map(({ field }) => field),
    ['extra'],
  );
  await database.importDump(dump, { map, drop: ['extra'] });
  assert.equal((await database.users())[0]?.extra, { new: 2 });
});

fields('dropped fields are not imported and not checked', async ({ database }) => {
  await database.importDump([djangoUser('ada@example.org', { extra: 'no object', is_staff: true })], {
    drop: ['extra', 'is_staff'],
  });
  const [ada] = await database.users();

  assert.equal([ada?.extra, ada?.is_staff], [{}, false]);
});

fields('mapped fields must exist', async ({ database }) => {
  const outcome = await database.importDump([djangoUser('ada@example.org')], {
    map: [
      { target: 'extra', source: { model: null, field: 'typo' } },
      { target: 'handle', source: { model: 'accounts.profile', field: 'nick' } },
    ],
  });

  assert.equal(errorsOf(outcome), [
    { position: null, field: 'map', message: 'No record of auth.user has a field typo.' },
    { position: null, field: 'map', message: 'No record of accounts.profile has a field nick.' },
  ]);
  assert.is(outcome.totals.imported, 0);
});

fields('a field cannot be mapped twice, nor mapped and dropped', async ({ database }) => {
  const one = { target: 'extra', source: { model: null, field: 'one' } } as const;
  const two = { target: 'extra', source: { model: null, field: 'two' } } as const;

  const twice = await rejectsWith(database.importDump([], { map: [one, two] }), 'invalid-input');
  const both = await rejectsWith(database.importDump([], { map: [one], drop: ['one'] }), 'invalid-input');
  assert.equal(twice.fields, { map: ['Maps extra twice.'] });
  assert.equal(both.fields, { drop: ['one is imported by --map.'] });
});

fields.run();
