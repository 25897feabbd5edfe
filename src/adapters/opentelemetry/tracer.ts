import { AsyncLocalStorage } from 'node:async_hooks';
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
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { Attributes, Span, SpanDetails, SpanResult, Tracer } from '../../lib/tracing.ts';

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

/** @param tables the names of all tables, which spans of statements show */
export const createTracer = (tracer: ApiTracer, tables: ReadonlySet<string>): Tracer => {
  const propagator = new W3CTraceContextPropagator();
  const detailsOfStatements = createStatementSummary(tables);
  const extract = (headers: object): Context =>
    propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
  const startChild = (details: () => SpanDetails): Span | null => {
    const parent = storage.getStore();
    // All samplers decide for a trace as a whole.
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
    startStatements: (texts) => startChild(() => detailsOfStatements(texts())),
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

const OPERATION = /^\s*(\w+)/;
/** Names in SQL may be quoted. A literal may match as well, but only names of tables are used. */
const TABLE = /\b(?:from|into|update|join)\s+"?(\w+)"?/gi;
const MAX_TABLES = 4;
/** Of a name of a span. */
const MAX_LENGTH = 200;
const NAMED = 3;
/**
 * Describes statements by their operations and tables: `SELECT users`. Their texts are not recorded, because those of the ORM
 * contain values.
 * @param tables the names of all tables: nothing else of a text is recorded but its first word
 */
export const createStatementSummary = (tables: ReadonlySet<string>) => {
  const tablesOf = (text: string): string[] => {
    const found = new Set<string>();
    for (const [, name = ''] of text.matchAll(TABLE)) {
      if (tables.has(name)) found.add(name);
      if (found.size === MAX_TABLES) break;
    }
    return [...found];
  };

  const summarize = (text: string) => ({
    operation: OPERATION.exec(text)?.[1]?.toUpperCase() ?? 'EMPTY',
    tables: tablesOf(text),
  });

  return (texts: readonly string[]): SpanDetails => {
    const summaries = texts.map(summarize);
    const parts = summaries.map(({ operation, tables }) => [operation, ...tables].join(' '));
    const [first] = summaries;
    const summary = [...parts.slice(0, NAMED), ...(parts.length > NAMED ? ['…'] : [])].join('; ');
    const attributes: Attributes = { 'db.system.name': 'postgresql', 'db.query.summary': summary };
    if (texts.length > 1) attributes['db.operation.batch.size'] = texts.length;
    else if (first) {
      attributes['db.operation.name'] = first.operation;
      if (first.tables.length === 1) attributes['db.collection.name'] = first.tables.join();
    }
    return { name: summary.slice(0, MAX_LENGTH), kind: 'client', attributes };
  };
};
