import { once } from 'node:events';
import { connect } from 'node:net';
import { addressOf } from './listen-address.ts';
import type { TestApp } from './test-app.ts';

export type RawResponse = { status: number; head: string; body: string };

/** Sends bytes to the service unchanged, on a connection that stays open, and returns the response. */
export const sendBytes = async (app: TestApp, bytes: string): Promise<RawResponse> => {
  const socket = connect(Number(new URL(await addressOf(app)).port), '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write(bytes);
    let received = '';
    for await (const chunk of socket) {
      received += chunk;
      const response = parse(received);
      if (response) return response;
    }
    throw new Error(`The connection was closed after ${JSON.stringify(received)}.`);
  } finally {
    socket.destroy();
  }
};

/** A response, or null while it is incomplete. */
const parse = (text: string): RawResponse | null => {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const head = text.slice(0, end);
  const body = text.slice(end + 4);
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
  if (/^transfer-encoding: chunked$/im.test(head)) {
    return /(^|\r\n)0\r\n\r\n$/.test(body) ? { status, head, body: joinChunks(body) } : null;
  }
  const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
  return Buffer.byteLength(body) >= length ? { status, head, body } : null;
};

/** The content of a chunked ASCII body. */
const joinChunks = (body: string): string => {
  const [, size = '0', rest = ''] = /^([0-9a-f]+)\r\n(.*)$/is.exec(body) ?? [];
  const length = Number.parseInt(size, 16);
  return length === 0 ? '' : rest.slice(0, length) + joinChunks(rest.slice(length + 2));
};
