import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { createRecordedFetch } from '../support/http-clients.ts';
import { registerApp } from '../support/openid.ts';
import { suiteWith } from '../support/suite.ts';
import { freePort } from '../support/tcp.ts';
import { ACME, ADA, DEMO_PASSWORD, startTestApp } from '../support/test-app.ts';

const EXAMPLE = join(import.meta.dirname, '../../docs/examples/openid-client.ts');

/** Runs the example until it is disposed. */
const startExample = async (settings: Record<string, string>): Promise<AsyncDisposable> => {
  const env = { PATH: process.env.PATH, ...settings };
  const child = spawn(process.execPath, [EXAMPLE], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const listens = await Promise.race([once(child.stdout, 'data'), closed.then(() => null)]);
  if (listens === null) throw new Error('The example ended instead of listening.');
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await closed;
    },
  };
};

/** A browser, and the addresses of the app and of Steward, at which it has a session. */
const example = suiteWith('openid-client.ts', async (started) => {
  const [port, appPort] = [await freePort(), await freePort()];
  const [url, appUrl] = [`http://localhost:${port}`, `http://localhost:${appPort}`];
  const app = await startTestApp({ BASE_URL: url });
  started.defer(app.close);
  await app.server.listen({ port, host: 'localhost' });
  // The example checks tokens by the clock of this machine.
  app.clock.advance(Date.now() - app.clock.now().getTime());
  const { id, secret } = await registerApp(app, {
    redirect_uris: [`${appUrl}/callback`],
    post_logout_redirect_uris: [`${appUrl}/`],
    backchannel_logout_uri: `${appUrl}/backchannel-logout`,
  });
  const settings = { STEWARD_URL: url, APP_URL: appUrl, CLIENT_ID: id, CLIENT_SECRET: secret };
  started.use(await startExample(settings));
  return { app, url, appUrl };
});

/** A browser in which Ada is logged in at Steward. `follow` opens an address, and all to which it redirects. */
const openBrowser = async (url: string) => {
  const { send } = createRecordedFetch();
  const follow = async (to: string): Promise<Response> => {
    const response = await send(to, { redirect: 'manual' });
    const location = response.headers.get('location');
    return location === null ? response : follow(new URL(location, to).href);
  };
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ username: ADA, password: DEMO_PASSWORD });
  await send(`${url}/api/v1/session/`, { method: 'POST', headers, body });
  return follow;
};

example('logs a person in, and shows the claims', async ({ url, appUrl }) => {
  const follow = await openBrowser(url);
  const before = await follow(`${appUrl}/`);
  const shown = JSON.parse(await (await follow(`${appUrl}/login`)).text());

  assert.is(before.status, 401);
  assert.equal([shown.sub, shown.email, shown.name], ['5', ADA, 'Ada Lovelace']);
});

example('logs a person out of Steward too', async ({ url, appUrl }) => {
  const follow = await openBrowser(url);
  await follow(`${appUrl}/login`);
  const shown = await follow(`${appUrl}/logout`);
  const session = await follow(`${url}/api/v1/session/`);

  assert.equal([shown.url, shown.status], [`${appUrl}/`, 401]);
  assert.is(session.status, 401);
});

example('ends the session when Steward sends a logout', async ({ app, url, appUrl }) => {
  const follow = await openBrowser(url);
  await follow(`${appUrl}/login`);
  await app.as(ACME).sessions.revokeAll({ email: ADA });
  await app.logoutWorker.drain();
  const after = await follow(`${appUrl}/`);

  assert.is(after.status, 401);
});

example('takes no other token for a logout', async ({ url, appUrl }) => {
  const follow = await openBrowser(url);
  await follow(`${appUrl}/login`);
  const body = new URLSearchParams({ logout_token: 'x' });
  const { status } = await fetch(`${appUrl}/backchannel-logout`, { method: 'POST', body });
  const after = await follow(`${appUrl}/`);

  assert.equal([status, after.status], [400, 200]);
});

example.run();
