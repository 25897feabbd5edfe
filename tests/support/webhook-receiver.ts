import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

/** What a receiver of webhooks has got. */
export type Received = {
  id: string;
  /** Of the request, with its query. */
  path: string;
  body: string;
  headers: Record<string, string>;
  /** Of the body. */
  type: string;
  /** The event. */
  data: { id: number; subject: string; type: string; clients: number[]; data: Record<string, unknown> };
};

/** Receives webhooks on loopback. The caller closes it. */
export const startReceiver = async () => {
  const received: Received[] = [];
  let isBusy = 0;
  const receiver = {
    url: '',
    received,
    /** The status of the response; null: none. */
    answer: (_got: Received): number | null | Promise<number | null> => 204,
    /** Text of the response. */
    echo: '',
    /** The most requests at the same time. */
    mostAtOnce: 0,
    types: () => received.map(({ type }) => type),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    isBusy += 1;
    receiver.mostAtOnce = Math.max(receiver.mostAtOnce, isBusy);
    response.once('close', () => {
      isBusy -= 1;
    });
    const body = await text(request);
    const headers = request.headers as Record<string, string>; // none is repeated
    const got: Received = {
      path: request.url ?? '',
      id: headers['webhook-id'] ?? '',
      body,
      headers,
      ...JSON.parse(body),
    };
    received.push(got);
    const status = await receiver.answer(got);
    if (status !== null)
      response.writeHead(status).end(status === 204 ? undefined : receiver.echo || `answer ${status}`);
  };
  const server = createServer((request, response) => void respond(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  receiver.url = `http://127.0.0.1:${bound !== null && typeof bound === 'object' ? bound.port : 0}/hook`;
  return receiver;
};

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;
