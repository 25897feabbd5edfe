import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ImportDatabase, openImportDatabase } from '../../fixtures/django/import-database.ts';
import { djangoUser } from '../../fixtures/django/records.ts';
import { rejectsWith } from '../../support/rejects-with.ts';

const fields = suite<{ database: ImportDatabase }>('fields of imported users');

fields.before(async (context) => {
  context.database = await openImportDatabase();
});
fields.after(({ database }) => database.close());
fields.before.each(async ({ database }) => {
  await database.db().deleteFrom('users').execute();
});

const faultsOf = ({ remarks }: Awaited<ReturnType<ImportDatabase['importDump']>>) =>
  remarks.map(({ position, field, message }) => ({ position, field, message }));

fields('of the same name are imported', async ({ database }) => {
  const given = {
    extra: { regions: ['north'], nested: { deep: [null, 1.5, ''] } },
    is_demo_user: true,
    handle: 'The Countess',
    profile_avatar: 'https://cdn.example.org/ada.png',
  };
  await database.importDump([
    djangoUser('ada@example.org', {
      ...given,
      profile_color: '#1F77B4',
      last_activated: '2021-01-02T03:04:05.678Z',
      last_deactivated: '2020-01-02T03:04:05+01:00',
      last_password_set: '2022-01-02T03:04:05Z',
    }),
  ]);
  const [ada] = await database.users();

  assert.equal(
    {
      extra: ada?.extra,
      is_demo_user: ada?.is_demo_user,
      handle: ada?.handle,
      profile_avatar: ada?.profile_avatar,
    },
    given,
  );
  assert.is(ada?.profile_color, '1f77b4');
  assert.equal(
    [ada?.last_activated, ada?.last_deactivated, ada?.last_password_set],
    ['2021-01-02T03:04:05.678Z', '2020-01-02T02:04:05.000Z', '2022-01-02T03:04:05.000Z'].map(
      (time) => new Date(time),
    ),
  );
});

fields('get the defaults of a new user where they are null or empty', async ({ database }) => {
  const empty = { extra: null, handle: '', profile_color: null, profile_avatar: '', last_password_set: null };
  const { remarks } = await database.importDump([djangoUser('ada@example.org', empty)]);
  const [ada] = await database.users();

  assert.equal(remarks, []);
  assert.equal([ada?.extra, ada?.handle, ada?.profile_avatar], [{}, '@ada', null]);
  assert.match(ada?.profile_color ?? '', /^[0-9a-f]{6}$/);
  assert.equal(ada?.last_password_set, database.clock.now());
});

