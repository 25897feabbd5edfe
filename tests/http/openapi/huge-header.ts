import { once } from 'node:events';
import { type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ReceivedResponse } from '../../support/openapi.ts';

/** Above Node's limit of 16 KiB for all headers. */
const HUGE = 'x'.repeat(32 * 1024);

/** Sent over a socket: requests that the HTTP parser rejects never reach a route. */
export const requestWithHugeHeader = async (server: Server, path: string): Promise<ReceivedResponse> => {
  const { port } = server.address() as AddressInfo; // it listens on a port
  const sent = request({ port, path, headers: { 'x-huge': HUGE } }).end();
  const [answer]: [IncomingMessage] = (await once(sent, 'response')) as [IncomingMessage]; // what this event carries
  return { statusCode: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) };
};
