import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, appSuite, DEMO_PASSWORD, ROOT } from '../support/test-app.ts';

const domains = appSuite('internationalized domains of email addresses');

const UNICODE = 'ada@bücher.example';
const ASCII = 'ada@xn--bcher-kva.example';

domains('identify the same user in both forms when creating, finding and logging in', async ({ app }) => {
  const user = await app.as(ACME).users.create({ email: 'Ada@Bücher.example' });
  const { password_hash: hash } = await app
    .db()
    .selectFrom('users')
    .select('password_hash')
    .where('email', '=', ACME)
    .executeTakeFirstOrThrow();
  await app.db().updateTable('users').set({ password_hash: hash }).where('email', '=', ASCII).execute();

  assert.is(user.email, ASCII);
  for (const email of [UNICODE, ASCII, 'ADA@BÜCHER.example']) {
    assert.is((await app.as(ACME).users.get({ email })).email, ASCII);
    assert.match(
      (await app.as(null).tokens.create({ username: email, password: DEMO_PASSWORD })).token,
      /^\w{40}$/,
    );
    await rejectsWith(app.as(ACME).users.create({ email }), 'user-exists');
  }
  const { statusCode, body } = await app.send(`GET /jb/users/${encodeURIComponent(UNICODE)}/`, { as: ACME });
  assert.equal([statusCode, JSON.parse(body).email], [200, ASCII]);
});

domains('share one counter of failed logins', async ({ app }) => {
  const logIn = (username: string) => app.as(null).tokens.create({ username, password: 'a wrong one' });
  for (let tries = 0; tries < 5; tries += 1) {
    await rejectsWith(logIn('eve@bücher.example'), 'invalid-credentials');
    await rejectsWith(logIn('eve@xn--bcher-kva.example'), 'invalid-credentials');
  }

  await rejectsWith(logIn('eve@BÜCHER.example'), 'throttled');
});

domains('are converted to ASCII in mails and invitations', async ({ app }) => {
  const [invited] = await app
    .as(ACME)
    .invitations.create({ items: [{ email: 'guest@bücher.example', client: 1 }] });
  const again = await app
    .as(ACME)
    .clients.invite({ id: 1, email: 'guest@xn--bcher-kva.example', initial_apps: [] });
  const recipients = await app
    .db()
    .selectFrom('outbox_mails')
    .select('recipient')
    .where('recipient', 'like', 'guest@%')
    .execute();

  assert.equal([invited?.email, again.email], Array(2).fill('guest@xn--bcher-kva.example'));
  assert.equal([...new Set(recipients.map(({ recipient }) => recipient))], [again.email]);
});

domains('are converted to ASCII in a sender address, which keeps its case', async ({ app }) => {
  const { default_from_email: sender } = await app
    .as(ROOT)
    .clients.update({ id: 1, default_from_email: 'Hello@bücher.example' });

  assert.is(sender, 'Hello@xn--bcher-kva.example');
});

domains('require an ASCII local part', async ({ app }) => {
  const { fields } = await rejectsWith(
    app.as(ACME).users.create({ email: 'jörg@example.org' }),
    'invalid-input',
  );

  assert.match(fields?.email?.join() ?? '', 'only ASCII characters before the @');
});

domains.run();
