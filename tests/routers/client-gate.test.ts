import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, STAFF } from '../support/test-app.ts';

const gate = appSuite('client gate');

gate('hides the apps of a closed client from its members, until it is reopened', async ({ app }) => {
  const slugs = async (who: string) => (await app.as(who).apps.list({})).map(({ slug }) => slug);
  const root = app.as(ROOT);

  assert.equal(await root.clients.updateGate({ id: 1, is_open: false }), {
    is_open: false,
    embed_origins: [],
  });
  assert.equal(await slugs(ADA), []);
  await rejectsWith(app.as(ADA).apps.get({ app_id: 'zylTKNVx' }), 'not-found');
  assert.equal(await slugs(ACME), ['sales', 'churn']);
  assert.equal(await slugs(STAFF), ['sales', 'churn', 'fleet']);

  await root.clients.updateGate({ id: 1, is_open: true });
  assert.equal(await slugs(ADA), ['sales', 'churn']);
  const entries = await root.audit.list({ target: 'Acme Analytics' });
  assert.equal(
    entries.map(({ action }) => action),
    ['client.reopen', 'client.close'],
  );
});

gate('lets client admins choose the sites that embed apps, but not close the client', async ({ app }) => {
  const admin = app.as(ACME).clients;

  const origins = ['https://Portal.example.com', 'https://portal.example.com:443', 'http://localhost:3000'];
  const changed = await admin.updateGate({ id: 1, embed_origins: origins });
  assert.equal(changed.embed_origins, ['https://portal.example.com', 'http://localhost:3000']);
  assert.equal(await app.as(STAFF).clients.gate({ id: 1 }), changed);
  await rejectsWith(admin.updateGate({ id: 1, is_open: false }), 'forbidden');
  assert.equal(await admin.updateGate({ id: 1, is_open: true }), changed);
  const [entry] = await app.as(ACME).audit.list({ target: 'Acme Analytics', limit: 1 });
  assert.is(entry?.action, 'client.update');
  assert.equal(entry?.details, { embed_origins: { from: [], to: changed.embed_origins } });
});

gate('refuses what is no origin, naming its place in the list', async ({ app }) => {
  for (const origin of [
    'https://a.test;sandbox',
    '*',
    'portal.example.com',
    'https://a.test/path',
    'https://*.a.test',
    'ftp://a.test',
  ]) {
    const change = app.as(ROOT).clients.updateGate({ id: 1, embed_origins: ['https://a.test', origin] });
    const { fields } = await rejectsWith(change, 'invalid-input');
    assert.equal(fields, { 'embed_origins.1': ['Must be an origin, such as https://portal.example.com.'] });
  }
});

gate('limits the total length of the sites, which are sent in one header', async ({ app }) => {
  const labelLength = 63;
  const originsOf = (length: number) =>
    Array.from({ length: 50 }, (_, index) => {
      const end = `.${'b'.repeat(length - 'https://.'.length - labelLength)}`;
      return `https://${String(index).padStart(labelLength, 'a')}${end}`;
    });
  const update = (embed_origins: string[]) => app.as(ACME).clients.updateGate({ id: 1, embed_origins });

  const { embed_origins } = await update(originsOf(79));
  assert.is(embed_origins.join(' ').length, 3_999);
  assert.equal((await rejectsWith(update(originsOf(80)), 'invalid-input')).fields, {
    embed_origins: ['Must have at most 4000 characters in total.'],
  });
  await update([]);
});

gate('is for viewers and admins of the client only', async ({ app }) => {
  await rejectsWith(app.as(ADA).clients.gate({ id: 1 }), 'forbidden');
  await rejectsWith(app.as(GLOBEX).clients.gate({ id: 1 }), 'not-found');
  await rejectsWith(app.as(GLOBEX).clients.updateGate({ id: 1, is_open: false }), 'not-found');
  await rejectsWith(app.as(STAFF).clients.updateGate({ id: 1, is_open: false }), 'forbidden');
});

gate.run();
