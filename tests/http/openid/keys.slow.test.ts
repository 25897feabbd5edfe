import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../../src/lib/clock.ts';
import { createAudit, NO_ORIGIN } from '../../../src/services/audit/audit.ts';
import { registerApp, visitorOf } from '../../support/openid.ts';
import { appSuite, ROOT } from '../../support/test-app.ts';

const keys = appSuite('the keys of OpenID Connect');

keys('are not those of tickets', async ({ app }) => {
  const sales = await registerApp(app);
  await sales.logIn(await visitorOf(app));

  const kids = async (path: string) =>
    (await app.server.inject(path)).json().keys.map(({ kid }: { kid: string }) => kid);
  const [own, ofTickets] = [await kids('/oidc/jwks'), await kids('/.well-known/jwks.json')];

  assert.is(own.length, 2);
  assert.not(own.some((kid: string) => ofTickets.includes(kid)));
});

keys(
  'rotate: a new one is published first, and the old one verifies as long as its tokens live',
  async ({ app }) => {
    const sales = await registerApp(app);
    const visitor = await visitorOf(app);
    const kidOf = (token: string) =>
      JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid;
    const published = async (): Promise<string[]> =>
      (await app.server.inject('/oidc/jwks')).json().keys.map(({ kid }: { kid: string }) => kid);
    const before = kidOf((await sales.logIn(visitor)).id_token);

    await app.as(ROOT).signingKeys.rotate();
    app.clock.advance(MINUTE_MS);
    const early = kidOf((await sales.logIn(visitor)).id_token);
    const during = await published();
    app.clock.advance(6 * MINUTE_MS);
    const after = kidOf((await sales.logIn(visitor)).id_token);
    const stillPublished = await published();
    app.clock.advance(DAY_MS);
    await app.signingKeys.maintain(createAudit(NO_ORIGIN, app.clock));

    assert.is(early, before);
    assert.ok(during.includes(after) && during.includes(before));
    assert.is.not(after, before);
    assert.ok(stillPublished.includes(before));
    assert.not((await published()).includes(before));
  },
);

keys.run();
