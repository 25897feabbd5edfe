import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** On all connections together, about 2 KB each. Node parses up to 64 KiB of requests before a pause takes effect. */
const MAX_WAITING = 10_000;

const QUEUE = Symbol('queue');
type Connection = Socket & { [QUEUE]?: Queue };
type Waiting = { response: ServerResponse; start: () => void };
type Queue = {
  socket: Socket;
  /** Of the request that is being handled. */
  response: ServerResponse | null;
  waiting: Waiting[];
  isPaused: boolean;
};

export type RequestQueues = ReturnType<typeof createRequestQueues>;

/**
 * Handles the requests of a connection one at a time, as RFC 9112 §9.3.2 demands for all but safe methods. The next one
 * starts when the last response has left, and while requests wait, nothing more is read from the socket. So a client that
 * pipelines requests without reading the responses costs the memory of one response.
 */
export const createRequestQueues = () => {
  /**
   * Of the open connections. A set of responses instead costs 20 % of the throughput: their garbage then survives in the tables
   * that the set outgrows.
   */
  const queues = new Set<Queue>();
  let busyConnections = 0;
  let waitingRequests = 0;
  let isHeld = false;
  let isClosing = false;

  const begin = (queue: Queue, { response, start }: Waiting): void => {
    queue.response = response;
    busyConnections += 1;
    if (isClosing && queue.waiting.length === 0) response.setHeader('connection', 'close');
    response.once('close', () => {
      queue.response = null;
      busyConnections -= 1;
      // Not at once: requests that need no I/O would otherwise follow each other within one turn of the event loop.
      if (queue.waiting.length > 0) setImmediate(beginNext, queue);
    });
    start();
  };

  const beginNext = (queue: Queue): void => {
    if (isHeld || queue.response || queue.socket.destroyed) return;
    const next = queue.waiting.shift();
    if (!next) return;
    waitingRequests -= 1;
    if (queue.waiting.length === 0) queue.socket.resume();
    begin(queue, next);
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

  /** Node resumes the socket whenever the body of a request is read. */
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
    /** A listener that calls `handle` when it is the turn of the request; never if its connection ends before. */
    serialize:
      (handle: RequestListener): RequestListener =>
      (request, response) => {
        const socket: Connection = request.socket;
        if (socket.destroyed) return;
        socket[QUEUE] ??= createQueue(socket);
        const queue = socket[QUEUE];
        const start = () => handle(request, response);
        if (queue.response || queue.waiting.length > 0 || isHeld) wait(queue, { response, start });
        else begin(queue, { response, start });
      },
    /** Whether no request is being handled or waits. */
    isIdle: (): boolean => busyConnections === 0 && waitingRequests === 0,
    /** From now on, responses tell their clients to close the connection (RFC 9112 §9.6). */
    closeConnections: (): void => {
      isClosing = true;
      for (const { response } of queues) {
        if (response && !response.headersSent) response.setHeader('connection', 'close');
      }
    },
    isClosing: (): boolean => isClosing,
    /** Starts no request until `release` is called. */
    hold: (): void => {
      isHeld = true;
    },
    release: (): void => {
      isHeld = false;
      for (const queue of queues) beginNext(queue);
    },
  };
};
