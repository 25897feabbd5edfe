import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, ROOT } from '../support/test-app.ts';

const profile = appSuite('profile.update');

const AVATAR = 'https://images.acme.test/ada.png';

profile('changes names, color and avatar of the caller, and nothing else', async ({ app }) => {
  const before = await app.as(ADA).users.get({ email: ADA });
  const changes = { first_name: 'Augusta', last_name: 'King', profile_avatar: AVATAR };
  const after = await app.as(ADA).profile.update({ ...changes, profile_color: '2A9D8F' });

  assert.equal(after, { ...before, ...changes, profile_color: '2a9d8f' });
  assert.equal(await app.as(ADA).users.get({ email: ADA }), after);
});

profile('gives back the generated avatar', async ({ app }) => {
  await app.as(ADA).profile.update({ profile_avatar: AVATAR });
  const { profile_avatar } = await app.as(ADA).profile.update({ profile_avatar: null });

  assert.match(profile_avatar, /\/avatars\/a\.svg$/);
});

profile('is audited for the clients of the person, with values of names only', async ({ app }) => {
  const before = await app.as(ADA).users.get({ email: ADA });
  await app.as(ADA).profile.update({ last_name: 'Byron', profile_color: 'd6604d' });
  const [entry] = await app.as(ACME).audit.list({ target: ADA, action: 'user.update' });

  assert.is(entry?.actor, ADA);
  assert.equal(entry?.details, {
    last_name: { from: before.last_name, to: 'Byron' },
    profile_color: { from: null, to: null },
  });
});

profile('records nothing if nothing changes', async ({ app }) => {
  const { first_name } = await app.as(ADA).users.get({ email: ADA });
  const entries = () => app.as(ROOT).audit.list({ target: ADA, action: 'user.update', limit: 100 });
  const before = (await entries()).length;
  await app.as(ADA).profile.update({ first_name });

  assert.is((await entries()).length, before);
});

profile('refuses other colors and addresses', async ({ app }) => {
  for (const [field, value] of [
    ['profile_color', '#2a9d8f'],
    ['profile_color', '2a9d8'],
    ['profile_avatar', 'http://images.acme.test/ada.png'],
    ['profile_avatar', 'javascript:alert(1)'],
    ['profile_avatar', `https://images.acme.test/${'a'.repeat(2048)}`],
  ] as const) {
    const refused = await rejectsWith(app.as(ADA).profile.update({ [field]: value }), 'invalid-input');
    assert.equal(Object.keys(refused.fields ?? {}), [field], value);
  }
});

profile('needs a login', async ({ app }) => {
  await rejectsWith(app.as(null).profile.update({}), 'unauthenticated');
});

profile.run();
