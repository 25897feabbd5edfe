import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  AlwaysOnSampler,
  InMemorySpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { createTracer } from '../../src/adapters/opentelemetry/start-tracing.ts';
import { tracing } from '../../src/lib/tracing.ts';

/** Records the spans of this process until it is disposed. */
export const recordSpans = () => {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  });
  tracing.install(createTracer(provider.getTracer('tests')));
  const spans = (): ReadableSpan[] => exporter.getFinishedSpans();
  return {
    spans,
    named: (name: string): ReadableSpan | undefined => spans().find((span) => span.name === name),
    childrenOf: (parent: ReadableSpan | undefined): ReadableSpan[] =>
      spans().filter((span) => span.parentSpanContext?.spanId === parent?.spanContext().spanId),
    [Symbol.dispose]: (): void => tracing.install(null),
  };
};

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
    // A service that is killed does not send all of it.
    const chunks = await Array.fromAsync(request).catch(() => null);
    if (chunks === null) return;
    const body = Buffer.concat(chunks);
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
