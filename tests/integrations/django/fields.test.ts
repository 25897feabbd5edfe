import * as assert from 'uvu/assert';
import { errorsOf, importSuite } from '../../fixtures/django/import-suite.ts';
import { djangoUser } from '../../fixtures/django/records.ts';

const fields = importSuite('fields of imported users');

fields('are imported if Steward has a field of the same name', async ({ database }) => {
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

fields('have the defaults of a new user if they are null or empty', async ({ database }) => {
  const empty = { extra: null, handle: '', profile_color: null, profile_avatar: '', last_password_set: null };
  const { remarks } = await database.importDump([djangoUser('ada@example.org', empty)]);
  const [ada] = await database.users();

  assert.equal(remarks, []);
  assert.equal([ada?.extra, ada?.handle, ada?.profile_avatar], [{}, '@ada', null]);
  assert.match(ada?.profile_color ?? '', /^[0-9a-f]{6}$/);
  assert.equal(ada?.last_password_set, database.clock.now());
});

fields('keep the digits of extra, also as JSON in a text', async ({ database }) => {
  const [id, other] = ['1546130668394913822', '-1546130668394913822'];
  const dump = [
    djangoUser('ada@example.org', { extra: { tenant: BigInt(id) } }),
    djangoUser('bob@example.org', { extra: `{"tenant": ${other}}` }),
    djangoUser('eve@example.org', { extra: '' }),
  ];
  const { remarks } = await database.importDump(dump);

  assert.equal(remarks, []);
  assert.equal(
    (await database.users()).map(({ extra }) => extra),
    [{ tenant: BigInt(id) }, { tenant: BigInt(other) }, {}],
  );
});

fields('are reported with their record if their values are invalid', async ({ database }) => {
  const bad: [string, unknown][] = [
    ['extra', []],
    ['extra', '["json in a text"]'],
    ['extra', '{"json": '],
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
    errorsOf(outcome).map(({ position, field }) => [position, field]),
    bad.map(([field], index) => [index + 1, field]),
  );
  for (const { message } of outcome.remarks) assert.match(message, /^Must .*\.$/, 'says what it must be');
});

fields('have unique handles in the dump and among users of Steward', async ({ database }) => {
  const users = [djangoUser('here@example.org', { handle: '@here' })];
  await database.importDump(users);

  const again = await database.importDump([
    ...users,
    djangoUser('one@example.org', { handle: '@one' }),
    djangoUser('two@example.org', { handle: '@one' }),
  ]);
  const taken = await database.importDump([djangoUser('three@example.org', { handle: '@here' })]);

  assert.equal(errorsOf(again), [{ position: 3, field: 'handle', message: 'Record 2 has the same handle.' }]);
  assert.equal(errorsOf(taken), [
    { position: 1, field: 'handle', message: 'Another user of Steward has the handle @here.' },
  ]);
  assert.equal([taken.totals.faulty, taken.totals.imported, taken.totals.isRefused], [1, 0, true]);
  assert.is(
    (await database.importDump(users)).totals.existing,
    1,
    'the handle of the same user is no conflict',
  );
});

fields('get handles that do not conflict with those of later records', async ({ database }) => {
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

fields('identify the same user by both forms of an internationalized domain', async ({ database }) => {
  const { totals, remarks } = await database.importDump([
    djangoUser('Ada@Bücher.example'),
    djangoUser('ada@xn--bcher-kva.example'),
  ]);
  assert.equal([totals.faulty, remarks[0]?.message], [1, 'Record 1 has the same address.']);

  await database.importDump([djangoUser('Ada@Bücher.example')]);
  assert.is((await database.users())[0]?.email, 'ada@xn--bcher-kva.example');
});

fields.run();
