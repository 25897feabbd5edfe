import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { type Answer, createAnswerReader } from './answer-reader.ts';

export type Timed = Answer & { ms: number; firstByteMs: number };

type Waiting = { resolve: (answer: Timed) => void; reject: (error: Error) => void };

/**
 * One connection that is kept alive, over which one request follows the other; it is made again where the server ends
 * it after an answer, as some do.
 */
export const openConnection = (port: number, keepsBodies = false) => {
  let socket: Socket | null = null;
  let waiting: Waiting | null = null;
  let sentAt = 0;
  let firstByteMs = 0;

  const fail = (error: Error): void => {
    socket = null;
    waiting?.reject(error);
    waiting = null;
  };

  const connect = async (): Promise<Socket> => {
    const made = createConnection({ host: '127.0.0.1', port, noDelay: true });
    const read = createAnswerReader(
      {
        onFirstByte: () => {
          firstByteMs = performance.now() - sentAt;
        },
        onAnswer: (answer) => {
          const current = waiting;
          waiting = null;
          if (answer.closes) {
            made.destroy();
            socket = null;
          }
          current?.resolve({ ...answer, ms: performance.now() - sentAt, firstByteMs });
        },
      },
      keepsBodies,
    );
    await once(made, 'connect');
    made.on('data', read);
    made.on('error', fail);
    made.on('close', () => {
      if (made === socket) fail(new Error('The server closed the connection before it answered.'));
    });
    return made;
  };

  return {
    /** Sends a whole request, head and body. Making the connection is part of its time. */
    send: async (request: Buffer): Promise<Timed> => {
      sentAt = performance.now();
      socket ??= await connect();
      const connected = socket;
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        connected.write(request);
      });
    },
    close: (): void => {
      const open = socket;
      socket = null;
      open?.destroy();
    },
  };
};
