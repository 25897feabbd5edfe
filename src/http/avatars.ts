import type { FastifyInstance } from 'fastify';
import { notFound } from '../lib/problems.ts';

const SIDE_PX = 96;

/** Serves the default avatars, a letter or digit on a disc, and the favicon, which is drawn the same way. */
export const serveAvatars = (app: FastifyInstance): void => {
  app.get<{ Params: { file: string } }>('/avatars/:file', async (request, reply) => {
    const letter = /^([\p{L}\p{N}])\.svg$/u.exec(request.params.file)?.[1];
    if (!letter) throw notFound('avatar');
    return (
      reply
        .type('image/svg+xml; charset=utf-8')
        .header('cache-control', 'public, max-age=31536000, immutable')
        // User profiles link to it, and platforms on other sites embed it.
        .header('cross-origin-resource-policy', 'cross-origin')
        .send(draw(letter.toUpperCase()))
    );
  });
  app.get('/favicon.ico', async (_request, reply) =>
    reply
      .type('image/svg+xml; charset=utf-8')
      .header('cache-control', 'public, max-age=86400')
      .send(draw('S')),
  );
};

const draw = (letter: string): string => {
  const hue = ((letter.codePointAt(0) ?? 0) * 47) % 360;
  const middle = SIDE_PX / 2;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIDE_PX} ${SIDE_PX}" role="img" aria-label="${letter}">
<circle cx="${middle}" cy="${middle}" r="${middle}" fill="hsl(${hue} 45% 38%)"/>
<text x="50%" y="50%" dy=".35em" text-anchor="middle" font-family="sans-serif" font-size="${middle}" fill="#fff">${letter}</text>
</svg>`;
};
