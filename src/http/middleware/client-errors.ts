import { randomUUID } from 'node:crypto';
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Problem, type ProblemCode } from '../../lib/problems.ts';
import { problemDocument } from '../rest/problem-document.ts';
import { isTrpcPath } from '../trpc/trpc-path.ts';
import { trpcErrorBody } from '../trpc/trpc-responses.ts';
import type { SecurityHeaders } from './security-headers.ts';

/** What Node's parser finds before there is a request, by its codes. All else is a malformed request. */
const PARSER_PROBLEMS: Record<string, ProblemCode> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};

/** Enough to tell where a path leads. */
const MAX_LINE_START = 100;

/** Node documents `rawPacket` as a Buffer; Fastify's types have its JSON form. */
type ParserError = Error & { code?: string; rawPacket?: unknown };

/** The answer that is under way on a connection. */
const CURRENT_RESPONSE = Symbol('answer');
type TrackedSocket = Socket & { [CURRENT_RESPONSE]?: ServerResponse | undefined };

function clearCurrentResponse(this: ServerResponse): void {
  const socket: TrackedSocket = this.req.socket;
  if (socket[CURRENT_RESPONSE] === this) socket[CURRENT_RESPONSE] = undefined;
}

/** Answers what is no HTTP in the form of every other failure, and closes the connection. */
export const createClientErrors = (headers: SecurityHeaders) => {
  return {
    watch: (server: Server): void => {
      server.on('request', ({ socket }: { socket: TrackedSocket }, response) => {
        socket[CURRENT_RESPONSE] = response;
        response.once('close', clearCurrentResponse);
      });
    },

    answer: (error: ParserError, socket: TrackedSocket): void => {
      const earlier = socket[CURRENT_RESPONSE];
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
      // Answers come in the order of the requests: this one must not be taken for that of a whole one before.
      else if (earlier?.req.complete) earlier.once('close', () => socket.destroy());
      else socket.end(responseTo(error, headers, earlier?.req.url ?? pathIn(error.rawPacket)));
    },
  };
};

/** The path of a request whose line the last packet begins with: of one that came in several, Node keeps only the last. */
const pathIn = (packet: unknown): string => {
  const text = Buffer.isBuffer(packet) ? packet.toString('latin1', 0, MAX_LINE_START) : '';
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
