import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { sql } from 'kysely';
import { createDeliveryQueue } from '../../src/services/webhooks/delivery-queue.ts';
import { createWebhookSecrets } from '../../src/services/webhooks/webhook-sending.ts';
import { suiteWith } from './suite.ts';
import { ACME, ADA, ROOT, SECRET_KEY, startTestApp, type TestApp } from './test-app.ts';

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
    // The receiver or the service may end before it has come.
    const body = await text(request).catch(() => null);
    if (body === null) return;
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

export type WebhookContext = { app: TestApp; receiver: Receiver };

/** A suite in which each test begins without webhooks, and with a receiver. */
export const webhookSuite = (name: string) =>
  suiteWith(
    name,
    async (started) => {
      const app = await startTestApp();
      started.defer(app.close);
      // The verifier of signatures has no other clock.
      app.clock.advance(Date.now() - app.clock.now().getTime());
      await app.as(ROOT).events.list({});
      return { app };
    },
    async (started, { app }) => {
      app.clock.advance(1_000);
      await app.db().deleteFrom('webhooks').execute();
      await app.as(ROOT).events.list({});
      const receiver = await startReceiver();
      started.defer(receiver.close);
      return { receiver };
    },
  );

const TYPES = ['user.updated' as const];

/** A webhook of the first client that hears when a user is updated. */
export const createWebhook = (
  { app, receiver }: WebhookContext,
  input: { client?: number | null; url?: string } = {},
) => app.as(ROOT).webhooks.create({ url: receiver.url, types: TYPES, client: 1, ...input });

/** The queue from which workers of the app claim deliveries. */
export const openQueue = ({ orm, clock }: TestApp) =>
  createDeliveryQueue({ em: orm.em, clock, secrets: createWebhookSecrets(SECRET_KEY) });

let renamed = 0;
/** Gives a user a first name that no user has had. */
export const rename = (app: TestApp, email = ADA) =>
  app.as(ACME).users.update({ email, first_name: `Name ${++renamed}` });

/** Events of as many subjects, as one change of many people makes them. */
export const updateMany = ({ app }: WebhookContext, count: number) =>
  sql`
    with entries as (
      insert into audit_entries (occurred_at, action, target_label, client_ids, details)
      select ${app.clock.now()}, 'user.update', 'n' || n, '{1}', '{}' from generate_series(1, ${count}::int) n
      returning id)
    insert into unpublished_events (entry_id) select id from entries`.execute(app.db());
