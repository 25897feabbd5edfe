import { z } from 'zod';
import { httpUrl, wholeNumber } from './setting-types.ts';

/**
 * The standard variables of OpenTelemetry that the service reads itself. The exporter reads the other `OTEL_EXPORTER_OTLP_*` (headers,
 * certificates, compression, timeout); the resource reads `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`.
 */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional().meta({
    description:
      'OpenTelemetry collector to which traces are sent, without `/v1/traces`: see [tracing.md](tracing.md)',
    defaultText: 'none: no traces',
  }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl
    .optional()
    .describe('The complete URL for traces, instead of `OTEL_EXPORTER_OTLP_ENDPOINT`'),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(['http/protobuf', 'http/json'], 'must be http/protobuf or http/json: gRPC is not supported')
    .default('http/protobuf')
    .describe('Encoding of traces'),
  OTEL_SDK_DISABLED: z
    .string()
    .default('false')
    .meta({ description: '`true` disables traces', valueType: '`true` or `false`' }),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none']).default('otlp').describe('`none` disables traces'),
  OTEL_TRACES_SAMPLER: z
    .enum(['parentbased_always_on', 'parentbased_traceidratio', 'traceidratio'])
    .default('parentbased_always_on')
    .describe('Which requests are traced. `parentbased_…`: as the caller decided, if it did'),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(0(\.\d{1,9})?|1(\.0{1,9})?)$/, 'must be a number from 0 to 1')
    .transform(Number)
    .default(1)
    .meta({
      description: 'Share of the requests that the samplers `…traceidratio` trace',
      valueType: 'number, 0 to 1',
    }),
  OTEL_BSP_SCHEDULE_DELAY: wholeNumber(1, 3_600_000, 5_000).describe(
    'Milliseconds between two exports of spans',
  ),
};

type Settings = z.output<z.ZodObject<typeof tracingSettings>>;

export type TracingConfig = NonNullable<ReturnType<typeof tracingConfigOf>>;

/**
 * Removes the settings of traces if no traces are sent: platforms set these variables for all services, possibly to values that this one
 * does not support.
 */
export const withoutUnusedTracing = (env: Record<string, string>): Record<string, string> => {
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const isDisabled = env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none';
  if (endpoint !== undefined && !isDisabled) return env;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('OTEL_')));
};

/** null: no traces. */
export const tracingConfigOf = (settings: Settings) => {
  if (!settings.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT && !settings.OTEL_EXPORTER_OTLP_ENDPOINT) return null;
  return {
    protocol: settings.OTEL_EXPORTER_OTLP_PROTOCOL,
    sampler: settings.OTEL_TRACES_SAMPLER,
    /** From 0 to 1. */
    samplingRatio: settings.OTEL_TRACES_SAMPLER_ARG,
    exportIntervalMs: settings.OTEL_BSP_SCHEDULE_DELAY,
  };
};
