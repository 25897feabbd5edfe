import type { FastifyInstance } from 'fastify';
import { notFound } from '../lib/problems.ts';

const SIDE_PX = 96;

/** Draws the default avatar: a letter or digit on a disc, the same for everybody who starts with it. */
export const serveAvatars = (app: FastifyInstance): void => {
  app.get<{ Params: { file: string } }>('/avatars/:file', async (request, reply) => {
    const letter = /^([\p{L}\p{N}])\.svg$/u.exec(request.params.file)?.[1];
    if (!letter) throw notFound('avatar');
    return (
      reply
        .type('image/svg+xml; charset=utf-8')
        .header('cache-control', 'public, max-age=31536000, immutable')
        // Profiles name it by its address, and platforms of other sites show them.
        .header('cross-origin-resource-policy', 'cross-origin')
        .send(draw(letter.toUpperCase()))
    );
  });
};

/** An SVG of a letter on a disc. */
export const draw = (letter: string): string => {
  const hue = ((letter.codePointAt(0) ?? 0) * 47) % 360;
  const middle = SIDE_PX / 2;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIDE_PX} ${SIDE_PX}" role="img" aria-label="${letter}">
<circle cx="${middle}" cy="${middle}" r="${middle}" fill="hsl(${hue} 45% 38%)"/>
<text x="50%" y="50%" dy=".35em" text-anchor="middle" font-family="sans-serif" font-size="${middle}" fill="#fff">${letter}</text>
</svg>`;
};
