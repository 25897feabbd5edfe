import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Context, Precondition } from '../../../routers/context.ts';
import { fieldErrors } from '../../../routers/middleware/errors.ts';
import { invalid, Problem } from '../../lib/problems.ts';
import { callEndpoint, type Endpoint, endpointOf, hasEtag, returnsResource } from '../rest/endpoints.ts';

const BATCHED = 'Must not be sent with a batch. Send this call alone.';
const INVALID_ETAGS = 'Must be * or a list of entity tags in quotes.';
const EXCLUDED = { detail: 'The resource exists in a state that the If-None-Match header excludes.' };

/** The ETag of a response whose content is one resource; otherwise null. */
export const responseEtag = (endpoint: Endpoint, content: unknown, text: string) => {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return null;
  return hasEtag(endpoint) || returnsResource(endpoint)
    ? etagOf(content, text, volatileFieldsOf(endpoint))
    : null;
};

const volatileFieldsOf = ({ method, rest }: Endpoint): readonly string[] | undefined =>
  method !== 'GET' && rest.resourceQuery
    ? endpointOf(rest.resourceQuery).rest.volatileFields
    : rest.volatileFields;

/** Whether the response to a `GET` or `HEAD` is 304, because the caller already has this representation. */
export const isNotModified = ({ method, headers }: FastifyRequest, etag: string): boolean => {
  if (method !== 'GET' && method !== 'HEAD') return false;
  const header = headers['if-none-match'];
  // An invalid header is ignored: the full response is sent.
  const etags = header === undefined ? null : parseEtags(header);
  return etags !== null && matches(etags, etag);
};

/**
 * The condition that a request sets for a change of the resource (RFC 9110 §13.1), or null.
 * @throws Problem `invalid-input`
 */
export const preconditionOf = (
  { headers }: FastifyRequest,
  callCount: number,
  context: Context,
): Precondition | null => {
  const ifMatch = headers['if-match'];
  const ifNoneMatch = headers['if-none-match'];
  if (ifMatch === undefined && ifNoneMatch === undefined) return null;
  const header = ifMatch === undefined ? 'If-None-Match' : 'If-Match';
  if (callCount > 1) throw invalid({ [header]: [BATCHED] });
  const required = parseHeader('If-Match', ifMatch);
  const excluded = parseHeader('If-None-Match', ifNoneMatch);

  return {
    header,
    check: async (query, input, { actor, services }) => {
      const endpoint = endpointOf(query);
      // The part of the input that identifies the resource.
      const { success, data: key, error } = endpoint.input.safeParse(input);
      if (!success) throw invalid(fieldErrors(error), error);
      await services.resourceLocks[query](actor, key);
      const ctx = { ...context, openServices: () => services, findActor: async () => actor };
      const content = await callEndpoint(endpoint, ctx, key);
      if (typeof content !== 'object' || content === null) throw new TypeError(`${query} returns no object`);
      const etag = etagOf(content, JSON.stringify(content), endpoint.rest.volatileFields);
      if (required && !matchesStably(required, etag)) throw new Problem('precondition-failed');
      if (excluded && matches(excluded, etag)) throw new Problem('precondition-failed', EXCLUDED);
    },
  };
};

const parseHeader = (name: string, header: string | undefined) => {
  if (header === undefined) return null;
  const etags = parseEtags(header);
  if (etags === null) throw invalid({ [name]: [INVALID_ETAGS] });
  return etags;
};

/** The entity tags of a header, or `*` for any. */
type Etags = readonly string[] | '*';

const digestOf = (text: string): string => hash('sha256', text, 'base64url');

/**
 * The strong ETag of a response: a digest of all its bytes (RFC 9110 §8.8.3). If the content has volatile fields, such as usage counts, a
 * digest of the other fields precedes it.
 */
export const etagOf = (content: object, text: string, volatileFields: readonly string[] = []): string => {
  if (volatileFields.length === 0) return `"${digestOf(text)}"`;
  const stable = Object.entries(content).filter(([key]) => !volatileFields.includes(key));
  return `"${digestOf(JSON.stringify(stable))}.${digestOf(text)}"`;
};

/** Parses the value of `If-Match` or `If-None-Match`, and reverts the changes of proxies to the tags. Null if it is invalid. */
export const parseEtags = (header: string): Etags | null => {
  if (header.trim() === '*') return '*';
  if (!LIST.test(header)) return null;
  return header.match(TAG)?.map((tag) => tag.replace(MARKED, '"$1"')) ?? [];
};

/** Servers that compress a response weaken its tag (nginx), or add a suffix (Apache, Jetty). The resource is the same. */
const MARKED = /^(?:W\/)?"([\w-]{43}(?:\.[\w-]{43})?)(?:--?(?:gzip|br|deflate|zstd))?"$/;

/** A tag may contain commas, and all other visible characters except quotes. */
const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;
const LIST = new RegExp(`^[ \\t,]*${TAG.source}([ \\t]*,[ \\t,]*${TAG.source})*[ \\t,]*$`);

/** For writes. Compares only the first part of tags in two parts: a write cannot overwrite a change of a volatile field. */
export const matchesStably = (etags: Etags, etag: string): boolean =>
  etags === '*' || etags.some((candidate) => candidate === etag || hasSameStablePart(candidate, etag));

const hasSameStablePart = (candidate: string, etag: string): boolean => {
  const stable = TWO_PARTS.exec(etag)?.[1];
  return stable !== undefined && TWO_PARTS.exec(candidate)?.[1] === stable;
};

/** The format of `etagOf`: a SHA-256 in base64url has 43 characters. */
const TWO_PARTS = /^"([\w-]{43})\.[\w-]{43}"$/;

const matches = (etags: Etags, etag: string): boolean => etags === '*' || etags.includes(etag);
