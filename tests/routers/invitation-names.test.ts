import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, appSuite, type TestApp } from '../support/test-app.ts';

const names = appSuite('names of an invitation');

const PASSWORD = 'violet-harbor-92-kite';
const BARBARA = { first_name: 'Barbara', last_name: 'Liskov' };

const invite = async (app: TestApp, email: string, given: Partial<typeof BARBARA>) => {
  const items = [{ email, client: 1, ...given }];
  const [invitation] = await app.as(ACME).invitations.create({ items });
  const { key = '', id = 0 } = invitation ?? {};
  const { searchParams } = new URL(app.links.invitation(key));
  return { id, key, signature: searchParams.get('signature') ?? '' };
};

const namesOf = async (app: TestApp, id: number) => {
  const { first_name, last_name } = await app.as(ACME).invitations.get({ id });
  return { first_name, last_name };
};

names('are proposed to the invitee, and become those of the user if none are sent', async ({ app }) => {
  const { id, ...link } = await invite(app, 'barbara@new.test', BARBARA);
  const page = await app.as(null).invitations.preview(link);
  const { user } = await app.as(null).invitations.accept({ ...link, password: PASSWORD });

  assert.equal(await namesOf(app, id), BARBARA);
  for (const shown of [page, user])
    assert.equal({ first_name: shown?.first_name, last_name: shown?.last_name }, BARBARA);
});

names('give way to those that the invitee sends', async ({ app }) => {
  const { id, ...link } = await invite(app, 'bea@new.test', BARBARA);
  const own = { first_name: 'Bea', last_name: '' };
  const { user } = await app.as(null).invitations.accept({ ...link, ...own, password: PASSWORD });

  assert.equal([user?.first_name, user?.last_name], ['Bea', '']);
});

names('count for the rules of passwords', async ({ app }) => {
  const { id, ...link } = await invite(app, 'weak@new.test', { first_name: 'Ottokarina' });
  const attempt = app.as(null).invitations.accept({ ...link, password: 'ottokarina1' });

  assert.equal(Object.keys((await rejectsWith(attempt, 'invalid-input')).fields ?? {}), ['password']);
});

names(
  'change with a repeated invitation that states them, and stay with one that does not',
  async ({ app }) => {
    const email = 'again@new.test';
    const { id } = await invite(app, email, BARBARA);
    await invite(app, email, {});
    assert.equal(await namesOf(app, id), BARBARA);
    await invite(app, email, { first_name: 'Bea' });
    assert.equal(await namesOf(app, id), { ...BARBARA, first_name: 'Bea' });
  },
);

names('can be corrected while the invitation is pending, which is recorded without them', async ({ app }) => {
  const email = 'typo@new.test';
  const { id } = await invite(app, email, { ...BARBARA, last_name: 'Lisskov' });
  await app.as(ACME).invitations.update({ email, last_name: BARBARA.last_name });

  assert.equal(await namesOf(app, id), BARBARA);
  const [entry] = await app.as(ACME).audit.list({ target: email });
  assert.is(entry?.action, 'invitation.update');
  assert.not.match(JSON.stringify(entry), 'Liskov');
});

names('must fit', async ({ app }) => {
  const items = [{ email: 'long@new.test', client: 1, first_name: 'x'.repeat(151) }];
  const problem = await rejectsWith(app.as(ACME).invitations.create({ items }), 'invalid-input');

  assert.equal(Object.keys(problem.fields ?? {}), ['items.0.first_name']);
});

names('are proposed by the page of the link', async ({ app }) => {
  const { key, signature } = await invite(app, 'page@new.test', BARBARA);
  const { body } = await app.send(`GET !/invitation/${key}/?signature=${signature}`);

  assert.match(body, /name="first_name"[^>]*value="Barbara"/);
  assert.match(body, /name="last_name"[^>]*value="Liskov"/);
});

names.run();
