import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { UnsecuredJWT } from 'jose';
import * as assert from 'uvu/assert';
import { claimsIn, resign, ticketOf } from '../support/access-views.ts';
import { suite } from '../support/suite.ts';
import { freePort } from '../support/tcp.ts';
import { GRACE, startTestApp, type TestApp } from '../support/test-app.ts';

const EXAMPLE = join(import.meta.dirname, '../../docs/examples/verify-ticket.py');
/** Debian's python3-jwt and python3-cryptography belong to it. */
const PYTHON = '/usr/bin/python3';

const example = suite<{ app: TestApp; issuer: string }>('verify-ticket.py');

example.before(async (context) => {
  const port = await freePort();
  context.issuer = `http://localhost:${port}`;
  context.app = await startTestApp({ BASE_URL: context.issuer });
  await context.app.server.listen({ port, host: 'localhost' });
});
example.after(({ app }) => app.close());

/** A ticket that is valid now, by the clock of this machine. */
const freshTicket = async (app: TestApp, ageSeconds = 0): Promise<string> => {
  const iat = Math.floor(Date.now() / 1000) - ageSeconds;
  return resign(app, await ticketOf(app, GRACE), { iat, exp: iat + 120 });
};

const verify = async (issuer: string, slug: string, ticket: string) => {
  const child = spawn(PYTHON, [EXAMPLE, issuer, slug], { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(ticket);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { stdout, stderr, code: Number(code) };
};

example('prints the claims of a valid ticket', async ({ app, issuer }) => {
  const ticket = await freshTicket(app);
  const { stdout, stderr, code } = await verify(issuer, 'sales', ticket);

  assert.equal([code, stderr], [0, '']);
  assert.equal(JSON.parse(stdout), claimsIn(ticket));
});

example('refuses all others', async ({ app, issuer }) => {
  const ticket = await freshTicket(app);
  const refused: [what: string, slug: string, ticket: string][] = [
    ['another app', 'churn', ticket],
    ['another issuer', 'sales', await resign(app, ticket, { iss: 'https://other.test' })],
    ['expired', 'sales', await freshTicket(app, 200)],
    ['alg none', 'sales', new UnsecuredJWT({ ...claimsIn(ticket) }).encode()],
    ['no data permissions', 'sales', await resign(app, ticket, { data_permissions: undefined })],
    ['no ticket', 'sales', 'x'],
  ];
  for (const [what, slug, other] of refused) {
    const { stdout, stderr, code } = await verify(issuer, slug, other);
    assert.equal([code, stdout], [1, ''], what);
    assert.match(stderr, /^Refused: /, what);
  }
});

const hasLibraries =
  existsSync(PYTHON) &&
  spawnSync(PYTHON, ['-c', 'import jwt, cryptography'], { stdio: 'ignore' }).status === 0;
if (hasLibraries) example.run();
else console.log('Skipped verify-ticket.py: python3-jwt or python3-cryptography is not installed.');
