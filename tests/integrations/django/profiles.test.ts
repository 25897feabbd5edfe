import * as assert from 'uvu/assert';
import { errorsOf, importSuite } from '../../fixtures/django/import-suite.ts';
import { djangoUser } from '../../fixtures/django/records.ts';

const fields = importSuite('profiles and models of imported users');

const PROFILE = [{ target: 'extra', source: { model: 'accounts.profile', field: 'settings' } }] as const;
const profile = (user: unknown, settings: unknown, fieldName = 'user') => ({
  model: 'accounts.Profile',
  pk: 1,
  fields: { [fieldName]: user, settings },
});

fields('fields can come from a profile before or after its user', async ({ database }) => {
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

fields('profiles without an unambiguous user are refused', async ({ database }) => {
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
    errorsOf(outcome)
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

fields('fields of profiles are validated like those of users', async ({ database }) => {
  const ada = djangoUser('ada@a.test');
  const outcome = await database.importDump([profile(ada.pk, 'no object'), ada], { map: PROFILE });

  assert.equal(errorsOf(outcome), [{ position: 2, field: 'extra', message: 'Must be an object.' }]);
});

fields('fields determine the user model by default', async ({ database }) => {
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
