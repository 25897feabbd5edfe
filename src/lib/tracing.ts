import { errorCodeOf } from './errno.ts';

export type Attributes = Record<string, string | number | boolean>;

export type SpanDetails = {
  name: string;
  kind?: 'internal' | 'server' | 'client' | 'consumer';
  /** Named by OpenTelemetry's semantic conventions. They contain no address, name, path or secret. */
  attributes?: Attributes;
};

export type SpanResult = {
  attributes?: Attributes;
  /** A code or the class of an error, never the message, which may quote values. */
  error?: string | undefined;
};

/** A timed operation of a trace. */
export type Span = {
  readonly ids: { traceId: string; spanId: string };
  /** Runs work whose spans become children of this one. */
  run<T>(work: () => T): T;
  end(result?: SpanResult): void;
};

/** The W3C headers `traceparent` and `tracestate`. */
type TraceHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Records and exports spans: `src/adapters/opentelemetry`. */
export type Tracer = {
  /** Starts a span that continues the trace of the caller, or a new trace. */
  startRequest(details: SpanDetails, headers: TraceHeaders): Span;
  /** Starts a new trace that links to the span that caused it. */
  startLinked(details: SpanDetails, traceparent: string | null): Span;
  /** Starts a child of the current span; null without one, or if its trace is not sampled. */
  startChild(details: () => SpanDetails): Span | null;
  /** Like `startChild`, for a statement, of which only the operation is recorded. */
  startStatement(text: () => string): Span | null;
  current(): Span | null;
  /** Runs work outside of all spans. */
  detach<T>(work: () => T): T;
  /** The headers that continue the current trace. */
  headers(): Record<string, string>;
};

let tracer: Tracer | null = null;

/**
 * With this, the layers start spans. Unlike an event of `telemetry`, a span is returned to its layer, as the parent of further spans.
 * Without a tracer, which is the default, each call costs one comparison.
 */
export const tracing = {
  /** @param installed null removes the tracer */
  install: (installed: Tracer | null): void => {
    tracer = installed;
  },
  startRequest: (details: () => SpanDetails, headers: TraceHeaders): Span | null =>
    tracer?.startRequest(details(), headers) ?? null,
  startLinked: (details: () => SpanDetails, traceparent: string | null): Span | null =>
    tracer?.startLinked(details(), traceparent) ?? null,
  start: (details: () => SpanDetails): Span | null => tracer?.startChild(details) ?? null,
  startStatement: (text: () => string): Span | null => tracer?.startStatement(text) ?? null,
  current: (): Span | null => tracer?.current() ?? null,
  /** Runs work in a span, or outside of all spans. */
  runIn: <T>(span: Span | null, work: () => T): T => {
    if (span) return span.run(work);
    return tracer ? tracer.detach(work) : work();
  },
  /** The header to store for `startLinked`. */
  traceparent: (): string | null => tracer?.headers().traceparent ?? null,
};

/** The ids of a span under the names that OpenTelemetry gives them in logs. */
export const logFieldsOf = (span: Span | null): { trace_id?: string; span_id?: string } =>
  span ? { trace_id: span.ids.traceId, span_id: span.ids.spanId } : {};

/** Runs work in a child of the current span, which ends with it. */
export const traced = <T>(details: SpanDetails, work: () => Promise<T>): Promise<T> => {
  const span = tracing.start(() => details);
  return span ? endWith(span, span.run(work)) : work();
};

/** Ends a span, if there is one, when its work ends. */
export const endWith = <T>(span: Span | null, work: Promise<T>): Promise<T> =>
  span ? endAfter(span, work) : work;

const endAfter = async <T>(span: Span, work: Promise<T>): Promise<T> => {
  try {
    const result = await work;
    span.end();
    return result;
  } catch (error) {
    span.end({ error: errorTypeOf(error) });
    throw error;
  }
};

/** The code of a Problem, a SQLSTATE, the code of a system call, or the class of the error. */
export const errorTypeOf = (error: unknown): string =>
  errorCodeOf(error) ?? (error instanceof Error ? error.name : 'unknown');
