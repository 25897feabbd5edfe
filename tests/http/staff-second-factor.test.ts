import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createScript } from '../support/http-clients.ts';
import { challenged, enroll, nextCode } from '../support/second-factors.ts';
import { ADA, appSuite, DEMO_PASSWORD, GRACE, ROOT, type TestApp } from '../support/test-app.ts';

const staff = appSuite('a second factor that is required of staff', { STAFF_SECOND_FACTOR: 'required' });

const statusOf = async (app: TestApp, token: string) =>
  (await app.send('GET /session/', { headers: { authorization: `Token ${token}` } })).statusCode;

staff('ends what the password alone has opened when a person becomes staff', async ({ app }) => {
  const browser = createScript(app);
  assert.is((await browser.logIn(ADA, DEMO_PASSWORD)).statusCode, 200);
  const { token: named } = await app.as(ADA).tokens.createNamed({ name: 'script' });
  const { token } = await app.as(null).tokens.create({ username: ADA, password: DEMO_PASSWORD });
  const { secret } = await enroll(app, GRACE);
  const { browser: strong, answer } = await challenged(app, GRACE);
  assert.is((await answer(nextCode(app, secret))).statusCode, 200);

  for (const email of [ADA, GRACE]) await app.as(ROOT).roles.update({ email, is_staff: true });

  assert.is((await browser.send('GET /session/')).statusCode, 401);
  assert.equal([await statusOf(app, token), await statusOf(app, named)], [401, 200]);
  assert.is((await strong.send('GET /session/')).statusCode, 200);

  // Sessions of before the setting end with the next role.
  await sql`update sessions set methods = array['pwd']`.execute(app.db());
  await app.as(ROOT).roles.update({ email: GRACE, is_superuser: true });
  assert.is((await strong.send('GET /session/')).statusCode, 401);
});

staff.run();
