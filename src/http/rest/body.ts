import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../../lib/problems.ts';
import { limitJsonComplexity } from './json-complexity.ts';

/**
 * Reads every body as bytes, whatever its content type. Fastify would refuse a malformed type
 * (`application-json`) before looking whether there is a body at all; so the header is put aside first.
 */
export const parseBodiesAsBuffers = (app: FastifyInstance): void => {
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers, rawHeaders } = request.raw;
    if (headers['content-type'] !== undefined) {
      request.state.mediaType = lastHeader(rawHeaders, 'content-type') ?? headers['content-type'];
      delete headers['content-type'];
    }
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes));
};

/**
 * The last of several headers with the same name; Node keeps the first. A PHP client appends the content type of a
 * multipart body to the default one, which its library has already set.
 */
const lastHeader = (rawHeaders: readonly string[], name: string): string | undefined => {
  const at = rawHeaders.findLastIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name);
  return at === -1 ? undefined : rawHeaders[at + 1];
};

/**
 * The body as JSON, or as a form where those are taken. No body, whatever its content type says, is `{}`.
 * @throws Problem `unsupported-media-type`, `malformed-body`, `invalid-input` when it holds too many values
 */
export const readBody = async (request: FastifyRequest, takesForms: boolean): Promise<unknown> => {
  const bytes = request.body;
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return {};
  const { mediaType } = request.state;
  if (takesForms && FORM_TYPE.test(mediaType)) return readForm(bytes, mediaType);
  if (!isJson(mediaType)) throw new Problem('unsupported-media-type');
  return readJson(bytes);
};

const FORM_TYPE = /^(application\/x-www-form-urlencoded|multipart\/form-data)\s*(;|$)/i;

/** RFC 8259 §8.1: JSON is UTF-8. A body that names no type is taken for JSON. */
const isJson = (mediaType: string): boolean => {
  const [type = '', ...parameters] = mediaType.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  return (
    (type === '' || type === 'application/json') && (charset === undefined || /^"?utf-?8"?$/.test(charset))
  );
};

const readJson = (bytes: Buffer): unknown => {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    limitJsonComplexity(text);
    return text.trim() === '' ? {} : JSON.parse(text);
  } catch (cause) {
    if (cause instanceof Problem) throw cause;
    throw new Problem('malformed-body', { detail: 'The request body is not valid JSON.', cause });
  }
};

/** The platform's own parser for both kinds of forms. Files are no field of anything here. */
const readForm = async (bytes: Buffer, mediaType: string): Promise<Record<string, string>> => {
  try {
    const form = await new Response(new Uint8Array(bytes), {
      headers: { 'content-type': mediaType },
    }).formData();
    const fields: Record<string, string> = {};
    for (const [name, value] of form) if (typeof value === 'string') fields[name] = value;
    return fields;
  } catch (cause) {
    throw new Problem('malformed-body', { detail: 'The request body is not a valid form.', cause });
  }
};
