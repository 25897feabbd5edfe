import { randomUUID } from 'node:crypto';
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Problem, type ProblemCode } from '../../lib/problems.ts';
import { problemDocument } from '../rest/problem-document.ts';
import { isRpc } from '../trpc/trpc-path.ts';
import { rpcProblem } from '../trpc/trpc-responses.ts';
import type { SecurityHeaders } from './security-headers.ts';

/** What Node's parser finds before there is a request, by its codes. All else is a malformed request. */
const PARSER_FAULTS: Record<string, ProblemCode> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};

/** Enough to tell where a path leads. */
const MAX_LINE_START = 100;

/** Node documents `rawPacket` as a Buffer; Fastify's types have its JSON form. */
type ParserError = Error & { code?: string; rawPacket?: unknown };

/** The answer that is under way on a connection. */
const ANSWER = Symbol('answer');
type Watched = Socket & { [ANSWER]?: ServerResponse | undefined };

function forget(this: ServerResponse): void {
  const socket: Watched = this.req.socket;
  if (socket[ANSWER] === this) socket[ANSWER] = undefined;
}

/** Answers what is no HTTP in the form of every other failure, and closes the connection. */
export const createBrokenRequests = (headers: SecurityHeaders) => {
  return {
    watch: (server: Server): void => {
      server.on('request', ({ socket }: { socket: Watched }, response) => {
        socket[ANSWER] = response;
        response.once('close', forget);
      });
    },

    answer: (error: ParserError, socket: Watched): void => {
      const earlier = socket[ANSWER];
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
      // Answers come in the order of the requests: this one must not be taken for that of a whole one before.
      else if (earlier?.req.complete) earlier.once('close', () => socket.destroy());
      else socket.end(answerTo(error, headers, earlier?.req.url ?? pathIn(error.rawPacket)));
    },
  };
};

/** The path of a request whose line the last packet begins with: of one that came in several, Node keeps only the last. */
const pathIn = (packet: unknown): string => {
  const text = Buffer.isBuffer(packet) ? packet.toString('latin1', 0, MAX_LINE_START) : '';
  return /^[A-Z]+ (\S+)/.exec(text)?.[1] ?? '';
};

const answerTo = (error: ParserError, headers: SecurityHeaders, path: string): string => {
  const id = randomUUID();
  const problem = new Problem(PARSER_FAULTS[error.code ?? ''] ?? 'malformed-request', { cause: error });
  const body = isRpc(path) ? rpcProblem(problem) : problemDocument(problem, id);
  const type = isRpc(path) ? 'application/json' : 'application/problem+json';
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
