import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InjectOptions } from 'fastify';
import { createCaller } from '../../routers/index.ts';
import type { Argon2Cost } from '../../src/adapters/hashing/argon2-hash.ts';
import { createApp } from '../../src/app.ts';
import { readConfig } from '../../src/config/config.ts';
import { tables } from '../../src/db/kysely.ts';
import { newToken } from '../../src/lib/ids.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { Problem } from '../../src/lib/problems.ts';
import { tokenDigest } from '../../src/services/auth/identity.ts';
import { refuseUndocumented } from './openapi.ts';
import { createTestClock } from './test-clock.ts';
import { createTestDatabase } from './test-database.ts';
import { CHEAP_HASH } from './test-server.ts';

export { DEMO_PASSWORD } from './test-server.ts';

/** Callers in-process have no cookies. */
const NO_BROWSER = {
  userAgent: 'tests',
  session: null,
  prepareLogin: () => {},
  keepSession: () => '',
  forgetSession: () => {},
};

/** Longer than the service's own, as tests run on busy machines. */
const DEADLINE_MS = 60_000;

const SECRET_KEY = 'a secret key that only tests ever use';
const IN_PROCESS = { requestId: 'in-process', address: '127.0.0.1' };

type Request = Omit<InjectOptions, 'method' | 'url' | 'headers'> & {
  as?: string;
  headers?: Record<string, string | undefined>;
};
export type TestApp = Awaited<ReturnType<typeof startTestApp>>;

/** The whole service over a database of its own, filled with the demo workspace, not listening. */
export const startTestApp = async (
  settings: Record<string, string> = {},
  { requestDeadlineMs = DEADLINE_MS } = {},
) => {
  const database = await createTestDatabase('demo');
  const packagesDir = await mkdtemp(join(tmpdir(), 'steward-test-'));
  const config = readConfig({ APP_STORE: `file:${packagesDir}`, LOG_LEVEL: 'silent', ...settings });
  const clock = createTestClock();
  const logger = createLogger(config.logLevel);
  const deps = {
    config,
    connection: database.connection,
    secretKey: SECRET_KEY,
    logger,
    clock,
    hashCost: CHEAP_HASH,
    requestDeadlineMs,
  };
  const app = await createApp(deps);
  const em = () => app.orm.em.fork();

  const tokens = new Map<string, Promise<string>>();
  /** A token as a login would give it, without the work that a password is. */
  const tokenOf = (email: string): Promise<string> => {
    const token = tokens.get(email) ?? addToken(email);
    tokens.set(email, token);
    return token;
  };
  const addToken = async (email: string): Promise<string> => {
    const token = newToken();
    const row = { digest: tokenDigest(token), created_at: clock.now(), last_used: clock.now() };
    const db = tables(em());
    const user = await db
      .selectFrom('users')
      .select('id')
      .where('email', '=', email)
      .executeTakeFirstOrThrow();
    await db
      .insertInto('api_tokens')
      .values({ ...row, user_id: user.id })
      .execute();
    return token;
  };

  return {
    ...app,
    config,
    clock,
    packagesDir,
    connection: database.connection,
    tokenOf,
    /** Another instance over the same database, on which passwords may be dear; whoever starts it closes it. */
    startTwin: (hashCost: Argon2Cost = CHEAP_HASH) => createApp({ ...deps, hashCost }),
    /** The tables of the database, for what only they can tell. */
    db: () => tables(em()),

    /** Calls procedures in-process; null is somebody without credentials. */
    as: (email: string | null) =>
      createCaller({
        openServices: () => app.openServices(IN_PROCESS),
        authenticate: async () =>
          email ? app.openServices().identity.findByToken(await tokenOf(email)) : null,
        unauthenticated: () => new Problem('unauthenticated'),
        canPrefetch: () => false,
        browser: NO_BROWSER,
        inTransaction: (work) => app.inTransaction(IN_PROCESS, work),
        idempotencyKey: () => null,
        precondition: () => null,
        setPagination: () => {},
        baseUrl: config.baseUrl,
        host: 'localhost:8000',
      }),

    /**
     * Sends `'PATCH /jb/apps/x/'` under `/api/v1`, with a token of the person named. Whatever is answered has to be in
     * the OpenAPI document.
     */
    send: async (line: string, { as, headers, ...options }: Request = {}) => {
      const [method, path] = line.split(' ') as [InjectOptions['method'] & string, string]; // the tests write both
      const authorization = as && { authorization: `Token ${await tokenOf(as)}` };
      const url = path.startsWith('!') ? path.slice(1) : `/api/v1${path}`;
      const answer = await app.server.inject({
        ...options,
        method,
        url,
        headers: Object.fromEntries(
          Object.entries({ ...authorization, ...headers }).filter(([, value]) => value !== undefined),
        ),
      });
      refuseUndocumented(method, url, answer);
      return answer;
    },

    close: async (): Promise<void> => {
      await app.close();
      await database.drop();
      await rm(packagesDir, { recursive: true, force: true });
    },
  };
};

export const ROOT = 'root@steward.test';
export const STAFF = 'staff@steward.test';
export const ACME = 'admin@acme.test';
export const GLOBEX = 'admin@globex.test';
export const ADA = 'ada@acme.test';
export const GRACE = 'grace@acme.test';
export const EDSGER = 'edsger@globex.test';
export const IDLE = 'idle@acme.test';
