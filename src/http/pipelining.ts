import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** On all connections together, about 2 KB each. Node parses up to 64 KiB of requests before a pause takes effect. */
const MAX_WAITING = 10_000;

const QUEUE = Symbol('queue');
type Connection = Socket & { [QUEUE]?: Queue };
type Waiting = { response: ServerResponse; start: () => void };
type Queue = { socket: Socket; isBusy: boolean; waiting: Waiting[]; isWatched: boolean };

export type RequestQueues = ReturnType<typeof createRequestQueues>;

/**
 * Handles the requests of a connection one at a time, as RFC 9112 §9.3.2 demands for all but safe methods. The next one
 * starts when the last response has left, and while requests wait, nothing more is read from the socket. So a client that
 * pipelines requests without reading the responses costs the memory of one response.
 */
export const createRequestQueues = () => {
  const crowded = new Set<Queue>();
  /** Of the requests that are being handled. */
  const responses = new Set<ServerResponse>();
  let waitingRequests = 0;
  let isHeld = false;
  let isClosing = false;

  const begin = (queue: Queue, { response, start }: Waiting): void => {
    queue.isBusy = true;
    responses.add(response);
    if (isClosing && queue.waiting.length === 0) response.setHeader('connection', 'close');
    response.once('close', () => {
      queue.isBusy = false;
      responses.delete(response);
      // Not at once: requests that need no I/O would otherwise follow each other within one turn of the event loop.
      if (queue.waiting.length > 0) setImmediate(beginNext, queue);
    });
    start();
  };

  const beginNext = (queue: Queue): void => {
    if (isHeld || queue.isBusy || queue.socket.destroyed) return;
    const next = queue.waiting.shift();
    if (!next) return;
    waitingRequests -= 1;
    if (queue.waiting.length === 0) {
      crowded.delete(queue);
      queue.socket.resume();
    }
    begin(queue, next);
  };

  const wait = (queue: Queue, request: Waiting): void => {
    const { socket } = queue;
    if (waitingRequests >= MAX_WAITING) {
      socket.destroy();
      return;
    }
    if (!queue.isWatched) watch(queue);
    queue.waiting.push(request);
    waitingRequests += 1;
    crowded.add(queue);
    socket.pause();
  };

  const watch = (queue: Queue): void => {
    queue.isWatched = true;
    const { socket } = queue;
    // Node resumes the socket whenever the body of a request is read.
    socket.on('resume', () => queue.waiting.length > 0 && socket.pause());
    socket.once('close', () => {
      waitingRequests -= queue.waiting.length;
      queue.waiting.length = 0;
      crowded.delete(queue);
    });
  };

  return {
    /** A listener that calls `handle` when it is the turn of the request; never if its connection ends before. */
    inOrder:
      (handle: RequestListener): RequestListener =>
      (request, response) => {
        const socket: Connection = request.socket;
        if (socket.destroyed) return;
        socket[QUEUE] ??= { socket, isBusy: false, waiting: [], isWatched: false };
        const queue = socket[QUEUE];
        const start = () => handle(request, response);
        if (queue.isBusy || queue.waiting.length > 0 || isHeld) wait(queue, { response, start });
        else begin(queue, { response, start });
      },
    /** Whether no request is being handled or waits. */
    isIdle: (): boolean => responses.size === 0 && waitingRequests === 0,
    /** From now on, responses tell their clients to close the connection (RFC 9112 §9.6). */
    closeConnections: (): void => {
      isClosing = true;
      for (const response of responses) if (!response.headersSent) response.setHeader('connection', 'close');
    },
    isClosing: (): boolean => isClosing,
    /** Starts no request until `release` is called. */
    hold: (): void => {
      isHeld = true;
    },
    release: (): void => {
      isHeld = false;
      for (const queue of [...crowded]) beginNext(queue);
    },
  };
};
