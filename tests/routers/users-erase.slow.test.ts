import * as assert from 'uvu/assert';
import { dayOf } from '../../src/services/apps/usage-windows.ts';
import { createAudit, NO_ORIGIN } from '../../src/services/audit/audit.ts';
import { eraseAddress, finishErasures } from '../../src/services/data-rights/erasure.ts';
import { createErasureKeys } from '../../src/services/usage/erasure-keys.ts';
import { addPerson, erase, PERSON, rowsWith, TRACES } from '../support/person.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GRACE, IDLE, ROOT, SECRET_KEY } from '../support/test-app.ts';
import { rollupDifferences, SALES } from '../support/usage.ts';

const erasing = appSuite('users.erase');

erasing('leaves no trace of a person with 10,000 entries in any table, and keeps counts', async ({ app }) => {
  await addPerson(app, { entries: 10_000, audited: 10_000 });
  const before = await app.as(ROOT).users.previewErasure({ email: PERSON });
  const statsBefore = await app.as(ROOT).usage.series({ app_id: SALES, window: 90 });

  const { pseudonym } = await erase(app);

  assert.is(before.usage_entries, 10_000);
  assert.equal(await rowsWith(app, TRACES), []);
  assert.equal(await app.as(ROOT).usage.series({ app_id: SALES, window: 90 }), statsBefore);
  const { items } = await app.as(ROOT).usage.list({ app_id: SALES, email: pseudonym, limit: 1 });
  assert.equal([items[0]?.full_name, items[0]?.extra], ['', {}]);
  assert.equal(await rollupDifferences(app, SALES, dayOf(app.clock.now())), []);
  const [entry] = await app.as(ROOT).audit.list({ action: 'user.erase' });
  assert.equal([entry?.actor, entry?.target], [ROOT, pseudonym]);
  assert.equal(entry?.clients, [1]);
});

erasing('keeps texts that others wrote', async ({ app }) => {
  const extra = { boss: IDLE };
  await app.as(ACME).users.update({ email: GRACE, extra });
  await erase(app, IDLE);

  assert.equal((await app.as(ACME).users.get({ email: GRACE })).extra, extra);
});

erasing('is refused to others than superusers, of oneself, and of who is gone', async ({ app }) => {
  await erase(app, GRACE);

  await rejectsWith(app.as(ACME).users.previewErasure({ email: ADA }), 'forbidden');
  await rejectsWith(app.as(ROOT).users.previewErasure({ email: ROOT }), 'self-modification');
  await rejectsWith(app.as(ROOT).users.previewErasure({ email: GRACE }), 'not-found');
});

erasing('replaces an address that has no account, also in usage that comes later', async ({ app }) => {
  const email = 'guest@nowhere.test';
  const report = () =>
    app.as(ACME).usage.record({ app_id: SALES, entries: [{ email, full_name: 'G', action: 'OPEN' }] });
  await app.as(ACME).invitations.create({ items: [{ email, client: 1, first_name: 'Guest' }] });
  await report();
  const now = app.clock.now();
  const { addressDigest } = createErasureKeys(SECRET_KEY);
  const pseudonym = await app.orm.em
    .fork()
    .transactional((tx) =>
      eraseAddress({ tx, now, audit: createAudit(NO_ORIGIN, app.clock), addressDigest }, email),
    );
  await finishErasures(app.orm.em.fork(), app.clock);
  await report();

  assert.equal(await rowsWith(app, [email]), []);
  const { items } = await app.as(ACME).usage.list({ app_id: SALES, email: pseudonym, limit: 10 });
  assert.equal([items.length, items[0]?.full_name, items[1]?.full_name], [2, '', '']);
  assert.equal(await rollupDifferences(app, SALES, dayOf(now)), []);
});

erasing('records new invitations of the address under the address', async ({ app }) => {
  await erase(app, ADA);
  const items = [{ email: ADA, client: 1 }];
  for (let time = 0; time < 2; time += 1) await app.as(ROOT).invitations.create({ items });

  const [renewed] = await app.as(ROOT).audit.list({ action: 'invitation.renew' });
  const [created] = await app.as(ROOT).audit.list({ action: 'invitation.create' });
  assert.equal([created?.target, renewed?.target], [ADA, ADA]);
});

erasing.run();
