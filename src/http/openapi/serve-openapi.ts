import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { openApiDocument } from './document.ts';

export const OPENAPI_PATH = '/api/v1/openapi.json';

/** Serves the document, which is generated on the first request and cached. */
export const serveOpenApi = (app: Pick<FastifyInstance, 'get'>, version: string): void => {
  let cached: { json: string; etag: string } | undefined;
  app.get(OPENAPI_PATH, async (request, reply) => {
    cached ??= generate(version);
    reply.header('cache-control', 'no-cache').header('etag', cached.etag);
    if (request.headers['if-none-match'] === cached.etag) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(cached.json);
  });
};

const generate = (version: string) => {
  const json = JSON.stringify(openApiDocument(version));
  return { json, etag: `"${createHash('sha256').update(json).digest('base64url')}"` };
};
