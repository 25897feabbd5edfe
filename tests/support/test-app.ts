import type { FastifyInstance, InjectOptions } from 'fastify';
import type { Context } from '../../routers/context.ts';
import { createCaller } from '../../routers/index.ts';
import type { Argon2Cost } from '../../src/adapters/hashing/password-hashes.ts';
import { createApp } from '../../src/app.ts';
import type { Send } from '../../src/client.ts';
import { readConfig } from '../../src/config/config.ts';
import { kysely } from '../../src/db/kysely.ts';
import { newToken } from '../../src/lib/ids.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { Problem } from '../../src/lib/problems.ts';
import { tokenDigest } from '../../src/services/auth/credentials.ts';
import { makeScratchFolder } from './files.ts';
import { assertDocumented } from './openapi.ts';
import { suiteWith } from './suite.ts';
import { createTestDatabase } from './test-database.ts';
import { CHEAP_HASH } from './test-server.ts';
import { createTestClock } from './time.ts';

export { DEMO_PASSWORD } from './test-server.ts';

/** In-process callers have no cookies. */
const NO_COOKIE = { value: null, keep: () => {}, forget: () => {} };
const NO_BROWSER = {
  userAgent: 'tests',
  session: null,
  challenge: NO_COOKIE,
  passkey: NO_COOKIE,
  sso: NO_COOKIE,
  prepareLogin: () => {},
  keepSession: () => '',
  forgetSession: () => {},
};

/** Longer than the service's own, as tests run on busy machines. Also of requests to identity providers. */
const TIME_LIMIT_MS = 60_000;
/** Likewise, of waits for a connection and for locks: below the limit of a query, after which the pool closes its connection. */
const PATIENCE = {
  connectTimeoutMs: TIME_LIMIT_MS,
  startupOptions: '-c lock_timeout=13s -c statement_timeout=13s',
};

export const SECRET_KEY = 'a secret key that only tests ever use';
const IN_PROCESS = { requestId: 'in-process', address: '127.0.0.1' };

type Request = Omit<InjectOptions, 'method' | 'url' | 'headers'> & {
  as?: string;
  headers?: Record<string, string | undefined>;
};
export type TestApp = Awaited<ReturnType<typeof startTestApp>>;

