import type { FastifyRequest } from 'fastify';
import type { Endpoint } from '../rest/endpoints.ts';
import { readInput } from '../rest/input.ts';
import { visible } from './visible-text.ts';

/** In characters: what stays on one line on a phone beside the name of the procedure. */
const MAX_WIDTH = 16;

type Called = { endpoint: Endpoint; request: FastifyRequest };

/** The same call by the TypeScript client: `client.users.get.query({ email: 'ada@acme.test' })`. */
export const trpcCall = ({ endpoint, request }: Called): string => {
  const { params, query } = request as { params: Record<string, string>; query: Record<string, unknown> }; // Fastify parses both into text
  // A body may hold a password. What it said is not told again.
  const { input } = readInput(endpoint, { params, query, body: {} });
  const isRead = endpoint.method === 'GET';
  const addressed = Object.entries(input).filter(([key]) => isRead || isAddressed(endpoint, key));
  const members = addressed.map(([key, value]) => `${key}: ${literal(value)}`);
  if (takesBody(endpoint)) members.push('…');
  return `client.${endpoint.procedure}.${endpoint.type === 'query' ? 'query' : 'mutate'}(${objectOf(members)})`;
};

const objectOf = (members: readonly string[]): string => {
  if (members.length === 0) return '{}';
  const line = `{ ${members.join(', ')} }`;
  return line.length <= MAX_WIDTH ? line : `{\n${members.map((member) => `  ${member},\n`).join('')}}`;
};

export const takesBody = ({ method }: Endpoint): boolean => method !== 'GET' && method !== 'DELETE';

const isAddressed = ({ pathKeys, rest }: Endpoint, key: string): boolean =>
  pathKeys.includes(key) || (rest.query ?? []).includes(key);

/** As TypeScript writes it, in single quotes where that needs no escaping. */
const literal = (value: unknown): string => {
  if (value instanceof Date) return `new Date('${value.toISOString()}')`;
  const json = visible(JSON.stringify(value) ?? 'undefined');
  return typeof value === 'string' && json === `"${value}"` && !value.includes("'") ? `'${value}'` : json;
};

/** What a shell asks for the same by, in this form. */
export const curlCommand = ({ endpoint, request }: Called, accept: string): string => {
  const parts = [endpoint.method === 'GET' ? 'curl' : `curl -X ${endpoint.method}`];
  if (!endpoint.isPublic) parts.push(`-H ${quoted('Authorization: Token …')}`);
  parts.push(`-H ${quoted(`Accept: ${accept}`)}`);
  if (takesBody(endpoint))
    parts.push(`-H ${quoted('Content-Type: application/json')}`, `-d ${quoted('{…}')}`);
  return [...parts, quoted(`${request.protocol}://${request.host}${request.url}`)].join(' \\\n  ');
};

/** For a POSIX shell: nothing inside single quotes means anything. */
const quoted = (text: string): string => `'${visible(text).replaceAll("'", "'\\''")}'`;
