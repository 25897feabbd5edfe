import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import {
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
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
import { tracing } from '../../lib/tracing.ts';
import { createTracer } from './tracer.ts';

type Options = {
  config: TracingConfig;
  version: string;
  /** The names of all tables. */
  tables: ReadonlySet<string>;
  logger: Pick<Logger, 'warn'>;
  warnIntervalMs?: number;
  flushMs?: number;
};

const WARN_INTERVAL_MS = 60_000;
/** The last export. The shutdown as a whole is limited to 10 s. */
const FLUSH_MS = 1_000;

export type Tracing = Awaited<ReturnType<typeof startTracing>>;

/**
 * Records spans from now on, and exports them in the background. While the collector does not respond, spans beyond the queue
 * are dropped.
 */
export const startTracing = async ({ config, version, tables, logger, ...limits }: Options) => {
  const { warnIntervalMs = WARN_INTERVAL_MS, flushMs = FLUSH_MS } = limits;
  warnOfFailedExports(logger, warnIntervalMs);
  const provider = new TracerProvider({
    resource: describeService(version),
    sampler: samplerOf(config),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: await createExporter(config),
        scheduledDelayMillis: config.exportIntervalMs,
        maxQueueSize: config.maxQueuedSpans,
        maxExportBatchSize: config.maxBatchSpans,
      }),
    ],
  });
  tracing.install(createTracer(provider.getTracer('steward', version), tables));
  return {
    /** Exports the spans that are left, for a second at most. */
    stop: async (): Promise<void> => {
      tracing.install(null);
      const flushed = provider.shutdown().catch((_reported: unknown) => undefined);
      await Promise.race([flushed, pause(flushMs, undefined, { ref: false })]);
    },
  };
};

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override and add to these. */
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
  const own = ownSampler(sampler.replace(/^parentbased_/, ''), samplingRatio);
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root: own }) : own;
};

const ownSampler = (kind: string, ratio: number): Sampler => {
  if (kind === 'traceidratio') return new TraceIdRatioBasedSampler(ratio);
  return kind === 'always_off' ? new AlwaysOffSampler() : new AlwaysOnSampler();
};

const warnOfFailedExports = (logger: Pick<Logger, 'warn'>, intervalMs: number): void => {
  let warnedAt = Number.NEGATIVE_INFINITY;
  setGlobalErrorHandler((error) => {
    if (performance.now() - warnedAt < intervalMs) return;
    warnedAt = performance.now();
    logger.warn({ reason: reasonOf(error) }, 'traces cannot be exported');
  });
};