/** The whole service with a new database and the demo workspace, not listening. */
export const startTestApp = async (
  settings: Record<string, string> = {},
  limits: { timeLimitMs?: number; providerTimeoutMs?: number } = {},
) => {
  const database = await createTestDatabase('demo');
  // A suite with a limit of its own tests those of the service.
  const connection = { ...database.connection, ...(limits.timeLimitMs === undefined && PATIENCE) };
  const { timeLimitMs = TIME_LIMIT_MS, providerTimeoutMs = TIME_LIMIT_MS } = limits;
  const packages = await makeScratchFolder();
  const config = readConfig({
    APP_STORE: `file:${packages.path}`,
    LOG_LEVEL: 'silent',
    SSO_PRIVATE_NETWORKS: '1',
    WEBHOOK_PRIVATE_NETWORKS: '1',
    ...settings,
  });
  const clock = createTestClock();
  const txtRecords = new Map<string, string[]>();
  const logger = createLogger(config.logLevel);
  const deps = {
    config,
    connection,
    secretKey: SECRET_KEY,
    logger,
    clock,
    hashCost: CHEAP_HASH,
    timeLimitMs,
    providerTimeoutMs,
    // No work goes on in the background, whose locks would hold up the next call.
    erasurePatienceMs: TIME_LIMIT_MS,
    readTxtRecords: async (name: string) => txtRecords.get(name) ?? [],
  };
  const app = await createApp(deps);
  const em = () => app.orm.em.fork();

  const tokens = new Map<string, Promise<string>>();
  /** A token as a login returns it, without the cost of hashing a password. */
  const tokenOf = (email: string): Promise<string> => {
    const token = tokens.get(email) ?? addToken(email);
    tokens.set(email, token);
    return token;
  };
  const addToken = async (email: string): Promise<string> => {
    const token = newToken();
    const at = clock.now();
    const row = { digest: tokenDigest(token), created_at: at, last_used: at, authenticated_at: at };
    const db = kysely(em());
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

  const contextOf = (email: string | null): Context => ({
    openServices: (confirmBeforeCommit) => app.openServices(IN_PROCESS, confirmBeforeCommit),
    recordUse: app.recordUse,
    timeLimitMs,
    findActor: async () =>
      email ? app.openServices().authentication.findByToken(await tokenOf(email)) : null,
    unauthenticated: () => new Problem('unauthenticated'),
    browser: NO_BROWSER,
    inTransaction: (work, confirmBeforeCommit) => app.inTransaction(IN_PROCESS, work, confirmBeforeCommit),
    idempotencyKey: () => null,
    precondition: () => null,
    setPagination: () => {},
    baseUrl: config.baseUrl,
    appUrl: config.appUrl,
    host: 'localhost:8000',
  });

  return {
    ...app,
    config,
    clock,
    packagesDir: packages.path,
    /** What name servers answer, by name. */
    txtRecords,
    connection,
    tokenOf,
    /** Another instance on the same database. The caller closes it. */
    startTwin: (hashCost: Argon2Cost = CHEAP_HASH) => createApp({ ...deps, hashCost }),
    /** Queries the tables, for state that no endpoint shows. */
    db: () => kysely(em()),

    /** Calls procedures in-process; null sends no credentials. */
    as: (email: string | null) => createCaller(contextOf(email)),
    contextOf,
    /** Makes the token of a user one that was made in a session of this connection, so that it is confined to its client. */
    confine: async (email: string, connectionId: number): Promise<void> => {
      const tokens = kysely(em()).updateTable('api_tokens').set({ connection_id: connectionId });
      await tokens.where('digest', '=', tokenDigest(await tokenOf(email))).execute();
    },

    /** For a user whose token a test has revoked. */
    renewToken: (email: string): Promise<string> => {
      tokens.delete(email);
      return tokenOf(email);
    },

    /**
     * Sends `'PATCH /jb/apps/x/'` under `/api/v1`, with a token of the user `as`. Fails if the OpenAPI document does not
     * describe the response.
     */
    send: async (line: string, { as, headers, ...options }: Request = {}) => {
      const [method, path] = line.split(' ') as [InjectOptions['method'] & string, string]; // tests always pass both
      const authorization = as && { authorization: `Token ${await tokenOf(as)}` };
      const url = path.startsWith('!') ? path.slice(1) : `/api/v1${path}`;
      const response = await app.server.inject({
        ...options,
        method,
        url,
        headers: Object.fromEntries(
          Object.entries({ ...authorization, ...headers }).filter(([, value]) => value !== undefined),
        ),
      });
      assertDocumented(method, url, response);
      return response;
    },

    close: async (): Promise<void> => {
      await app.close();
      await database.drop();
      await packages[Symbol.asyncDispose]();
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

/** A suite whose tests share one app with a new demo workspace. */
export const appSuite = (
  name: string,
  settings: Record<string, string> = {},
  options: Parameters<typeof startTestApp>[1] = {},
) =>
  suiteWith(name, async (started) => {
    const app = await startTestApp(settings, options);
    started.defer(app.close);
    return { app };
  });

/** The address of the app. The first call makes it listen. */
export const addressOf = async ({ server }: TestApp): Promise<string> => {
  if (!server.server.listening) await server.listen({ port: 0, host: '127.0.0.1' });
  return server.listeningOrigin;
};

const NULL_BODY_STATUSES = new Set([204, 304]);

/** A `fetch` that passes requests to the server in-process. It buffers the response and keeps no cookies. */
export const createInjectFetch =
  (server: Pick<FastifyInstance, 'inject'>): Send =>
  async (url, { method = 'GET', headers, body } = {}) => {
    const answer = await server.inject({
      method: method === 'POST' ? 'POST' : 'GET',
      url,
      headers: Object.fromEntries(new Headers(headers)),
      payload: String(body ?? ''),
    });
    return new Response(NULL_BODY_STATUSES.has(answer.statusCode) ? null : answer.body, {
      status: answer.statusCode,
      headers: Object.entries(answer.headers).flatMap(([name, values]) =>
        [values].flat().map((value): [string, string] => [name, String(value)]),
      ),
    });
  };

/** The path as `TestApp.send` takes it: without `/api/v1`, or after a `!` if it is elsewhere. */
export const restPath = (url: string): string =>
  url.startsWith('/api/v1/') ? url.slice('/api/v1'.length) : `!${url}`;
