import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { openApiDocument } from './document.ts';

export const OPENAPI_PATH = '/api/v1/openapi.json';

/** Serves the document. It is made when somebody first asks, and stays the same while the process lives. */
export const serveOpenApi = (app: Pick<FastifyInstance, 'get'>, version: string): void => {
  let made: { text: string; etag: string } | undefined;
  app.get(OPENAPI_PATH, async (request, reply) => {
    made ??= make(version);
    reply.header('cache-control', 'no-cache').header('etag', made.etag);
    if (request.headers['if-none-match'] === made.etag) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(made.text);
  });
};

const make = (version: string) => {
  const text = JSON.stringify(openApiDocument(version));
  return { text, etag: `"${createHash('sha256').update(text).digest('base64url')}"` };
};
