import { setImmediate as nextTurn } from 'node:timers/promises';
import { Tokenizer, TokenizerError, TokenParser } from '@streamparser/json';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalid, Problem } from '../../lib/problems.ts';

/** A bulk of 10,000 usage entries holds about 300,000 values. `JSON.parse` of 500,000 takes up to 150 ms. */
const MAX_VALUES = 500_000;
/** Shorter texts are always parsed fast. */
const MIN_CHECKED_LENGTH = 1024 * 1024;
const [COMMA, BRACKET, BRACE] = [',', '[', '{'].map((character) => character.charCodeAt(0));

const FORM_TYPE = /^(application\/x-www-form-urlencoded|multipart\/form-data)\s*(;|$)/i;

/**
 * Reads every body as a buffer, regardless of its content type. Fastify would reject a malformed type (`application-json`)
 * even when there is no body, so the header is moved into the request state first.
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
 * The last of several headers with the same name; Node keeps the first. PHP clients append the content type of a multipart
 * body to the default one that their library has set.
 */
const lastHeader = (rawHeaders: readonly string[], name: string): string | undefined => {
  const index = rawHeaders.findLastIndex((text, at) => at % 2 === 0 && text.toLowerCase() === name);
  return index === -1 ? undefined : rawHeaders[index + 1];
};

/**
 * Parses the body as JSON, or as a form where `takesForms`. An empty body is `{}`, regardless of its content type.
 * @throws Problem `unsupported-media-type`, `malformed-body`, or `invalid-input` for too many JSON values
 */
export const readBody = async (request: FastifyRequest, takesForms: boolean): Promise<unknown> => {
  const bytes = request.body;
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return {};
  const { mediaType } = request.state;
  if (takesForms && FORM_TYPE.test(mediaType)) return parseForm(bytes, mediaType);
  if (FORM_TYPE.test(mediaType))
    throw new Problem('unsupported-media-type', {
      detail: 'The request body must be JSON (Content-Type: application/json), not a form.',
    });
  if (!isJson(mediaType)) throw new Problem('unsupported-media-type');
  return parseJson(bytes);
};

/** Whether the body is a form, which `readBody` parses to texts. */
export const isForm = ({ state }: FastifyRequest): boolean => FORM_TYPE.test(state.mediaType);

/** RFC 8259 §8.1: JSON is UTF-8. A body without a content type is read as JSON. */
const isJson = (mediaType: string): boolean => {
  const [type = '', ...parameters] = mediaType.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  return (
    (type === '' || type === 'application/json') && (charset === undefined || /^"?utf-?8"?$/.test(charset))
  );
};

const parseJson = async (bytes: Buffer): Promise<unknown> => {
  const text = decodeUtf8(bytes);
  limitJsonComplexity(text);
  try {
    return text.trim() === '' ? {} : JSON.parse(text);
  } catch (cause) {
    const error = await describeJsonError(bytes);
    const detail = `The body is not valid JSON${error === null ? '' : `: ${error}`}.`;
    throw new Problem('malformed-body', { detail, cause });
  }
};

const decodeUtf8 = (bytes: Buffer): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Problem('malformed-body', { detail: 'The body is not valid UTF-8.', cause });
  }
};

/**
 * Limits the number of values before parsing, at 2 ns per character: 16 MiB of `[],[],[]` would block the event loop for
 * seconds. It also counts characters inside strings, which does not matter at this limit.
 * @throws Problem `invalid-input`
 */
export const limitJsonComplexity = (text: string): void => {
  if (text.length <= MIN_CHECKED_LENGTH) return;
  let values = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === COMMA || code === BRACKET || code === BRACE) values += 1;
  }
  if (values > MAX_VALUES)
    throw invalid({
      body: [`Must not contain more than ${MAX_VALUES} values. Split it into several requests.`],
    });
};

/** Parses both kinds of forms with the platform's own parser. Ignores files: no endpoint takes any. */
const parseForm = async (bytes: Buffer, mediaType: string): Promise<Record<string, string>> => {
  try {
    const form = await new Response(new Uint8Array(bytes), {
      headers: { 'content-type': mediaType },
    }).formData();
    const fields: Record<string, string> = {};
    for (const [name, value] of form) if (typeof value === 'string') fields[name] = value;
    return fields;
  } catch (cause) {
    throw new Problem('malformed-body', { detail: 'The body is not a valid form.', cause });
  }
};

/**
 * Smaller bodies are not counted, so that logins, which may have this size, still work while large uploads fill the budget. Two
 * thousand connections that hold one each take 32 MiB.
 */
