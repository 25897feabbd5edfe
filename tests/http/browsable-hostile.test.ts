import { execFileSync } from 'node:child_process';
import { runInNewContext } from 'node:vm';
import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, ROOT, type TestApp } from '../support/test-app.ts';

const hostile = appSuite('browsable API with hostile data');

const MAX_PAGE_BYTES = 2_000_000;
const CHARACTERS: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };
const unescaped = (text: string): string =>
  text.replaceAll(/&(lt|gt|quot|#39|amp);/g, (_entity, name: string) => CHARACTERS[name] ?? '');

const openPage = async (app: TestApp, line: string, as: string) => {
  const { body, statusCode } = await app.send(line, { as, headers: { accept: 'text/html' } });
  const calls = [...body.matchAll(/<pre class="call">(.*?)<\/pre>/gs)].map(([, call = '']) =>
    unescaped(call),
  );
  return { body, status: statusCode, calls };
};

/** Runs the code sample and returns the input that the client would send. */
const runSample = (call: string): unknown => {
  let input: unknown;
  const client = {
    users: { get: { query: (given: unknown) => (input = given) } },
    audit: { list: { query: (given: unknown) => (input = given) } },
  };
  runInNewContext(call, { client, Date });
  return input;
};

hostile('escapes HTML and invisible characters in values', async ({ app }) => {
  const nasty = '</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\u202e';
  await app.as(ACME).users.update({ email: ADA, first_name: nasty, extra: { [nasty]: nasty } });
  const { body } = await openPage(app, 'GET /jb/users/ada@acme.test/', ACME);

  assert.not.match(body, /<script|<img src=x|\u202e/);
  assert.match(body, 'alert(1)&lt;/script&gt;');
  assert.match(body, '\\u202e');
});

hostile('escapes the URL in HTML, in the shell sample and in the TypeScript sample', async ({ app }) => {
  const path = "/jb/users/it's$(id);%3Cb%3E%22@acme.test/";
  const { body, status, calls } = await openPage(app, `GET ${path}`, ACME);
  const command = (calls[1] ?? '').replace(/^curl/, "printf '%s\\n'");
  const words = execFileSync('sh', ['-c', command], { encoding: 'utf8' }).split('\n');

  assert.is(status, 404);
  assert.not.match(body, /<b>/);
  assert.is(words.at(-2), `http://localhost:80/api/v1${path}`);
  assert.is(JSON.stringify(runSample(calls[0] ?? '')), JSON.stringify({ email: `it's$(id);<b>"@acme.test` }));
});

hostile('writes numbers, dates and strings as TypeScript literals', async ({ app }) => {
  const query = 'actor=%E2%80%AE%27&from=2026-01-01&limit=5';
  const { calls } = await openPage(app, `GET /jb/audit/?${query}&unknown=1`, ROOT);

  assert.is(
    JSON.stringify(runSample(calls[0] ?? '')),
    JSON.stringify({ actor: "\u202e'", from: new Date('2026-01-01'), limit: 5 }),
  );
});

hostile('shows the first 100 items of lists and streams with a note', async ({ app }) => {
  const items = [...Array(101)].map((_, index) => ({ email: `guest${index}@acme.test`, client: 1 }));
  await app.as(ACME).invitations.create({ items });
  for (const [line, key, note] of [
    ['GET /jb/users/invitations/', 'date_invited', '1–100 of 101'],
    ['GET /jb/users/invitations/?page_size=101', 'date_invited', '1–100 of 101'],
    ['GET /jb/users/invitations/?limit=101', 'date_invited', 'Only the first 100 items are shown.'],
    ['GET /jb/apps/zylTKNVx/usage/?window=120', 'action_description', '1–100 of '],
    ['GET /jb/apps/zylTKNVx/usage/?window=120&page_size=10000', 'action_description', '1–100 of '],
  ] as const) {
    const { body } = await openPage(app, line, ACME);
    assert.is(body.split(`&quot;${key}&quot;`).length - 1, 100, line);
    assert.match(body, note, line);
  }
  const { body } = await openPage(app, 'GET /jb/users/invitations/?status=all', ACME);
  assert.match(
    body,
    '<a href="/api/v1/jb/users/invitations/?status=all&amp;page=2&amp;page_size=100">Next page</a>',
  );
  assert.match(
    (await openPage(app, 'GET /jb/users/invitations/?page=3', ACME)).body,
    'Page 3 is empty: the list has 101 items.',
  );
});

hostile('truncates large responses and keeps the page small', async ({ app }) => {
  const extra = {
    deep: JSON.parse(`${'['.repeat(490)}1${']'.repeat(490)}`),
    wide: [...Array(20_000)].map(() => 0),
  };
  await app.as(ACME).users.update({ email: ADA, extra });
  const { body, status } = await openPage(app, 'GET /jb/users/ada@acme.test/', ACME);

  assert.is(status, 200);
  assert.match(body, 'This response is too long for this page.');
  assert.ok(body.length < MAX_PAGE_BYTES, `${body.length}`);
});

hostile.run();
