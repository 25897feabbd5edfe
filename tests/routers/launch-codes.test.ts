import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { tokenDigest } from '../../src/services/auth/credentials.ts';
import { createLaunchCode } from '../../src/services/gate/launches.ts';
import { pruneTickets } from '../../src/services/gate/ticket-revocations.ts';
import { claimsIn, setApp, usedView } from '../support/access-views.ts';
import { fieldOf } from '../support/lists.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowsOf, valuesOf } from '../support/rows.ts';
import { ACME, appSuite, EDSGER, GRACE, startTestApp, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const codes = appSuite('launch codes');

const LAUNCH_URL = 'https://sales.example.com/open?theme=dark&name=%20x';

codes.before(({ app }) => setApp(app, { launch_url: LAUNCH_URL }));

const launch = async (app: TestApp, email = GRACE, stack?: string): Promise<string> => {
  const { url } = await app.as(email).apps.launch({ app_slug: 'sales', stack });
  return new URL(url).searchParams.get('code') ?? '';
};
const exchange = (app: TestApp, code: string, slug = 'sales') =>
  app.as(null).tickets.exchange({ code, app: slug });

codes('are added to the address of the app with its state, and give a ticket', async ({ app }) => {
  const state = 'a b&code=x';
  const { url } = await app.as(GRACE).apps.launch({ app_slug: 'sales', stack: 'overview', state });
  const [, code = '', rest = ''] =
    /^https:\/\/sales\.example\.com\/open\?theme=dark&name=%20x&code=([\w-]{43})(&state=[^&]+)$/.exec(url) ??
    [];
  const { ticket } = await exchange(app, code);
  const { email, stack, aud } = claimsIn(ticket);

  assert.equal([email, stack, aud], [GRACE, 'overview', 'sales']);
  assert.is(new URLSearchParams(rest).get('state'), state);
});

codes('are stored as their digest, and work once', async ({ app }) => {
  const code = await launch(app);
  const rows = await rowsOf(app, 'launch_codes');
  assert.ok(fieldOf(rows, 'digest').includes(tokenDigest(code)));
  assert.not.ok(JSON.stringify(rows).includes(code));
  const { ticket } = await exchange(app, code);

  const { message } = await rejectsWith(exchange(app, code), 'invalid-launch-code');
  assert.is(message, (await rejectsWith(exchange(app, 'unknown'), 'invalid-launch-code')).message);
  assert.ok((await app.as(ACME).tickets.introspect({ token: ticket })).active, 'the ticket stays valid');
});

codes('give one ticket to 50 exchanges at the same time', async ({ app }) => {
  const code = await launch(app);
  const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => exchange(app, code)));

  assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  await sql`delete from rate_limits`.execute(app.db());
});

codes('are not used up by another app', async ({ app }) => {
  const code = await launch(app);

  await rejectsWith(exchange(app, code, 'fleet'), 'invalid-launch-code');
  assert.is(claimsIn((await exchange(app, code)).ticket).email, GRACE);
});

codes('expire after 60 seconds by the clock of the database', async ({ app }) => {
  const age = (seconds: number) =>
    sql`update launch_codes set expires_at = expires_at - ${`${seconds} s`}::interval`.execute(app.db());
  const [young, old] = [await launch(app), await launch(app)];

  await age(50);
  await exchange(app, young);
  await age(10);
  await rejectsWith(exchange(app, old), 'invalid-launch-code');
});

codes('are not given to users who may not open the app', async ({ app }) => {
  await rejectsWith(launch(app, EDSGER), 'not-found');
  await rejectsWith(launch(app, GRACE, 'unknown'), 'not-found');
  await rejectsWith(app.as(GRACE).apps.launch({ app_slug: 'unknown' }), 'not-found');
});

codes('open the app for a use of an access view', async ({ app }) => {
  const { viewId, useId } = await usedView(app);
  const subject = { kind: 'view' as const, useId, appId: SALES };
  const code = await createLaunchCode(app.orm.em.fork(), subject, app.clock.now());
  const claims = claimsIn((await exchange(app, code)).ticket);

  assert.equal([claims.sub, claims.access_view], [`view:${viewId}`, viewId]);
});

codes('are deleted after they have expired', async ({ app }) => {
  await launch(app);
  app.clock.advance(61_000);
  const kept = await launch(app);

  await pruneTickets(app.orm.em.fork(), app.clock.now());

  assert.equal(await valuesOf(app, 'launch_codes', 'digest'), [tokenDigest(kept)]);
});

codes.run();

const template = appSuite('apps.launch without a launch address', { APP_URL: '/apps/{slug}/{id}/' });

template('returns the path that APP_URL makes, without a code', async ({ app }) => {
  const { url } = await app.as(GRACE).apps.launch({ app_slug: 'sales' });

  assert.is(url, `/apps/sales/${SALES}/`);
  assert.equal(await rowsOf(app, 'launch_codes'), []);
});

template('adds a code to an address on another site', async () => {
  const other = await startTestApp({ APP_URL: 'https://{slug}.example.com/#home' });
  try {
    const { url } = await other.as(GRACE).apps.launch({ app_slug: 'sales' });
    assert.match(url, /^https:\/\/sales\.example\.com\/\?code=[\w-]{43}#home$/);
  } finally {
    await other.close();
  }
});

template.run();