const SMALL_BYTES = 16 * 1024;
/** A body is in memory as a buffer, a string and objects, which takes several times its size. */
const AUTHENTICATED_BYTES = 32 * 1024 * 1024;
/** Separate, so that anonymous uploads cannot block those of authenticated callers. */
const ANONYMOUS_BYTES = 8 * 1024 * 1024;

/** The upper bound of the body's size according to the headers; 0 if there is no body. */
const bodyBytes = (request: FastifyRequest): number =>
  request.headers['transfer-encoding'] === undefined
    ? Number(request.headers['content-length'] ?? 0)
    : request.routeOptions.bodyLimit;

export const hasLargeBody = (request: FastifyRequest): boolean => bodyBytes(request) > SMALL_BYTES;

/**
 * Limits the memory that all request bodies take together. A large body that exceeds the budget is refused before it is read;
 * its share is released when the response has been sent.
 */
export const limitBodyMemory = (app: Pick<FastifyInstance, 'addHook'>): void => {
  const authenticated = { freeBytes: AUTHENTICATED_BYTES };
  const anonymous = { freeBytes: ANONYMOUS_BYTES };
  app.addHook('preParsing', (request, reply, _payload, done) => {
    const bytes = bodyBytes(request);
    // Fastify refuses a body over the limit of its route without reading it.
    if (bytes <= SMALL_BYTES || bytes > request.routeOptions.bodyLimit) return done();
    const budget = request.state.userId === undefined ? anonymous : authenticated;
    if (bytes > budget.freeBytes) return done(new Problem('overloaded', TOO_MANY_BODIES));
    budget.freeBytes -= bytes;
    reply.raw.once('close', () => {
      budget.freeBytes += bytes;
    });
    done();
  });
};

/**
 * Frees each chunk of a refused body when it arrives. The body must be read, or the connection would be reset before the client
 * reads the response. Garbage collection alone lets 100 MB of chunks pile up.
 */
export const discardRefusedBodies = (app: Pick<FastifyInstance, 'addHook'>): void => {
  app.addHook('onError', ({ raw }, _reply, _error, done) => {
    if (!raw.readableDidRead) raw.on('data', freeBuffer);
    done();
  });
};

const freeBuffer = ({ buffer, byteLength }: Buffer<ArrayBuffer>): void => {
  // Small buffers are parts of a shared one.
  if (byteLength === buffer.byteLength) buffer.transfer(0);
};

const TOO_MANY_BODIES = { detail: 'Too many large uploads are in progress. Try again shortly.' };

/** Takes about 5 ms. */
const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** The library gives the position only in its message. */
const POSITION = /absolute position "(\d+)"/;

/**
 * Describes where a body stops being JSON: `unexpected character in line 3, column 15`. `JSON.parse` names a position only for
 * some errors, and otherwise quotes the body, which may contain secrets. Large bodies do not block the event loop.
 * @param bytes UTF-8 that `JSON.parse` refuses
 * @returns null if no error is found
 */
const describeJsonError = async (bytes: Buffer): Promise<string | null> => {
  const { offset, isComplete } = await findError(bytes);
  if (offset !== null) return `unexpected character in ${lineAndColumn(bytes, offset)}`;
  return isComplete ? null : `it ends too early, in ${lineAndColumn(bytes, bytes.length)}`;
};

const findError = async (bytes: Buffer) => {
  let offset: number | null = null;
  let tokenOffset = 0;
  let hasFailed = false;
  const tokenizer = new Tokenizer();
  // Only the structure matters: values are not kept.
  const parser = new TokenParser({ paths: [], keepStack: false });
  parser.onValue = () => {};
  tokenizer.onToken = (token) => {
    tokenOffset = token.offset;
    parser.write(token);
  };
  tokenizer.onError = (error) => {
    hasFailed = true;
    const position = POSITION.exec(error.message)?.[1];
    if (position !== undefined) offset = Number(position);
    // The parser refused a token; at the end of the body, the tokenizer fails without a position.
    else if (!(error instanceof TokenizerError)) offset = tokenOffset;
  };
  for (let start = 0; start < bytes.length && !hasFailed; start += CHUNK_BYTES) {
    if (start > 0) await nextTurn();
    tokenizer.write(bytes.subarray(start, start + CHUNK_BYTES));
  }
  if (!hasFailed) tokenizer.end();
  return { offset, isComplete: parser.isEnded && !hasFailed };
};

/** Both count from 1, columns in characters. */
const lineAndColumn = (bytes: Buffer, offset: number): string => {
  let line = 1;
  let lineStart = 0;
  for (
    let index = bytes.indexOf(NEWLINE);
    index !== -1 && index < offset;
    index = bytes.indexOf(NEWLINE, index + 1)
  ) {
    line += 1;
    lineStart = index + 1;
  }
  return `line ${line}, column ${bytes.toString('utf8', lineStart, offset).length + 1}`;
};
