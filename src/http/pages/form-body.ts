import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../../lib/problems.ts';

/** Forms take time in the square of their size to read elsewhere; none of ours comes near this. */
export const MAX_FORM_BYTES = 16 * 1024;

/** Takes forms as browsers send them, and no other body: files are no part of any page. */
export const takeForms = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
    (_request, text, done) => done(null, Object.fromEntries(new URLSearchParams(String(text)))),
  );
  app.addContentTypeParser('*', (_request, _payload, done) => done(new Problem('unsupported-media-type')));
};

/** A field of the form that was sent; empty when it was not. */
export const fieldOf = (request: FastifyRequest, name: string): string => textOf(request.body, name) ?? '';

/** A value in the query of the address. */
export const queried = (request: FastifyRequest, name: string): string | undefined =>
  textOf(request.query, name);

const textOf = (values: unknown, name: string): string | undefined => {
  if (typeof values !== 'object' || values === null || !Object.hasOwn(values, name)) return undefined;
  const value: unknown = Reflect.get(values, name);
  return typeof value === 'string' ? value : undefined;
};
