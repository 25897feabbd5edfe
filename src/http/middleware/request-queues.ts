import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { HOLD_MS, type ShutdownSteps } from '../../lib/graceful-shutdown.ts';

/** Of all connections together, about 2 KB each. Node parses up to 64 KiB of requests before a pause takes effect. */
const MAX_WAITING = 10_000;

const QUEUE = Symbol('queue');
type Connection = Socket & { [QUEUE]?: Queue };
type Waiting = { response: ServerResponse; handle: () => void };
type Queue = {
  socket: Socket;
  /** The response in progress. */
  response: ServerResponse | null;
  waiting: Waiting[];
  isPaused: boolean;
};

/** The response to the last request that arrived on a connection, until it is sent. */
export const latestResponse = ({ [QUEUE]: queue }: Connection): ServerResponse | null | undefined =>
  queue?.waiting.at(-1)?.response ?? queue?.response;

export type RequestQueues = ReturnType<typeof createRequestQueues>;

/**
 * Handles the requests of a connection one at a time, as RFC 9112 §9.3.2 requires for unsafe methods. The next one starts when
 * the previous response has been sent, and while requests wait, the socket is not read. A client that pipelines requests
 * without reading the responses therefore costs the memory of one response.
 */
export const createRequestQueues = () => {
  /**
   * One per open connection. A set of responses costs 20 % of the throughput: garbage responses survive in the old tables of
   * the growing set.
   */
  const queues = new Set<Queue>();
  let busyConnections = 0;
  let waitingRequests = 0;
  let isHeld = false;
  let isClosing = false;

  const start = (queue: Queue, { response, handle }: Waiting): void => {
    queue.response = response;
    busyConnections += 1;
    if (isClosing && queue.waiting.length === 0) response.setHeader('connection', 'close');
    response.once('close', () => {
      queue.response = null;
      busyConnections -= 1;
      // Not synchronously: requests without I/O would otherwise block the event loop.
      if (queue.waiting.length > 0) setImmediate(startNext, queue);
    });
    handle();
  };

  const startNext = (queue: Queue): void => {
    if (isHeld || queue.response || queue.socket.destroyed) return;
    const next = queue.waiting.shift();
    if (!next) return;
    waitingRequests -= 1;
    if (queue.waiting.length === 0) queue.socket.resume();
    start(queue, next);
  };

  const wait = (queue: Queue, request: Waiting): void => {
    const { socket } = queue;
    if (waitingRequests >= MAX_WAITING) {
      socket.destroy();
      return;
    }
    if (!queue.isPaused) keepPaused(queue);
    queue.waiting.push(request);
    waitingRequests += 1;
    socket.pause();
  };

  /** Node resumes the socket when the body of a request is read. */
  const keepPaused = (queue: Queue): void => {
    queue.isPaused = true;
    queue.socket.on('resume', () => queue.waiting.length > 0 && queue.socket.pause());
  };

  const createQueue = (socket: Socket): Queue => {
    const queue: Queue = { socket, response: null, waiting: [], isPaused: false };
    queues.add(queue);
    socket.once('close', () => {
      waitingRequests -= queue.waiting.length;
      queue.waiting.length = 0;
      queues.delete(queue);
    });
    return queue;
  };

  return {
    /** Wraps a listener so that it runs for one request of a connection at a time, and never after the connection has closed. */
    serialize:
      (handle: RequestListener): RequestListener =>
      (request, response) => {
        const socket: Connection = request.socket;
        if (socket.destroyed) return;
        socket[QUEUE] ??= createQueue(socket);
        const queue = socket[QUEUE];
        const waiting = { response, handle: () => handle(request, response) };
        if (queue.response || queue.waiting.length > 0 || isHeld) wait(queue, waiting);
        else start(queue, waiting);
      },
    /** Whether no request is being handled or waits. */
    isIdle: (): boolean => busyConnections === 0 && waitingRequests === 0,
    /** Sends `Connection: close` with this and later responses (RFC 9112 §9.6). */
    closeConnections: (): void => {
      isClosing = true;
      for (const { response } of queues) {
        if (response && !response.headersSent) response.setHeader('connection', 'close');
      }
    },
    isClosing: (): boolean => isClosing,
    /** Queues all new requests until `release`. */
    hold: (): void => {
      isHeld = true;
    },
    release: (): void => {
      isHeld = false;
      for (const queue of queues) startNext(queue);
    },
  };
};

const DRAIN_INTERVAL_MS = 50;
/** From the start of the shutdown. Responses that take longer are aborted: a stream lasts as long as its slow reader. */
const DRAIN_DEADLINE_MS = 8_000;

export const createDrain = (server: Server, requests: RequestQueues, closeServer: () => Promise<unknown>) => {
  let deadline: number | undefined;

  return {
    hasConnections: () =>
      new Promise((resolve) => server.getConnections((_error, count) => resolve(count > 0))),

    announce: (): void => {
      deadline ??= performance.now() + DRAIN_DEADLINE_MS;
      requests.closeConnections();
    },

    hold: requests.hold,

    /**
     * Waits for requests rather than connections. When it stops listening, Node closes only idle connections: it keeps busy ones
     * alive afterwards, and those without a first request (browsers open some in advance) do not count as idle.
     */
    close: async (): Promise<void> => {
      const closed = closeServer();
      if (deadline !== undefined) await sleep(HOLD_MS);
      requests.release();
      const end = deadline ?? performance.now() + DRAIN_DEADLINE_MS;
      const isDone = () => requests.isIdle() || performance.now() > end;
      const closing = setInterval(() => isDone() && server.closeAllConnections(), DRAIN_INTERVAL_MS);
      await closed.finally(() => clearInterval(closing));
    },
  } satisfies ShutdownSteps;
};
