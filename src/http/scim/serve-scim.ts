import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { notFound, Problem } from '../../lib/problems.ts';
import { createTimeLimit } from '../../lib/time-limit.ts';
import type { ActingDirectory } from '../../services/directory/directory-rows.ts';
import { readToken } from '../middleware/credentials.ts';
import { type ContextDeps, contextOf, lookUpCaller } from '../middleware/request-context.ts';
import { problemOfHttpError } from '../rest/problem-document.ts';
import { answerBulk } from './bulk.ts';
import { MAX_BODY_BYTES, resourceTypes, schemas, serviceProviderConfig } from './discovery.ts';
import { listResponse, SCIM_JSON, sendScimError } from './messages.ts';
import { type Answer, answerResource, RESOURCE_PATH, type ResourceRequest } from './resources.ts';

const PREFIX = '/scim/v2/:client';

type Params = { client: string; '*': string };

/** Serves directories (SCIM 2.0, RFC 7644): below an address for each client, its users and groups. */
export const serveScim = async (app: FastifyInstance, deps: ContextDeps): Promise<void> => {
  await app.register(async (scim) => {
    readBodies(scim);
    scim.setErrorHandler((error, request, reply) => {
      log(request, deps, error);
      return sendScimError(reply, error);
    });
    scim.route({
      method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
      url: `${PREFIX}/*`,
      bodyLimit: MAX_BODY_BYTES,
      exposeHeadRoute: false,
      // Before the body is read.
      onRequest: async (request) => {
        await findDirectory(request, deps);
      },
      handler: async (request, reply) => {
        const answer = await answerRequest(request, reply, deps);
        log(request, deps, null, answer.status);
        return reply
          .code(answer.status)
          .headers(answer.headers ?? {})
          .type(SCIM_JSON)
          .send(answer.body);
      },
    });
  });
};

/** Directories also name the type of a body that they do not send. */
const readBodies = (scim: FastifyInstance): void => {
  const parse = scim.getDefaultJsonParser('error', 'error');
  scim.removeAllContentTypeParsers();
  scim.addContentTypeParser([SCIM_JSON, 'application/json'], { parseAs: 'string' }, (request, body, done) =>
    body === '' ? done(null, undefined) : parse(request, String(body), done),
  );
};

const paramsOf = (request: FastifyRequest): Params => request.params as Params; // of the route

const clientOf = (request: FastifyRequest): number | null => {
  const { client } = paramsOf(request);
  return /^\d{1,9}$/.test(client) ? Number(client) : null;
};

const NO_TOKEN = {
  detail:
    'The token is missing, invalid or expired. Make one in Steward, in the tab Directory of the client.',
};

/**
 * The directory that a request speaks for.
 * @throws Problem `unauthenticated`, and those of `speakFor`
 */
const findDirectory = async (request: FastifyRequest, deps: ContextDeps): Promise<ActingDirectory> => {
  const context = contextOf(request, deps);
  const actor = readToken(request) === null ? null : await lookUpCaller(request, deps);
  if (!actor) throw new Problem('unauthenticated', NO_TOKEN);
  request.state.userId = actor.id;
  const directory = context.openServices().directories.speakFor(actor, clientOf(request));
  context.recordUse(actor, 'scim', ['scim']);
  return directory;
};

/** Remembers a request of the directory of the path. Those of other callers are not its requests. */
const log = (request: FastifyRequest, deps: ContextDeps, error: unknown, answered?: number): void => {
  const problem = error === null ? null : problemOfHttpError(error);
  const record = (directory: ActingDirectory): void => {
    const { client } = directory;
    const status = answered ?? problem?.status ?? 500;
    const received = { client, method: request.method, path: pathOf(request), status };
    contextOf(request, deps)
      .openServices()
      .directories.record({ ...received, error: problem?.message ?? null });
  };
  findDirectory(request, deps).then(record, () => {}); // it is no request of a directory
};

/** Others may be secrets. */
const LOGGED_PARAMETERS = [
  'filter',
  'startIndex',
  'count',
  'sortBy',
  'sortOrder',
  'attributes',
  'excludedAttributes',
];

/** The path below the address of the directory, with the parameters of SCIM. */
const pathOf = ({ url, params, query }: FastifyRequest): string => {
  const { client } = params as Params; // of the route
  const [, path = ''] = (url.split('?')[0] ?? '').split(`/scim/v2/${client}`);
  const parameters = Object.entries(query as Record<string, unknown>) // parsed by Fastify
    .filter(([name]) => LOGGED_PARAMETERS.includes(name))
    .map(([name, value]) => `${name}=${String(value)}`);
  return parameters.length > 0 ? `${path}?${parameters.join('&')}` : path;
};

const answerRequest = async (
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ContextDeps,
): Promise<Answer> => {
  const directory = await findDirectory(request, deps);
  const path = `/${paramsOf(request)['*'].replace(/\/$/, '')}`;
  const base = `${deps.baseUrl}/scim/v2/${directory.client}`;
  const { method, body } = request;
  const run = (one: Omit<ResourceRequest, 'base' | 'directory'>) =>
    answerWithin(request, deps, directory, { ...one, base });
  if (path === '/Bulk') {
    if (method !== 'POST') throw new Problem('method-not-allowed');
    return answerBulk(body, base, run);
  }
  if (RESOURCE_PATH.test(path)) {
    const { headers, query } = request;
    return run({
      method,
      path,
      body,
      query,
      ifMatch: headers['if-match'] ?? null,
      ifNoneMatch: headers['if-none-match'] ?? null,
    });
  }
  return answerAbout(base, method, path, reply);
};

/** Each request, and each operation of a bulk request, has its own time and transaction. */
const answerWithin = (
  request: FastifyRequest,
  deps: ContextDeps,
  directory: ActingDirectory,
  one: Omit<ResourceRequest, 'directory'>,
): Promise<Answer> => {
  const limit = createTimeLimit(deps.timeLimitMs);
  const services = contextOf(request, deps).openServices(async () => limit.requireTime());
  return limit.run(() => answerResource(services, { ...one, directory }));
};

const NOT_IMPLEMENTED = 'A directory is not a person, so there is no /Me.';

const answerAbout = (base: string, method: string, path: string, reply: FastifyReply): Answer => {
  if (path.toLowerCase() === '/me')
    return {
      status: 501,
      body: {
        schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
        status: '501',
        detail: NOT_IMPLEMENTED,
      },
    };
  const [, kind = '', id] = /^\/(ServiceProviderConfig|ResourceTypes|Schemas)(?:\/(.+))?$/.exec(path) ?? [];
  if (kind === '') throw notFound('path in a directory');
  if (method !== 'GET') {
    reply.header('allow', 'GET');
    throw new Problem('method-not-allowed');
  }
  if (kind === 'ServiceProviderConfig') return { status: 200, body: serviceProviderConfig(base) };
  const all: readonly { id: string }[] = kind === 'Schemas' ? schemas(base) : resourceTypes(base);
  if (id === undefined) return { status: 200, body: listResponse(all.length, 1, all) };
  const one = all.find((each) => each.id === id);
  if (!one) throw notFound(kind === 'Schemas' ? 'schema' : 'resource type');
  return { status: 200, body: one };
};
