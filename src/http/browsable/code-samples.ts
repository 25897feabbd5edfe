import type { FastifyRequest } from 'fastify';
import { escapeInvisible } from '../../lib/html.ts';
import { type Endpoint, inputKeysOf } from '../rest/endpoints.ts';
import { hasBody, readInput } from '../rest/input.ts';

/** Longer objects are split into one property per line. On a phone, this fits beside the name of the procedure. */
const MAX_OBJECT_WIDTH = 16;

type Call = { endpoint: Endpoint; request: FastifyRequest };

/** The request as a call of the TypeScript client: `client.users.get.query({ email: 'ada@acme.test' })`. */
export const trpcCall = ({ endpoint, request }: Call): string => {
  const { params, query } = request as { params: Record<string, string>; query: Record<string, unknown> }; // Fastify parses both into text
  // The body is left out: it may contain a password.
  const { input } = readInput(endpoint, { params, query, body: {} });
  const bodyKeys = inputKeysOf(endpoint).body;
  const properties = Object.entries(input)
    .filter(([key]) => !bodyKeys.includes(key))
    .map(([key, value]) => `${key}: ${literal(value)}`);
  if (hasBody(endpoint)) properties.push('…');
  const method = endpoint.type === 'query' ? 'query' : 'mutate';
  return `client.${endpoint.procedure}.${method}(${objectLiteral(properties)})`;
};

const objectLiteral = (properties: readonly string[]): string => {
  if (properties.length === 0) return '{}';
  const line = `{ ${properties.join(', ')} }`;
  return line.length <= MAX_OBJECT_WIDTH
    ? line
    : `{\n${properties.map((property) => `  ${property},\n`).join('')}}`;
};

/** A TypeScript literal, in single quotes if the string needs no escaping. */
const literal = (value: unknown): string => {
  if (value instanceof Date) return `new Date('${value.toISOString()}')`;
  const json = escapeInvisible(JSON.stringify(value) ?? 'undefined');
  return typeof value === 'string' && json === `"${value}"` && !value.includes("'") ? `'${value}'` : json;
};

/** The request as a curl command. */
export const curlCommand = ({ endpoint, request }: Call, accept: string): string => {
  const lines = [endpoint.method === 'GET' ? 'curl' : `curl -X ${endpoint.method}`];
  if (!endpoint.isPublic) lines.push(`-H ${shellQuote('Authorization: Token …')}`);
  lines.push(`-H ${shellQuote(`Accept: ${accept}`)}`);
  if (hasBody(endpoint))
    lines.push(`-H ${shellQuote('Content-Type: application/json')}`, `-d ${shellQuote('{…}')}`);
  lines.push(shellQuote(`${request.protocol}://${request.host}${request.url}`));
  return lines.join(' \\\n  ');
};

/** For a POSIX shell, where nothing inside single quotes is expanded. */
const shellQuote = (text: string): string => `'${escapeInvisible(text).replaceAll("'", "'\\''")}'`;
