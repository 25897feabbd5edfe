import type { FastifyInstance, FastifyReply } from 'fastify';
import type { JSONWebKeySet } from 'jose';
import { notFound, Problem } from '../lib/problems.ts';
import { JWKS_PATH } from '../lib/ticket-claims.ts';
import { API_INDEX } from './browsable/api-paths.ts';
import { sendResponsePage } from './browsable/response-page.ts';
import { etagOf, isNotModified } from './middleware/conditional-requests.ts';
import type { Csrf } from './middleware/credentials.ts';
import { REST_ENDPOINTS } from './rest/endpoints.ts';
import { refuseOtherMethods } from './rest/methods.ts';
import { JSON_TYPE, JSON_TYPES, negotiateType } from './rest/negotiation.ts';

const STATUS_PATH = '/api/v1/status/';
const CSRF_PATH = '/api/v1/csrf/';
const OPENAPI_PATH = '/api/v1/openapi.json';
const SVG_TYPE = 'image/svg+xml; charset=utf-8';
const AVATAR_SIDE_PX = 96;

export type ServicePathDeps = {
  baseUrl: string;
  /** Steward's own version. */
  version: string;
  csrf: Csrf;
  /** False if only a restart helps. */
  isAlive: () => boolean;
  /** @throws Problem if the reason is known */
  isReady: () => Promise<boolean>;
  /** The keys of tickets that are valid now or soon. */
  readPublicKeys: () => Promise<JSONWebKeySet>;
  jwksMaxAgeSeconds: number;
};

/** Serves the paths that are not procedures. */
export const serveServicePaths = (app: FastifyInstance, deps: ServicePathDeps): void => {
  serveHealthChecks(app, deps);
  serveJwks(app, deps);
  serveAvatars(app);
  serveApiIndex(app, deps);
  app.get(CSRF_PATH, async (request, reply) => ({ csrf_token: deps.csrf.issue(request, reply) }));
  serveOpenApi(app, deps);
  const icons = ['/avatars/:file', '/favicon.ico'];
  const health = ['/healthz', '/readyz', STATUS_PATH];
  refuseOtherMethods(app, [...health, ...icons, JWKS_PATH, API_INDEX, CSRF_PATH, OPENAPI_PATH]);
};

/** Serves the default avatars, a letter or digit on a disc, and the favicon, which is drawn the same way. */
const serveAvatars = (app: FastifyInstance): void => {
  app.get<{ Params: { file: string } }>('/avatars/:file', async (request, reply) => {
    const letter = /^([\p{L}\p{N}])\.svg$/u.exec(request.params.file)?.[1];
    if (!letter) throw notFound('avatar');
    return (
      reply
        .type(SVG_TYPE)
        .header('cache-control', 'public, max-age=31536000, immutable')
        // User profiles link to it, and platforms on other sites embed it.
        .header('cross-origin-resource-policy', 'cross-origin')
        .send(drawAvatar(letter.toUpperCase()))
    );
  });
  app.get('/favicon.ico', async (_request, reply) =>
    reply.type(SVG_TYPE).header('cache-control', 'public, max-age=86400').send(drawAvatar('S')),
  );
};

const drawAvatar = (letter: string): string => {
  const hue = ((letter.codePointAt(0) ?? 0) * 47) % 360;
  const middle = AVATAR_SIDE_PX / 2;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${AVATAR_SIDE_PX} ${AVATAR_SIDE_PX}" role="img" aria-label="${letter}">
<circle cx="${middle}" cy="${middle}" r="${middle}" fill="hsl(${hue} 45% 38%)"/>
<text x="50%" y="50%" dy=".35em" text-anchor="middle" font-family="sans-serif" font-size="${middle}" fill="#fff">${letter}</text>
</svg>`;
};

/** `/api/v1/` lists the URL of every endpoint that can be read without parameters by name, like the API root of Django REST framework. */
const serveApiIndex = (app: FastifyInstance, { baseUrl }: ServicePathDeps): void => {
  app.get(API_INDEX, async (request, reply) => {
    const urls = REST_ENDPOINTS.filter(
      ({ type, method, input }) => type === 'query' && method === 'GET' && input.safeParse({}).success,
    )
      // `/api/v1/jb/users/invitations/` → `users/invitations`
      .map(({ url }) => [url.slice(API_INDEX.length, -1).replace(/^(jb|hashr)\//, ''), baseUrl + url]);
    const index = { docs: `${baseUrl}/docs/`, openapi: baseUrl + OPENAPI_PATH, ...Object.fromEntries(urls) };
    return negotiateType(request, JSON_TYPES) === JSON_TYPE
      ? reply.send(index)
      : sendResponsePage(reply, { json: JSON.stringify(index), type: JSON_TYPE, notes: [] });
  });
};

/** Serves the document, which is generated on the first request and cached. */
const serveOpenApi = (app: FastifyInstance, { version }: ServicePathDeps): void => {
  let json = '';
  app.get(OPENAPI_PATH, async (_request, reply) => {
    if (json === '') {
      const { openApiDocument } = await import('./openapi/document.ts');
      json = JSON.stringify(openApiDocument(version));
    }
    return sendJsonWithEtag(reply.header('cache-control', 'no-cache'), json);
  });
};

/**
 * `/healthz` succeeds while the process responds and can use its connections. It sends no query, so that a database outage does not restart
 * the service. `/readyz` succeeds if the database responds, has all migrations and accepts writes. The path of the replaced service does
 * the same, but hides the reason of a failure from its anonymous callers.
 */
const serveHealthChecks = (app: FastifyInstance, { isAlive, isReady }: ServicePathDeps): void => {
  app.get('/healthz', async () => {
    if (!isAlive()) throw new Problem('overloaded', { detail: 'All database connections are lost.' });
    return { status: 'ok' };
  });
  const checkReadiness = async () => {
    const isAvailable = await isReady().catch((error: unknown) => {
      if (error instanceof Problem) throw error;
      return false;
    });
    if (!isAvailable) throw new Problem('database-unavailable');
    return { status: 'ready' };
  };
  app.get('/readyz', checkReadiness);
  app.get(STATUS_PATH, () => checkReadiness().catch(rethrowWithoutDetail));
};

const rethrowWithoutDetail = (error: unknown): never => {
  throw error instanceof Problem ? new Problem(error.code, { cause: error }) : error;
};

/** Serves the public keys of tickets (RFC 7517), which scripts of all sites may read. */
const serveJwks = (app: FastifyInstance, { readPublicKeys, jwksMaxAgeSeconds }: ServicePathDeps): void => {
  app.get(JWKS_PATH, async (_request, reply) => {
    const json = JSON.stringify(await readPublicKeys());
    reply
      .header('cache-control', `public, max-age=${jwksMaxAgeSeconds}`)
      .header('access-control-allow-origin', '*')
      .header('cross-origin-resource-policy', 'cross-origin');
    return sendJsonWithEtag(reply, json);
  });
};

/** A weak tag, so that the text may be compressed. */
const sendJsonWithEtag = (reply: FastifyReply, json: string) => {
  const etag = etagOf({}, json);
  reply.header('etag', `W/${etag}`);
  if (isNotModified(reply.request, etag)) return reply.code(304).send();
  return reply.type('application/json; charset=utf-8').send(json);
};
