import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { type TicketClaims, TicketError, verifyTicket } from '../client/tickets.ts';
import type { Config } from '../config/config.ts';
import { leadsToApi } from '../lib/app-link.ts';
import { appPage, closedPage } from './demo-app-page.ts';

/**
 * A small app like those that Steward opens: `steward demo` serves it for each app, and an app on another host would work the
 * same way. It knows the person only by the ticket, and uses nothing of Steward but two of its URLs.
 */

/** `issuer` is Steward's public URL, as in tickets and links; `steward` the URL at which this app reaches it. */
type StewardUrls = { issuer: string; steward: string };

type AppRequest = { Params: { slug: string }; Querystring: { code?: unknown } };

/** Sets where apps without a `launch_url` open, unless APP_URL does. */
export const withDemoAppUrl = (config: Config): Config =>
  leadsToApi(config.appUrl) ? { ...config, appUrl: `${config.baseUrl}/demo-apps/{slug}/` } : config;

const COOKIE = 'demo_app';
const SESSION_MS = 10 * 60_000;
const MAX_SESSIONS = 1_000;

type Deps = StewardUrls & { store: Config['appStore'] };

/** Adds the apps to a server that does not listen yet. */
export const serveDemoApps = (server: FastifyInstance, { issuer, steward, store }: Deps): void => {
  const sessions = createSessions();

  // For `npm run demo:gated`, which publishes packages there.
  server.get('/demo-apps/', async () =>
    store.kind === 'folder' ? `file:${store.dir}` : `s3://${store.bucket}/${store.prefix}`,
  );

  server.get<AppRequest>('/demo-apps/:slug/', async (request, reply) => {
    const { slug } = request.params;
    const launchUrl = `${issuer}/launch/${encodeURIComponent(slug)}/`;
    const { code } = request.query;
    if (typeof code === 'string') {
      const claims = await redeemCode({ issuer, steward }, slug, code).catch((error: unknown) => {
        if (error instanceof CodeRefused || error instanceof TicketError) return null;
        throw error;
      });
      if (claims === null) return closedPage(reply, launchUrl, 'This link was used before, or has expired.');
      const path = `/demo-apps/${encodeURIComponent(slug)}/`;
      // A redirect, so that the code is neither in the address bar nor in the history, and a reload does not send it again.
      return reply
        .setCookie(COOKIE, sessions.start(claims), {
          path,
          httpOnly: true,
          sameSite: 'lax',
          secure: issuer.startsWith('https:'),
        })
        .redirect(issuer + path, 303);
    }
    const claims = sessions.find(request.cookies[COOKIE], slug);
    return claims === null
      ? closedPage(reply, launchUrl, 'This app has no session of yours, or it has ended.')
      : appPage(reply, claims);
  });
};

class CodeRefused extends Error {}

/**
 * The claims of the person whom the code stands for.
 * @throws CodeRefused, TicketError
 */
const redeemCode = async (
  { issuer, steward }: StewardUrls,
  slug: string,
  code: string,
): Promise<TicketClaims> => {
  const response = await fetch(`${steward}/api/v1/gate/exchange/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code, app: slug }),
  });
  if (response.status === 400) throw new CodeRefused();
  if (!response.ok) throw new Error(`The exchange of a code failed with status ${response.status}.`);
  const { ticket } = (await response.json()) as { ticket: string }; // of the OpenAPI document
  return verifyTicket(ticket, { issuer, app: slug, jwksUrl: `${steward}/.well-known/jwks.json` });
};

/**
 * The app's own sessions, in the memory of this process: with WORKERS, each process has others. They are short: until they end,
 * the app does not notice that Steward has withdrawn the access.
 */
const createSessions = () => {
  const sessions = new Map<string, { claims: TicketClaims; expiresAt: number }>();
  return {
    /** @returns the secret of the session */
    start: (claims: TicketClaims): string => {
      const secret = randomBytes(32).toString('base64url');
      sessions.set(secret, { claims, expiresAt: Date.now() + SESSION_MS });
      const [oldest] = sessions.keys();
      if (sessions.size > MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest);
      return secret;
    },
    find: (secret: string | undefined, slug: string): TicketClaims | null => {
      const session = sessions.get(secret ?? '');
      const isValid = session?.claims.app.slug === slug && session.expiresAt > Date.now();
      return isValid ? session.claims : null;
    },
  };
};
