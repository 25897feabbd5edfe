import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type Provider from 'oidc-provider';
import type { Clock } from '../../lib/clock.ts';
import { notFound } from '../../lib/problems.ts';
import { createTimeLimit } from '../../lib/time-limit.ts';
import type { SigningKeys } from '../../services/gate/signing-keys.ts';
import { acceptsSecureCookies } from '../gate/embed-cookie.ts';
import { lookCookieName } from '../gate/look-cookie.ts';
import { cookieName } from '../middleware/credentials.ts';
import { type ContextDeps, contextOf, isHttps, lookUpCaller } from '../middleware/request-context.ts';
import { sendOpenidPage } from '../pages/openid.ts';
import { createPageContext } from '../pages/page-context.ts';
import { redirectTo } from '../pages/page-layout.ts';
import { refuseOtherMethods } from '../rest/methods.ts';

export type OpenidDeps = ContextDeps & {
  secretKey: string;
  clock: Clock;
  signingKeys: SigningKeys;
};

const DISCOVERY = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'];

/** The paths of the protocol with their methods, beside OPTIONS for scripts of other sites. */
const ROUTES: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(DISCOVERY.map((path) => [path, ['GET']])),
  '/oidc/authorize': ['GET'],
  '/oidc/logout': ['GET'],
  '/oidc/jwks': ['GET'],
  '/oidc/userinfo': ['GET', 'POST'],
  '/oidc/token': ['POST'],
  '/oidc/introspect': ['POST'],
  '/oidc/revoke': ['POST'],
};

/** Paths that a form of the app may open too. They continue with a GET, which has the cookies of Steward. */
const FORMS = ['/oidc/authorize', '/oidc/logout'];

const MAX_FORM_BYTES = 16 * 1024;
/** The limit of the protocol library. */
const MAX_BODY_BYTES = 56 * 1024;

/** Serves OpenID Connect, by a library that is loaded with the first request, if an app of the installation uses it. */
export const serveOpenid = async (app: FastifyInstance, deps: OpenidDeps): Promise<void> => {
  const provider = createProviderCache(deps);

  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const context = contextOf(request, deps);
    if (!(await context.openServices().openidApps.exist())) throw notFound('path');
    const { visit, serve } = await provider(request, context.openServices);
    await createTimeLimit(deps.timeLimitMs).run(() => serve(request, reply));
    if (visit.fault !== null) throw visit.fault;
    const headers = takeHeaders(reply);
    if (visit.page !== null) return sendOpenidPage(createPageContext(reply, deps), visit.page);
    if (visit.answer === null) throw new Error('the protocol library gave no answer');
    return reply
      .code(visit.answer.status)
      .headers(headers)
      .send(visit.answer.body ?? undefined);
  };

  await app.register(async (protocol) => {
    leaveBodiesUnread(protocol);
    for (const [url, methods] of Object.entries(ROUTES))
      protocol.route({
        method: [...methods, 'OPTIONS'],
        url,
        bodyLimit: MAX_BODY_BYTES,
        exposeHeadRoute: false,
        handler: answer,
      });
  });
  await app.register(async (forms) => {
    forms.removeAllContentTypeParsers();
    forms.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
      (_request, body, done) => done(null, String(body)),
    );
    for (const url of FORMS)
      forms.post<{ Body: string }>(url, { config: { onlyRedirects: true } }, async (request, reply) =>
        redirectTo(reply, `${url}?${new URLSearchParams(request.body)}`),
      );
  });
  refuseOtherMethods(app, Object.keys(ROUTES));
};

/** The library reads bodies itself. */
const leaveBodiesUnread = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
};

type OpenServices = ReturnType<typeof contextOf>['openServices'];

/** The provider with the present signing keys, and the visit of a request to it. */
const createProviderCache = (deps: OpenidDeps) => {
  const { baseUrl, secretKey, clock, sessionMaxDays, signingKeys } = deps;
  let cached: { keyIds: string; provider: Provider; serve: ReturnType<Provider['callback']> } | null = null;
  const isSecure = acceptsSecureCookies(baseUrl);
  const issuer = new URL(baseUrl);

  const load = async () => {
    const { createProvider } = await import('./provider.ts');
    const rings = [signingKeys['openid-rs256'], signingKeys['openid-es256']];
    const keys = (await Promise.all(rings.map((ring) => ring.openKeys()))).flat();
    const keyIds = keys.map(({ id }) => id).join(' ');
    if (cached?.keyIds === keyIds) return cached;
    const sessionCookie = cookieName('session', isHttps(baseUrl));
    const provider = createProvider({
      baseUrl,
      secretKey,
      sessionCookie,
      sessionMaxDays,
      clock,
      keys,
    });
    cached = { keyIds, provider, serve: provider.callback() };
    return cached;
  };

  return async (request: FastifyRequest, openServices: OpenServices) => {
    const { serve } = await load();
    const { createVisit, rememberVisit } = await import('./visit.ts');
    const visit = createVisit({
      openServices: () => openServices(),
      findActor: () => lookUpCaller(request, deps),
      lookSecretOf: (slug) => request.cookies[lookCookieName(slug, isSecure)] ?? null,
    });
    rememberVisit(request.raw, visit);
    return {
      visit,
      serve: ({ raw }: FastifyRequest, reply: FastifyReply): Promise<void> => {
        // The library takes the addresses of its endpoints from these.
        raw.headers['x-forwarded-host'] = issuer.host;
        raw.headers['x-forwarded-proto'] = issuer.protocol.slice(0, -1);
        return serve(raw, reply.raw);
      },
    };
  };
};

/** The headers that the library has set. Its cookies are not needed. */
const takeHeaders = ({ raw }: FastifyReply) => {
  const headers = raw.getHeaders();
  for (const name of Object.keys(headers)) raw.removeHeader(name);
  const { 'set-cookie': _, 'content-length': __, ...others } = headers;
  return others;
};
