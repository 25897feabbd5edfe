import { spawnSync } from 'node:child_process';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { createStewardClient, type StewardClientOptions } from '../../src/client.ts';
import { createInjectFetch } from './inject-fetch.ts';
import type { TestApp } from './test-app.ts';

/** Opens the code samples of the screen, and closes them again. */
export const readSamples = async (page: Page): Promise<{ typescript: string; curl: string }> => {
  await page.getByRole('button', { name: 'Call it from code' }).click();
  const dialog = page.getByRole('dialog', { name: 'Call it from code' });
  const codeOf = async (name: string) =>
    (await dialog.getByRole('region', { name }).locator('pre').textContent()) ?? '';
  const samples = { typescript: await codeOf('TypeScript'), curl: await codeOf('curl') };
  await dialog.getByRole('button', { name: 'Close' }).click();
  await dialog.waitFor({ state: 'detached' });
  return samples;
};

/** Prints its arguments, one a line. */
const CURL = 'curl() { printf "%s\\n" "$@"; }';

/** The responses to curl commands. A shell reads them. */
export const runCurl = async (app: TestApp, commands: string, token: string): Promise<unknown[]> => {
  const shell = spawnSync('sh', ['-c', `${CURL}\n${commands}`], {
    env: { STEWARD_TOKEN: token },
    encoding: 'utf8',
  });
  const responses: unknown[] = [];
  for (const [, authorization, url] of shell.stdout.matchAll(/^-H\nAuthorization: (.*)\n(http.*)$/gm)) {
    const response = await app.server.inject({ url: url ?? '', headers: { authorization } });
    assert.is(response.statusCode, 200, url);
    responses.push(response.json());
  }
  return responses;
};

/** What a TypeScript sample prints. */
export const runTypescript = async (app: TestApp, code: string, token: string): Promise<unknown[]> => {
  const printed: unknown[] = [];
  const globals = {
    createStewardClient: (options: StewardClientOptions) =>
      createStewardClient({ ...options, fetch: createInjectFetch(app.server) }),
    process: { env: { STEWARD_TOKEN: token } },
    console: { log: (value: unknown) => printed.push(value) },
  };
  const body = code.replace(/^import .*$/m, '');
  await new Function(...Object.keys(globals), `return (async () => {${body}})()`)(...Object.values(globals));
  return printed;
};
