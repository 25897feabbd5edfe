import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { endpointOf } from '../../src/http/rest/endpoints.ts';
import { openView, viewSuite } from '../support/access-views.ts';
import { createScript } from '../support/http-clients.ts';
import { ACME, ADA, DEMO_PASSWORD, EDSGER, GRACE, ROOT } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const embed = viewSuite('accessViews.embed');

embed('embeds an app once, for a user', async ({ app }) => {
  for (const path of [`/jb/apps/${SALES}/embed/${ADA}/`, `!/api/v2/embed/sales/${ADA}/`]) {
    const embedded = await app.send(`GET ${path}`, { as: ACME });
    assert.is(embedded.statusCode, 200);
    const { url, ...rest } = embedded.json();
    assert.equal(rest, {});
    const key = String(/^https:\/\/steward\.test\/v\/([0-9a-f]{32})\/$/.exec(url)?.[1]);
    assert.is(
      (await app.as(ACME).accessViews.list({})).some((view) => view.key === key),
      false,
    );
    const first = await openView(app, key);
    assert.is(first.statusCode, 303);
    assert.ok(Number(first.cookies[0]?.maxAge) > 11 * 3600, 'what it opened outlasts the link');
    assert.match((await openView(app, key)).body, /This link was already used/);
    const [created] = await app.as(ACME).audit.list({ action: 'access-view.create', limit: 1 });
    assert.equal([created?.actor, created?.details.user, created?.details.is_one_time], [ACME, ADA, true]);
    const late = (await app.send(`GET ${path}`, { as: ACME })).json().url.slice(-33, -1);
    const set = { expires_at: sql<Date>`expires_at - interval '60 seconds'` };
    await app.db().updateTable('access_views').set(set).where('key', '=', late).execute();
    assert.match((await openView(app, late)).body, /This link has expired/);
  }
  assert.is(endpointOf('accessViews.embed').method, 'GET');
});

embed('embeds with an API token only, as a GET of a browser has no CSRF protection', async ({ app }) => {
  const script = createScript(app);
  await script.logIn(ACME, DEMO_PASSWORD);
  const count = async () => (await app.db().selectFrom('access_views').select('id').execute()).length;
  const before = await count();

  for (const path of [`!/api/v2/embed/sales/${ADA}/`, `/jb/apps/sales/embed/${ADA}/`]) {
    const response = await script.send(`GET ${path}`);
    assert.is(response.statusCode, 403);
    assert.is(response.json().detail, 'This needs an API token, not a browser session.');
  }
  assert.is(await count(), before);
});

embed('embeds only apps that the caller manages, for users who can open them', async ({ app }) => {
  const status = async (slug: string, email: string, as: string) =>
    (await app.send(`GET !/api/v2/embed/${slug}/${email}/`, { as })).statusCode;

  assert.is(await status('fleet', ADA, ACME), 404);
  assert.is(await status('nothing', ADA, ACME), 404);
  assert.is(await status('sales', 'unknown@acme.test', ACME), 404);
  assert.is(await status('churn', GRACE, ACME), 403);
  assert.is(await status('sales', ADA, ADA), 403);
  assert.is(await status('sales', ADA, 'staff@steward.test'), 403);
  // An administrator of another client, who can open the app.
  await app.as(ROOT).users.update({ email: EDSGER, apps: [SALES] });
  await app.as(ROOT).roles.setClientAdmin({ id: 2, email: EDSGER, is_admin: true });
  assert.is(await status('sales', EDSGER, EDSGER), 403);
});

embed.run();
