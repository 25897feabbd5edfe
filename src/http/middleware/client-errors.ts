import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem, type ProblemCode } from '../../lib/problems.ts';
import { problemDocument } from '../rest/problem-document.ts';
import { isTrpcPath, trpcErrorBody } from '../trpc/trpc-protocol.ts';
import { latestResponse } from './request-queues.ts';

type Headers = Readonly<Record<string, string>>;

/** Error codes of Node's HTTP parser → problems. All others are a malformed request. */
const PARSER_PROBLEMS: Record<string, ProblemCode> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};

/** Enough of the request line to recognise a tRPC path. */
const MAX_LINE_LENGTH = 100;

/** Node documents `rawPacket` as a Buffer; Fastify's types have its JSON form. */
type ParserError = Error & { code?: string; rawPacket?: unknown };

/** Answers invalid HTTP with a problem like any other failure, and closes the connection. */
export const createClientErrorHandler =
  (headers: Headers) =>
  (error: ParserError, socket: Socket): void => {
    const current = latestResponse(socket);
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    // Responses have the order of the requests: a complete earlier request must get its own response first.
    else if (current?.req.complete) current.once('close', () => socket.destroy());
    else socket.end(responseTo(error, headers, current?.req.url ?? pathIn(error.rawPacket)));
  };

/** The path, if the packet starts with the request line. Node keeps only the last packet of a request. */
const pathIn = (packet: unknown): string => {
  const text = Buffer.isBuffer(packet) ? packet.toString('latin1', 0, MAX_LINE_LENGTH) : '';
  return /^[A-Z]+ (\S+)/.exec(text)?.[1] ?? '';
};

const responseTo = (error: ParserError, headers: Headers, path: string): string => {
  const id = randomUUID();
  const problem = new Problem(PARSER_PROBLEMS[error.code ?? ''] ?? 'malformed-request', { cause: error });
  const body = isTrpcPath(path) ? trpcErrorBody(problem) : problemDocument(problem, id);
  const type = isTrpcPath(path) ? 'application/json' : 'application/problem+json';
  return [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    `Content-Type: ${type}; charset=utf-8`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${id}`,
    'Vary: Accept',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
    '',
    body,
  ].join('\r\n');
};

/** RFC 9110 §7.2, RFC 3986 §3.2.2: a name, an IPv4 address or an IPv6 address in brackets, with an optional port; or empty. */
const HOST = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

const INVALID_HOST = {
  detail: 'The request must have exactly one Host header with a host name or address.',
};

/** Refuses a request with no valid `Host` header or several (RFC 9112 §3.2). HTTP/1.0 needs none. */
export const requireHostHeader = (app: Pick<FastifyInstance, 'addHook'>): void => {
  app.addHook('onRequest', (request, _reply, done) => {
    const isValid = hasOneHost(request.raw) && HOST.test(request.headers.host ?? '');
    done(isValid ? undefined : new Problem('malformed-request', INVALID_HOST));
  });
};

const hasOneHost = ({ headers, httpVersion, rawHeaders }: FastifyRequest['raw']): boolean => {
  if (headers.host === undefined) return httpVersion === '1.0';
  let count = 0;
  // `headers` contains only the first one. In `rawHeaders`, names and values alternate.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count <= 1;
};
