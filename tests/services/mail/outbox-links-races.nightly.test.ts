import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../../src/lib/clock.ts';
import { emptyOutbox, outboxOf } from '../../support/mails.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { ACME, appSuite, ROOT, type TestApp } from '../../support/test-app.ts';

const races = appSuite('concurrent changes of password links');

races.before.each(async ({ app }) => {
  await emptyOutbox(app);
  // Requests are throttled by the real clock.
  await app.db().deleteFrom('rate_limits').execute();
});

const request = (app: TestApp, email: string) => app.as(null).passwords.requestReset({ email });

races('let addresses change and sessions end while mails are sent', async ({ app }) => {
  await app.as(ACME).users.create({ email: 'moves-0@acme.test' });
  const root = app.as(ROOT);
  const outbox = outboxOf(app);

  for (let round = 0; round < 40; round += 1) {
    const [from, to] = [`moves-${round}@acme.test`, `moves-${round + 1}@acme.test`];
    await app.db().deleteFrom('rate_limits').execute();
    await request(app, from);
    app.clock.advance(MINUTE_MS);
    const moving = root.users.changeEmail({ email: from, new_email: to });
    // The address may have changed before.
    const ending = root.sessions
      .revokeAll({ email: from })
      .catch((error) => rejectsWith(Promise.reject(error), 'not-found'));
    await Promise.all([moving, ending, outbox.claim(5), outbox.claim(5), outbox.claim(5)]);
  }

  assert.is((await root.users.get({ email: 'moves-40@acme.test' })).is_active, true);
});

races.run();
