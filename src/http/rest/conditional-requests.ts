import type { FastifyRequest } from 'fastify';
import { etagOf, matchesWeakly, parseEtags } from '../middleware/etags.ts';
import { type Endpoint, endpointOf } from './endpoints.ts';

/**
 * The ETag of an answer that is the whole of one resource: of a `GET`, and of what a `PATCH` or a creation answers in the
 * place of one. Null for lists and all else. After a `PUT` that keeps other bytes than it was sent, HTTP forbids it.
 */
export const responseEtag = (
  endpoint: Endpoint,
  status: number,
  content: unknown,
  text: string,
): string | null => {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return null;
  // A page of a list, wrapped into an object.
  if ('cursor' in endpoint.input.shape) return null;
  const isCreation = endpoint.method === 'POST' && status === 201;
  const isShown = endpoint.method === 'PATCH' || isCreation;
  if (endpoint.method !== 'GET' && !(isShown && endpoint.rest.resource)) return null;
  return etagOf(content, text, volatileFieldsOf(endpoint));
};

const volatileFieldsOf = ({ method, rest }: Endpoint): readonly string[] | undefined =>
  method !== 'GET' && rest.resource ? endpointOf(rest.resource).rest.volatileFields : rest.volatileFields;

/** Whether a `GET` or `HEAD` may be answered by saying that its caller has this already. */
export const isNotModified = ({ method, headers }: FastifyRequest, etag: string): boolean => {
  if (method !== 'GET' && method !== 'HEAD') return false;
  const header = headers['if-none-match'];
  // What is no list of tags is none that the caller could have from here: they get the whole.
  const tags = header === undefined ? null : parseEtags(header);
  return tags !== null && matchesWeakly(tags, etag);
};

/** Where a new resource is found, when it has a path of its own. */
export const locationOf = ({ rest }: Endpoint, status: number, content: unknown): string | null => {
  if (status !== 201 || !rest.resource) return null;
  const made = content as Record<string, unknown>; // what a query with these keys answers
  const { url } = endpointOf(rest.resource);
  return url.replaceAll(/:(\w+)/g, (_match, key: string) => encodeURIComponent(String(made[key])));
};
