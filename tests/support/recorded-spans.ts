import {
  AlwaysOnSampler,
  InMemorySpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { entities } from '../../entities/index.ts';
import { createTracer } from '../../src/adapters/opentelemetry/tracer.ts';
import { tracing } from '../../src/lib/tracing.ts';

const TABLES = new Set(entities.map(({ meta }) => meta.tableName));

/** Records the spans of this process until it is disposed. */
export const recordSpans = () => {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  });
  tracing.install(createTracer(provider.getTracer('tests'), TABLES));
  const spans = (): ReadableSpan[] => exporter.getFinishedSpans();
  return {
    spans,
    named: (name: string): ReadableSpan | undefined => spans().find((span) => span.name === name),
    childrenOf: (parent: ReadableSpan | undefined): ReadableSpan[] =>
      spans().filter((span) => span.parentSpanContext?.spanId === parent?.spanContext().spanId),
    [Symbol.dispose]: (): void => tracing.install(null),
  };
};
