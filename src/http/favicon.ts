import type { FastifyInstance } from 'fastify';
import { draw } from './avatars.ts';

/** Browsers ask for it on every page that names no icon, such as a JSON answer. */
export const serveFavicon = (app: FastifyInstance): void => {
  app.get('/favicon.ico', async (_request, reply) =>
    reply
      .type('image/svg+xml; charset=utf-8')
      .header('cache-control', 'public, max-age=86400')
      .send(draw('S')),
  );
};
