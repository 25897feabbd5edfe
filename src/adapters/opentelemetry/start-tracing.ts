import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type Tracer as ApiTracer,
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  type Link,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TracingConfig } from '../../config/tracing-config.ts';
import { reasonOf } from '../../lib/errno.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Span, SpanDetails, SpanResult, Tracer } from '../../lib/tracing.ts';
import { tracing } from '../../lib/tracing.ts';

type Options = {
  config: TracingConfig;
  version: string;
  logger: Pick<Logger, 'warn'>;
  warnIntervalMs?: number;
  flushMs?: number;
};

const WARN_INTERVAL_MS = 60_000;
/** Limit of the last export. The whole shutdown is limited to 10 s. */
const FLUSH_MS = 1_000;

export type Tracing = Awaited<ReturnType<typeof startTracing>>;

/**
 * Records spans from now on, and exports them in the background. While the collector does not respond, spans beyond the queue
 * are dropped.
 */
export const startTracing = async ({ config, version, logger, ...limits }: Options) => {
  const { warnIntervalMs = WARN_INTERVAL_MS, flushMs = FLUSH_MS } = limits;
  warnOfFailedExports(logger, warnIntervalMs);
  const provider = new TracerProvider({
    resource: describeService(version),
    sampler: samplerOf(config),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: await createExporter(config),
        scheduledDelayMillis: config.exportIntervalMs,
      }),
    ],
  });
  tracing.install(createTracer(provider.getTracer('steward', version)));
  return {
    /** Exports the remaining spans, for a second at most. */
    stop: async (): Promise<void> => {
      tracing.install(null);
      const flushed = provider.shutdown().catch((_reported: unknown) => undefined);
      await Promise.race([flushed, pause(flushMs, undefined, { ref: false })]);
    },
  };
};

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override and extend these. */
const describeService = (version: string) =>
  resourceFromAttributes({
    'service.name': 'steward',
    'service.version': version,
    'service.instance.id': randomUUID(),
    'host.name': hostname(),
    'process.pid': process.pid,
  }).merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));

/** Loads only the encoding in use. */
const createExporter = async ({ protocol }: TracingConfig): Promise<SpanExporter> => {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter();
};

const samplerOf = ({ sampler, samplingRatio }: TracingConfig): Sampler => {
  const own = sampler.endsWith('traceidratio')
    ? new TraceIdRatioBasedSampler(samplingRatio)
    : new AlwaysOnSampler();
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root: own }) : own;
};

const warnOfFailedExports = (logger: Pick<Logger, 'warn'>, intervalMs: number): void => {
  let warnedAt = Number.NEGATIVE_INFINITY;
  setGlobalErrorHandler((error) => {
    if (performance.now() - warnedAt < intervalMs) return;
    warnedAt = performance.now();
    logger.warn({ reason: reasonOf(error) }, 'traces cannot be exported');
  });
};

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
};

/** The current span of this asynchronous call chain. No context manager is registered globally. */
const storage = new AsyncLocalStorage<StartedSpan | null>();

class StartedSpan implements Span {
  readonly context: Context;
  readonly ids: SpanContext;
  readonly #span;

  constructor(tracer: ApiTracer, { name, kind = 'internal', attributes = {} }: SpanDetails, from: Parent) {
    const options = { kind: KINDS[kind], attributes, links: from.links ?? [] };
    this.#span = tracer.startSpan(name, options, from.context);
    this.context = trace.setSpan(ROOT_CONTEXT, this.#span);
    this.ids = this.#span.spanContext();
  }

  run<T>(work: () => T): T {
    return storage.run(this, work);
  }

  end({ attributes, error }: SpanResult = {}): void {
    if (attributes) this.#span.setAttributes(attributes);
    if (error !== undefined) {
      this.#span.setAttribute('error.type', error);
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}

const isSampled = ({ traceFlags }: SpanContext): boolean => (traceFlags & TraceFlags.SAMPLED) !== 0;

type Parent = { context: Context; links?: Link[] };

export const createTracer = (tracer: ApiTracer): Tracer => {
  const propagator = new W3CTraceContextPropagator();
  const extract = (headers: object): Context =>
    propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
  const startChild = (details: () => SpanDetails): Span | null => {
    const parent = storage.getStore();
    // All samplers decide for a whole trace.
    return parent && isSampled(parent.ids) ? new StartedSpan(tracer, details(), parent) : null;
  };

  return {
    startRequest: (details, headers) => new StartedSpan(tracer, details, { context: extract(headers) }),
    startLinked: (details, traceparent) => {
      const cause = traceparent === null ? undefined : trace.getSpanContext(extract({ traceparent }));
      const links = cause && isSampled(cause) ? [{ context: cause }] : [];
      return new StartedSpan(tracer, details, { context: ROOT_CONTEXT, links });
    },
    startChild,
    startStatement: (text) => startChild(() => describeStatement(text())),
    current: () => storage.getStore() ?? null,
    detach: (work) => storage.run(null, work),
    headers: () => {
      const headers: Record<string, string> = {};
      const span = storage.getStore();
      if (span) propagator.inject(span.context, headers, defaultTextMapSetter);
      return headers;
    },
  };
};

/** Only the operation: the texts of the ORM's statements contain values. */
const describeStatement = (text: string): SpanDetails => {
  const operation = /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? 'EMPTY';
  const attributes = { 'db.system.name': 'postgresql', 'db.operation.name': operation };
  return { name: operation, kind: 'client', attributes };
};
