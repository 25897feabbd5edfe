import { randomUUID } from 'node:crypto';
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Problem, type ProblemCode } from '../../lib/problems.ts';
import { problemDocument } from '../rest/problem-document.ts';
import { isTrpcPath, trpcErrorBody } from '../trpc/trpc-protocol.ts';
import type { SecurityHeaders } from './security-headers.ts';

/** Error codes of Node's HTTP parser → problems. All others are a malformed request. */
const PARSER_PROBLEMS: Record<string, ProblemCode> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};

/** Enough of the request line to recognise a tRPC path. */
const MAX_LINE_LENGTH = 100;

/** Node documents `rawPacket` as a Buffer; Fastify's types have its JSON form. */
type ParserError = Error & { code?: string; rawPacket?: unknown };

/** The response in progress on a connection. */
const CURRENT_RESPONSE = Symbol('current response');
type TrackedSocket = Socket & { [CURRENT_RESPONSE]?: ServerResponse | undefined };

function clearCurrentResponse(this: ServerResponse): void {
  const socket: TrackedSocket = this.req.socket;
  if (socket[CURRENT_RESPONSE] === this) socket[CURRENT_RESPONSE] = undefined;
}

/** Answers invalid HTTP with a problem like any other failure, and closes the connection. */
export const createClientErrors = (headers: SecurityHeaders) => {
  return {
    trackResponses: (server: Server): void => {
      server.on('request', ({ socket }: { socket: TrackedSocket }, response) => {
        socket[CURRENT_RESPONSE] = response;
        response.once('close', clearCurrentResponse);
      });
    },

    handle: (error: ParserError, socket: TrackedSocket): void => {
      const current = socket[CURRENT_RESPONSE];
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
      // Responses have the order of the requests: a complete earlier request must get its own response first.
      else if (current?.req.complete) current.once('close', () => socket.destroy());
      else socket.end(responseTo(error, headers, current?.req.url ?? pathIn(error.rawPacket)));
    },
  };
};

/** The path, if the packet starts with the request line. Node keeps only the last packet of a request. */
const pathIn = (packet: unknown): string => {
  const text = Buffer.isBuffer(packet) ? packet.toString('latin1', 0, MAX_LINE_LENGTH) : '';
  return /^[A-Z]+ (\S+)/.exec(text)?.[1] ?? '';
};

const responseTo = (error: ParserError, headers: SecurityHeaders, path: string): string => {
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
