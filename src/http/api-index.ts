import type { FastifyInstance } from 'fastify';
import { API_INDEX } from './browsable/api-paths.ts';
import { sendResponsePage } from './browsable/response-page.ts';
import { OPENAPI_PATH } from './openapi/serve-openapi.ts';
import { restEndpoints } from './rest/endpoints.ts';
import { JSON_TYPE, JSON_TYPES, negotiateType } from './rest/negotiation.ts';

/** `/api/v1/` lists the URL of every endpoint that can be read without parameters by name, like the API root of Django REST framework. */
export const serveApiIndex = (app: FastifyInstance, baseUrl: string): void => {
  const index = indexOf(baseUrl);
  app.get(API_INDEX, async (request, reply) =>
    negotiateType(request, JSON_TYPES) === JSON_TYPE
      ? reply.send(index)
      : sendResponsePage(request, reply, { json: JSON.stringify(index), type: JSON_TYPE, notes: [] }),
  );
};

const indexOf = (baseUrl: string): Record<string, string> => {
  const urls = restEndpoints()
    .filter(({ method, input }) => method === 'GET' && input.safeParse({}).success)
    .map(({ url }): [string, string] => [nameOf(url), baseUrl + url]);
  return { docs: `${baseUrl}/docs/`, openapi: baseUrl + OPENAPI_PATH, ...Object.fromEntries(urls) };
};

/** `/api/v1/jb/users/invitations/` → `users/invitations`. */
const nameOf = (url: string): string => url.slice(API_INDEX.length, -1).replace(/^(jb|hashr)\//, '');
