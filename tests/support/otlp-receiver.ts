import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

type Value = { stringValue?: string; intValue?: number | string; boolValue?: boolean };
type KeyValue = { key: string; value: Value };
/** The JSON encoding of OTLP. */
type ExportRequest = {
  resourceSpans: {
    resource: { attributes: KeyValue[] };
    scopeSpans: { spans: (Omit<ReceivedSpan, 'attributes' | 'resource'> & { attributes: KeyValue[] })[] }[];
  }[];
};

type Attributes = Record<string, string | number | boolean | undefined>;

export type ReceivedSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: Attributes;
  resource: Attributes;
  status: { code?: number };
  links: { traceId: string; spanId: string }[];
};

export type OtlpReceiver = Awaited<ReturnType<typeof startOtlpReceiver>>;

/** A collector for traces on loopback, which decodes exports in JSON and keeps the bytes of all. */
export const startOtlpReceiver = async () => {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  const requests: { url: string; headers: IncomingHttpHeaders }[] = [];
  /** `hang`: no response. */
  const conduct: { fault: number | 'hang' | null } = { fault: null };

  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request));
    requests.push({ url: request.url ?? '', headers: request.headers });
    if (conduct.fault === 'hang') return;
    if (conduct.fault !== null) {
      response.writeHead(conduct.fault).end();
      return;
    }
    bodies.push(body);
    if (request.headers['content-type'] === 'application/json') spans.push(...decode(body.toString()));
    response.writeHead(200, { 'content-type': request.headers['content-type'] }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a TCP server

  return {
    endpoint: `http://127.0.0.1:${port}`,
    conduct,
    requests,
    bodies,
    spans,
    /** The settings of a service that exports to it, soon. */
    settings: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      server.closeAllConnections();
      server.close();
    },
  };
};

const decode = (text: string): ReceivedSpan[] => {
  const { resourceSpans }: ExportRequest = JSON.parse(text);
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        attributes: toAttributes(span.attributes),
        resource: toAttributes(resource.attributes),
      })),
    ),
  );
};

const toAttributes = (pairs: KeyValue[]): Attributes =>
  Object.fromEntries(
    pairs.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.boolValue ??
        (value.intValue === undefined ? undefined : Number(value.intValue)),
    ]),
  );
