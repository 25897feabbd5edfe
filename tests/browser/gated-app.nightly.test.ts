import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { fillLogin, launchChromium, openTab } from '../support/browser.ts';
import { findPythonWithRequests } from '../support/environment.ts';
import { makeScratchFolder } from '../support/files.ts';
import { startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';
import { freePort } from '../support/tcp.ts';
import { until } from '../support/time.ts';

const EXAMPLES = join(import.meta.dirname, '../../docs/examples');
/** It builds the client package and starts the CLI four times, which takes minutes on a busy machine. */
const START_MS = 300_000;
const PASSWORD = 'steward-demo-1';

/** Runs a program until it is disposed, with all that it started. */
const startProgram = (command: string, args: string[], env: Record<string, string>) => {
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => {
      output += part;
    });
  const ended = once(child, 'exit');
  return {
    output: () => output,
    hasEnded: () => child.exitCode !== null,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
};

/** A page of another site with the app in a frame. */
const startHost = async (frameUrl: () => string) => {
  const port = await freePort();
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(
      `<!doctype html><title>Portal</title><iframe src="${frameUrl()}" width="900" height="500"></iframe>`,
    );
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { origin: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => void server.close() };
};

const startExample = async (started: AsyncDisposableStack) => {
  const folder = started.use(await makeScratchFolder());
  const [port, sitePort, appPort] = [await freePort(), await freePort(), await freePort()];
  const steward = `http://localhost:${port}`;
  const site = `http://localhost:${sitePort}`;
  const settings = { DATA_DIR: folder.join('data'), PORT: String(port), BASE_URL: steward };
  const service = started.use(await startService('demo', settings));
  // Without DATA_DIR: the script asks the demo.
  const env = { STEWARD_URL: steward, SITE_URL: site, APP_PORT: String(appPort) };
  const example = started.use(startProgram(join(EXAMPLES, 'gated-app/start.sh'), [], env));
  await until(
    'the app is served',
    async () => {
      if (example.hasEnded()) throw new Error(example.output());
      return (await fetch(`${site}/sales/`, { redirect: 'manual' }).catch(() => null))?.status === 303;
    },
    START_MS,
  );
  const browser = await launchChromium();
  started.defer(() => browser.close());
  return { steward, site, service, browser };
};

const gated = suiteWith('the example of an app behind the gate', startExample);

gated('greets the person who logs in, at the page that they wanted', async ({ browser, steward, site }) => {
  const page = await openTab(browser);
  await page.goto(`${site}/sales/`);
  assert.is(new URL(page.url()).origin, steward);
  await fillLogin(page, 'ada@acme.test', PASSWORD);
  await page.waitForURL(`${site}/sales/**`);

  assert.is(await page.getByRole('heading').textContent(), 'Hello, Ada Lovelace');
  assert.equal(await page.getByRole('row').allTextContents(), [
    'RegionProductRevenue',
    'NorthBicycles120400',
    'NorthHelmets18250',
    'WestTrailers45100',
  ]);
  await page.context().close();
});

const python = findPythonWithRequests();
if (python === undefined) console.log('Skipped embed.py: python3-requests is not installed.');
else
  gated('shows a page of another site the rows, once', async ({ browser, service, steward, site }) => {
    const permissions = JSON.stringify({ region: ['North'] });
    const script = [join(EXAMPLES, 'embed.py'), 'sales', 'guest@acme.test', permissions];
    const child = spawn(python, script, {
      env: { STEWARD_URL: steward },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const url = (await text(child.stdout)).trim();
    assert.ok(url.startsWith(`${steward}/v/`), url);
    await using portal = await startHost(() => url);
    const { token } = await service.logIn('admin@acme.test', PASSWORD);
    const allowed = { embed_origins: [portal.origin] };
    assert.is((await service.send('PATCH /jb/clients/1/gate/', { token, body: allowed })).status, 200);

    const page = await openTab(browser);
    await page.goto(portal.origin);
    const frame = page.frameLocator('iframe');
    await frame.getByRole('heading', { name: 'Hello, guest' }).waitFor();
    assert.equal(await frame.getByRole('row').allTextContents(), [
      'RegionProductRevenue',
      'NorthBicycles120400',
      'NorthHelmets18250',
    ]);
    // The app stays open in this frame: its next page needs no new address.
    const shown = page.frames().find((one) => one.url().startsWith(site));
    await shown?.goto(`${site}/sales/?page=2`);
    await frame.getByRole('heading', { name: 'Hello, guest' }).waitFor();

    await page.reload();
    await frame.getByText(/used/).first().waitFor();
    assert.is(await frame.getByRole('row').count(), 0);
    await page.context().close();
  });

gated.run();
