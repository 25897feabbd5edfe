import { randomUUID } from 'node:crypto';
import { type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { readSockets, type ShutdownSteps } from '../lib/graceful-shutdown.ts';
import { Problem, type ProblemCode } from '../lib/problems.ts';
import { problemDocument } from './rest/problem-document.ts';
import { isTrpcPath, trpcErrorBody } from './trpc/trpc-protocol.ts';

/**
 * Limit for all connections together; each waiting request takes about 2 KB. Node parses up to 64 KiB of requests before a pause takes
 * effect.
 */
const MAX_WAITING = 10_000;

type Waiting = { response: ServerResponse; handle: () => void };
/** The requests of a connection: one in progress, and the others in order. */
type Queue = { current: ServerResponse | null; waiting: Waiting[] };

export type RequestQueues = ReturnType<typeof createRequestQueues>;

/**
 * Handles the requests of a connection one at a time, as RFC 9112 §9.3.2 requires for unsafe methods. The next one starts when
 * the previous response has been sent, and while requests wait, the socket is not read. A client that pipelines requests
 * without reading the responses therefore costs the memory of one response.
 */
export const createRequestQueues = () => {
  const queues = new Map<Socket, Queue>();
  let waitingRequests = 0;
  let isHeld = false;
  let isClosing = false;

  const startNext = (socket: Socket, queue: Queue): void => {
    if (isHeld || queue.current || socket.destroyed) return;
    const next = queue.waiting.shift();
    if (!next) return;
    waitingRequests -= 1;
    const isLast = queue.waiting.length === 0;
    if (isLast && socket.isPaused()) socket.resume();
    if (isLast && isClosing) next.response.setHeader('connection', 'close');
    queue.current = next.response;
    next.response.once('close', () => {
      queue.current = null;
      // Not synchronously: requests without I/O would otherwise block the event loop.
      if (queue.waiting.length > 0) setImmediate(startNext, socket, queue);
    });
    next.handle();
  };

  const createQueue = (socket: Socket): Queue => {
    const queue: Queue = { current: null, waiting: [] };
    queues.set(socket, queue);
    // Node resumes the socket when the body of a request is read.
    socket.on('resume', () => queue.waiting.length > 0 && socket.pause());
    socket.once('close', () => {
      waitingRequests -= queue.waiting.length;
      queues.delete(socket);
    });
    return queue;
  };

  return {
    /** Wraps a listener, so that it handles one request of a connection at a time, and none after the connection has closed. */
    serialize:
      (handle: RequestListener): RequestListener =>
      (request, response) => {
        const { socket } = request;
        if (socket.destroyed) return;
        const queue = queues.get(socket) ?? createQueue(socket);
        queue.waiting.push({ response, handle: () => handle(request, response) });
        waitingRequests += 1;
        startNext(socket, queue);
        if (queue.waiting.length === 0) return;
        if (waitingRequests > MAX_WAITING) socket.destroy();
        else socket.pause();
      },
    /** The response to the last request that arrived on a connection, until it is sent. */
    latestResponse: (socket: Socket): ServerResponse | null | undefined => {
      const queue = queues.get(socket);
      return queue?.waiting.at(-1)?.response ?? queue?.current;
    },
    /** Whether no request is in progress or waiting. */
    isIdle: (): boolean =>
      [...queues.values()].every(({ current, waiting }) => !current && waiting.length === 0),
    /** Sends `Connection: close` with this and later responses (RFC 9112 §9.6). */
    closeConnections: (): void => {
      isClosing = true;
      for (const { current } of queues.values())
        if (current && !current.headersSent) current.setHeader('connection', 'close');
    },
    isClosing: (): boolean => isClosing,
    /** Queues all new requests until `release`. */
    hold: (): void => {
      isHeld = true;
    },
    release: (): void => {
      isHeld = false;
      for (const [socket, queue] of queues) startNext(socket, queue);
    },
  };
};

const DRAIN_INTERVAL_MS = 50;
const LISTENING_INTERVAL_MS = 5;
/** Measured from the start of the shutdown. Longer responses are aborted: a slow reader can prolong a stream indefinitely. */
const DRAIN_DEADLINE_MS = 8_000;

export const createDrain = (server: Server, requests: RequestQueues, closeServer: () => Promise<unknown>) => {
  let deadline: number | undefined;
  let closed: Promise<unknown> | undefined;

  return {
    hasConnections: () =>
      new Promise((resolve) => server.getConnections((_error, count) => resolve(count > 0))),

    announce: (): void => {
      deadline ??= performance.now() + DRAIN_DEADLINE_MS;
      requests.closeConnections();
    },

    hold: requests.hold,

    stopListening: async (): Promise<void> => {
      // Unread requests do not count: Node would close their connections as idle.
      await readSockets();
      closed ??= closeServer();
      while (server.listening) await sleep(LISTENING_INTERVAL_MS);
    },

    /**
     * Waits for requests, not for connections. When Node stops listening, it closes only idle connections: it keeps busy ones alive
     * afterwards, and does not count connections without a first request (browsers open some in advance) as idle.
     */
    close: async (): Promise<void> => {
      closed ??= closeServer();
      requests.release();
      const end = deadline ?? performance.now() + DRAIN_DEADLINE_MS;
      const isDone = () => requests.isIdle() || performance.now() > end;
      const closing = setInterval(() => isDone() && server.closeAllConnections(), DRAIN_INTERVAL_MS);
      await closed.finally(() => clearInterval(closing));
    },
  } satisfies ShutdownSteps;
};

type Headers = Readonly<Record<string, string>>;

/** Error codes of Node's HTTP parser and their problems. Other codes mean a malformed request. */
const PARSER_PROBLEMS: Record<string, ProblemCode> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};

/** Enough of the request line to recognise a tRPC path. */
const MAX_LINE_LENGTH = 100;

/** Node documents `rawPacket` as a Buffer; Fastify's types have its JSON form. */
type ParserError = Error & { code?: string; rawPacket?: unknown };

/** Answers invalid HTTP with a problem, and closes the connection. */
export const createClientErrorHandler =
  (headers: Headers, { latestResponse }: RequestQueues) =>
  (error: ParserError, socket: Socket): void => {
    const current = latestResponse(socket);
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    // Responses are sent in the order of the requests: an earlier, complete request must get its own response first.
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
