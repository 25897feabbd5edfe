import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { reportFailure } from '../src/cli/failures.ts';
import { newSecret } from '../src/lib/ids.ts';
import { tokenDigest } from '../src/services/auth/credentials.ts';
import { quantile } from './comparison/load.ts';
import { openDatabase, parseCount, startSteward, stopProcess } from './environment.ts';
import { measureCosts } from './processes.ts';

const CHECKOUT = join(import.meta.dirname, '..');
const APP = 'bEnchApp';
const CALLBACK = 'https://app.bench.test/callback';

/** An app with a secret, and people who may open it, each with a session. */
const ADD_PEOPLE = `
  with site as (insert into sites (domain, name) values ('bench', 'Bench') returning id),
  tenant as (insert into clients (site_id, name) select id, 'Bench' from site returning id),
  app as (insert into apps (id, client_id, slug, label, created_at) select '${APP}', id, 'bench', 'Bench', now() from tenant returning id),
  openid as (insert into openid_apps (app_id, redirect_uris, claims, secret_digest, created_at)
    select id, array['${CALLBACK}'], array['email', 'name', 'groups', 'roles', 'client', 'data_permissions'], $3, now() from app),
  people as (insert into users (email, handle, profile_color, date_joined, last_password_set)
    select 'o' || n || '@bench.test', 'o' || n, '336699', now(), now() from generate_series(1, $1::int) n returning id),
  members as (insert into memberships (client_id, user_id) select tenant.id, people.id from tenant, people),
  grants as (insert into app_grants (user_id, app_id, granted_at) select people.id, app.id, now() from people, app),
  numbered as (select id, row_number() over (order by id) as n from people)
  insert into sessions (user_id, digest, created_at, authenticated_at, expires_at, last_used)
  select id, ($2::text[])[n], now(), now(), now() + interval '30 days', now() from numbered`;

const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

type Answer = { status: number; location: string; body: string };

const send = (url: string, headers: Record<string, string>, body?: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method: body === undefined ? 'GET' : 'POST', headers, agent }, (response) => {
      const { statusCode: status = 0, headers: received } = response;
      text(response).then(
        (read) => resolve({ status, location: received.location ?? '', body: read }),
        reject,
      );
    }).on('error', reject);
    sent.end(body);
  });

/** What the browser and the app of one person send. */
const createFlow = (address: string, secret: string) => {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    client_id: APP,
    redirect_uri: CALLBACK,
    response_type: 'code',
    scope: 'openid profile email groups offline_access',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'state',
  });
  const form = {
    'content-type': 'application/x-www-form-urlencoded',
    authorization: `Basic ${Buffer.from(`${APP}:${secret}`).toString('base64')}`,
  };
  const authorize = async (session: string): Promise<string> => {
    const { location } = await send(`${address}/oidc/authorize?${query}`, {
      cookie: `steward_session=${session}`,
    });
    const code = URL.parse(location)?.searchParams.get('code');
    if (!code) throw new Error(`No code: ${location}`);
    return code;
  };
  return {
    authorize,
    /** Authorization, tokens, UserInfo. */
    logIn: async (session: string): Promise<void> => {
      const code = await authorize(session);
      const fields = {
        grant_type: 'authorization_code',
        code,
        redirect_uri: CALLBACK,
        code_verifier: verifier,
      };
      const { body } = await send(`${address}/oidc/token`, form, `${new URLSearchParams(fields)}`);
      const { access_token: token } = JSON.parse(body);
      const { status } = await send(`${address}/oidc/userinfo`, { authorization: `Bearer ${token}` });
      if (status !== 200) throw new Error(`UserInfo answered ${status}`);
    },
  };
};

/** Does the work again and again, `width` times at once. Returns the times in milliseconds. */
const repeat = async (
  work: (n: number) => Promise<unknown>,
  width: number,
  seconds: number,
): Promise<number[]> => {
  const times: number[] = [];
  const end = performance.now() + seconds * 1000;
  let n = 0;
  const next = async (): Promise<void> => {
    while (performance.now() < end) {
      const startedAt = performance.now();
      n += 1;
      await work(n);
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: width }, next));
  return times;
};

type Options = { people: number; width: number; seconds: number };

const run = async ({ people, width, seconds }: Options): Promise<void> => {
  await using cleanup = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'steward-bench-'));
  cleanup.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }));
  const { client, postmaster, settings } = await openDatabase(dataDir, cleanup);
  const { child, pid, address } = await startSteward(CHECKOUT, dataDir, {
    ...settings,
    RATE_LIMIT_PER_MINUTE: '0',
  });
  cleanup.defer(() => stopProcess(child));
  cleanup.defer(() => agent.destroy());
  const sessions = Array.from({ length: people }, newSecret);
  const secret = newSecret();
  await client.query(ADD_PEOPLE, [people, sessions.map(tokenDigest), tokenDigest(secret)]);
  await client.query('analyze');
  const flow = createFlow(address, secret);
  const sessionOf = (n: number): string => sessions[n % people] ?? '';
  const measure = async (name: string, work: (n: number) => Promise<unknown>, at: number) => {
    const { result: times, costs } = await measureCosts(pid, postmaster, () => repeat(work, at, seconds));
    const cpuMs = ((costs.serverSeconds + costs.postgresSeconds) * 1000) / times.length;
    return {
      '': name,
      'at once': at,
      'a second': Math.round(times.length / seconds),
      'p50 ms': Math.round(quantile(times, 0.5)),
      'p95 ms': Math.round(quantile(times, 0.95)),
      'CPU ms': Number(cpuMs.toFixed(1)),
    };
  };
  // Loads the library, and makes the first keys.
  await flow.logIn(sessionOf(0));
  await repeat((n) => flow.logIn(sessionOf(n)), 1, 2);

  console.table([
    await measure('whole code flow', (n) => flow.logIn(sessionOf(n)), 1),
    await measure('whole code flow', (n) => flow.logIn(sessionOf(n)), width),
    await measure('authorization', (n) => flow.authorize(sessionOf(n)), 1),
    await measure('authorization', (n) => flow.authorize(sessionOf(n)), width),
  ]);
};

await new Command('bench:openid')
  .description('Measure logins to an app by OpenID Connect: authorization, tokens, UserInfo')
  .option('--people <n>', 'people who are logged in to Steward', parseCount, 1_000)
  .option('--width <n>', 'how many at once', parseCount, 32)
  .option('--seconds <n>', 'how long each', parseCount, 10)
  .action(run)
  .parseAsync()
  .catch(reportFailure);