fields('that nothing imports refuse the dump, until each is mapped or dropped', async ({ database }) => {
  const dump = [
    djangoUser('ada@example.org', { data_restrictions: { regions: ['north'] }, theme: 'dark', phone: '' }),
    djangoUser('bob@example.org', { data_restrictions: {}, theme: null, phone: null }),
  ];

  const refused = await database.importDump(dump);
  assert.equal(refused.totals.isRefused, true);
  assert.equal(
    faultsOf(refused).map(({ position, field }) => [position, field]),
    [
      [null, 'data_restrictions'],
      [null, 'theme'],
    ],
  );
  assert.is(
    faultsOf(refused)[0]?.message,
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

fields('false and 0 are values that would be lost', async ({ database }) => {
  const { remarks } = await database.importDump([djangoUser('a@b.test', { is_restricted: false, level: 0 })]);

  assert.equal(
    remarks.map(({ field }) => field),
    ['is_restricted', 'level'],
  );
});

fields('groups have to be dropped by name where a user has some', async ({ database }) => {
  const dump = [djangoUser('ada@example.org', { groups: [7] })];

  assert.equal(
    faultsOf(await database.importDump(dump)).map(({ field }) => field),
    ['groups'],
  );
  assert.is((await database.importDump(dump, { drop: ['groups'] })).totals.imported, 1);
});

fields('of the same name make room for one that is mapped', async ({ database }) => {
  const dump = [djangoUser('ada@example.org', { extra: { old: 1 }, limits: { new: 2 } })];
  const map = [{ target: 'extra', source: { model: null, field: 'limits' } }] as const;

  assert.equal(
    faultsOf(await database.importDump(dump, { map })).map(({ field }) => field),
    ['extra'],
  );
  await database.importDump(dump, { map, drop: ['extra'] });
  assert.equal((await database.users())[0]?.extra, { new: 2 });
});

fields('that are dropped are not imported, whatever is in them', async ({ database }) => {
  await database.importDump([djangoUser('ada@example.org', { extra: 'no object', is_staff: true })], {
    drop: ['extra', 'is_staff'],
  });
  const [ada] = await database.users();

  assert.equal([ada?.extra, ada?.is_staff], [{}, false]);
});

fields('that are mapped and not there refuse the dump', async ({ database }) => {
  const outcome = await database.importDump([djangoUser('ada@example.org')], {
    map: [
      { target: 'extra', source: { model: null, field: 'typo' } },
      { target: 'handle', source: { model: 'accounts.profile', field: 'nick' } },
    ],
  });

  assert.equal(faultsOf(outcome), [
    { position: null, field: 'map', message: 'No record of auth.user has a field typo.' },
    { position: null, field: 'map', message: 'No record of accounts.profile has a field nick.' },
  ]);
  assert.is(outcome.totals.imported, 0);
});

fields('cannot be mapped twice, nor both mapped and dropped', async ({ database }) => {
  const one = { target: 'extra', source: { model: null, field: 'one' } } as const;
  const two = { target: 'extra', source: { model: null, field: 'two' } } as const;

  const twice = await rejectsWith(database.importDump([], { map: [one, two] }), 'invalid-input');
  const both = await rejectsWith(database.importDump([], { map: [one], drop: ['one'] }), 'invalid-input');
  assert.equal(twice.fields, { map: ['Maps extra twice.'] });
  assert.equal(both.fields, { drop: ['one is imported by --map.'] });
});

fields('with bad values are told with their record', async ({ database }) => {
  const bad: [string, unknown][] = [
    ['extra', []],
    ['extra', '{"json": "in a text"}'],
    ['extra', { large: 'x'.repeat(65_536) }],
    ['handle', 7],
    ['handle', ' '],
    ['handle', 'x'.repeat(65)],
    ['profile_color', 'blue'],
    ['profile_color', '#12345'],
    ['profile_avatar', 'avatars/ada.png'],
    ['profile_avatar', 'javascript:alert(1)'],
    ['is_demo_user', 'true'],
    ['is_demo_user', null],
    ['last_activated', '2020-01-01'],
    ['last_deactivated', 5],
    ['last_password_set', 'never'],
  ];
  const outcome = await database.importDump(
    bad.map(([field, value], index) => djangoUser(`user${index}@example.org`, { [field]: value })),
  );

  assert.equal(
    faultsOf(outcome).map(({ position, field }) => [position, field]),
    bad.map(([field], index) => [index + 1, field]),
  );
  for (const { message } of outcome.remarks) assert.match(message, /^Must .*\.$/, 'says what it must be');
});

fields('handle must be unique in the dump, and among users of Steward', async ({ database }) => {
  const users = [djangoUser('here@example.org', { handle: '@here' })];
  await database.importDump(users);

  const again = await database.importDump([
    ...users,
    djangoUser('one@example.org', { handle: '@one' }),
    djangoUser('two@example.org', { handle: '@one' }),
  ]);
  const taken = await database.importDump([djangoUser('three@example.org', { handle: '@here' })]);

  assert.equal(faultsOf(again), [{ position: 3, field: 'handle', message: 'Record 2 has the same handle.' }]);
  assert.equal(faultsOf(taken), [
    { position: 1, field: 'handle', message: 'Another user of Steward has the handle @here.' },
  ]);
  assert.equal([taken.totals.faulty, taken.totals.imported, taken.totals.isRefused], [1, 0, true]);
  assert.is((await database.importDump(users)).totals.existing, 1, 'of oneself is no clash');
});

fields('handle that is made up leaves those of later records alone', async ({ database }) => {
  await database.importDump([
    djangoUser('ada@a.test'),
    djangoUser('ada@b.test'),
    djangoUser('grace@b.test', { handle: '@ada' }),
  ]);

  assert.equal(
    (await database.users()).map(({ handle }) => handle),
    ['@ada2', '@ada3', '@ada'],
  );
});

fields('name the same user by both forms of an internationalized domain', async ({ database }) => {
  const { totals, remarks } = await database.importDump([
    djangoUser('Ada@Bücher.example'),
    djangoUser('ada@xn--bcher-kva.example'),
  ]);
  assert.equal([totals.faulty, remarks[0]?.message], [1, 'Record 1 has the same address.']);

  await database.importDump([djangoUser('Ada@Bücher.example')]);
  assert.is((await database.users())[0]?.email, 'ada@xn--bcher-kva.example');
});

const PROFILE = [{ target: 'extra', source: { model: 'accounts.profile', field: 'settings' } }] as const;
const profile = (user: unknown, settings: unknown, fieldName = 'user') => ({
  model: 'accounts.Profile',
  pk: 1,
  fields: { [fieldName]: user, settings },
});

fields('can come from a profile that refers to the user, before or after it', async ({ database }) => {
  const [ada, bob, eve] = [djangoUser('ada@a.test'), djangoUser('bob@a.test'), djangoUser('eve@a.test')];
  const { remarks } = await database.importDump(
    [
      profile(bob.pk, { of: 'bob' }),
      ada,
      bob,
      eve,
      profile(String(ada.pk), { of: 'ada' }),
      profile(null, {}),
    ],
    { map: PROFILE },
  );

  assert.equal(remarks, []);
  assert.equal(
    (await database.users()).map(({ extra }) => extra),
    [{ of: 'ada' }, { of: 'bob' }, {}],
  );
});

fields('of profiles refuse the dump where it is not clear whose they are', async ({ database }) => {
  const ada = djangoUser('ada@a.test');
  const { pk: _pk, ...keyless } = djangoUser('bob@a.test');
  const outcome = await database.importDump(
    [
      ada,
      keyless,
      profile(['ada'], {}),
      profile(ada.pk, {}, 'owner'),
      profile(ada.pk, {}),
      profile(ada.pk, { other: 1 }),
    ],
    { map: PROFILE },
  );

  assert.equal(
    faultsOf(outcome)
      .map(({ position, field }) => [position, field])
      .sort(),
    [
      [2, 'pk'],
      [3, 'user'],
      [4, 'user'],
      [6, 'user'],
    ],
  );
  assert.equal(await database.users(), []);
});

fields('of profiles are checked as those of users are', async ({ database }) => {
  const ada = djangoUser('ada@a.test');
  const outcome = await database.importDump([profile(ada.pk, 'no object'), ada], { map: PROFILE });

  assert.equal(faultsOf(outcome), [{ position: 2, field: 'extra', message: 'Must be an object.' }]);
});

fields('decide which model is that of users, where none is named', async ({ database }) => {
  const user = { ...djangoUser('ada@a.test'), model: 'accounts.User' };
  const other = { model: 'mail.account', pk: 1, fields: { password: 'x', from_email: 'a@b.test' } };
  const none = { model: 'auth.group', pk: 1, fields: { name: 'Staff' } };

  const found = await database.importDump([none, user], { model: null });
  const several = await database.importDump([user, other, other], { model: null });
  const nothing = await database.importDump([none], { model: null });
  const broken = await database.importDump('[{', { model: null });

  assert.equal([found.totals.model, found.totals.imported], ['accounts.user', 1]);
  assert.equal(
    [several, nothing, broken].map(({ totals, remarks }) => [
      totals.isRefused,
      remarks.map((r) => r.message).join(),
    ]),
    [
      [
        true,
        'Several models have passwords: accounts.user (records: 1), mail.account (records: 2). Choose one with --model.',
      ],
      [
        true,
        'There is no user model: no record has a password, and a field for an email address or a username.',
      ],
      [true, 'Invalid or truncated JSON (after record 0).'],
    ],
  );
});

fields.run();
