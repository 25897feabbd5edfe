import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { loadCommonPasswords } from '../../../src/adapters/hashing/common-passwords.ts';
import { kysely } from '../../../src/db/kysely.ts';
import { createAudit, NO_ORIGIN } from '../../../src/services/audit/audit.ts';
import { createAdmin } from '../../../src/services/users/bootstrap.ts';
import { createScript } from '../../support/http-clients.ts';
import { mailedEmailToken, setProved } from '../../support/mails.ts';
import { rejectsWith } from '../../support/rejects.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GRACE,
  ROOT,
  type TestApp,
} from '../../support/test-app.ts';
import { until } from '../../support/time.ts';

const promote = ({ orm, hasher, clock }: TestApp, email: string) =>
  createAdmin(
    orm.em.fork(),
    {
      hasher,
      audit: createAudit(NO_ORIGIN, clock),
      loadCommonPasswords,
      staffSecondFactor: 'required',
      passwordMinLength: 8,
    },
    { email, generated: 'velvet-canyon-41-moss', now: clock.now() },
  );

const admin = appSuite('create-admin');

admin('tells a user whom it activates that their password expires sooner', async ({ app }) => {
  await app.as(ROOT).users.deactivate({ email: ADA });
  await app.as(ACME).clients.update({ id: 1, password_expiration_days: 30 });

  await promote(app, ADA);

  const mails = app.db().selectFrom('outbox_mails').select('kind').where('recipient', '=', ADA);
  assert.equal(await mails.execute(), [{ kind: 'password-expiry' }]);
});

admin('ends the undo of a change of address: the old mailbox would get the role', async ({ app }) => {
  const [old, present] = ['moved-admin@acme.test', 'moving-admin@acme.test'];
  await app.as(ROOT).users.create({ email: old, client: 1, send_email: false });
  await setProved(app, old);
  await app.as(old).profile.requestEmail({ email: present });
  await app.as(old).profile.confirmEmail({ token: await mailedEmailToken(app, present, 'confirm') });
  const undo = { token: await mailedEmailToken(app, old, 'undo') };
  assert.ok(await app.as(null).profile.verifyEmail({ ...undo, kind: 'undo' }));

  await promote(app, present);

  await rejectsWith(app.as(null).profile.undoEmail(undo), 'invalid-link');
});

admin('ends sessions that are weaker than the second factor that staff need', async ({ app }) => {
  const browser = createScript(app);
  assert.is((await browser.logIn(EDSGER, DEMO_PASSWORD)).statusCode, 200);

  await promote(app, EDSGER);

  assert.is((await browser.send('GET /session/')).statusCode, 401);
});

admin('does not revive a person who is erased at the same time', async ({ app }) => {
  const pseudonym = 'erased-0123456789abcdef@erased.invalid';
  const erasure = app.orm.em.fork();
  await erasure.begin();
  await kysely(erasure)
    .updateTable('users')
    .set({ email: pseudonym, handle: '@erased-0123456789abcdef', is_active: false })
    .where('email', '=', GRACE)
    .execute();

  const promotion = promote(app, GRACE);
  await until('the promotion waits for the erasure', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
      app.db(),
    );
    return rows.length > 0;
  });
  await erasure.commit();
  await promotion;

  const users = app.db().selectFrom('users').select(['is_active', 'is_superuser']);
  assert.equal(await users.where('email', '=', pseudonym).execute(), [
    { is_active: false, is_superuser: false },
  ]);
});

admin.run();
