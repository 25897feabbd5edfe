import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startTracing } from '../../src/adapters/opentelemetry/start-tracing.ts';
import { readConfig } from '../../src/config/config.ts';
import { tracing } from '../../src/lib/tracing.ts';
import { until } from '../support/time.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../support/traces.ts';

const SAMPLED = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const EXPORTER_VARIABLES = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TIMEOUT',
  'OTEL_SERVICE_NAME',
] as const;

const exporting = suite<{ collector: OtlpReceiver }>('startTracing');

exporting.before.each(async (context) => {
  context.collector = await startOtlpReceiver();
});
exporting.after.each(async ({ collector }) => {
  for (const name of EXPORTER_VARIABLES) delete process.env[name];
  tracing.install(null);
  await collector[Symbol.asyncDispose]();
});

type Start = { settings?: Record<string, string>; limits?: { warnIntervalMs?: number; flushMs?: number } };

const start = async ({ settings }: OtlpReceiver, { settings: more, limits }: Start = {}) => {
  const env = { ...settings, ...more };
  // The exporter reads the environment of the process.
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = settings.OTEL_EXPORTER_OTLP_ENDPOINT;
  const { tracing: config } = readConfig(env);
  if (!config) throw new Error('the settings enable traces');
  const warnings: unknown[] = [];
  const logger = { warn: (fields: unknown) => warnings.push(fields) };
  const started = await startTracing({ config, version: '1.0.0', logger, ...limits });
  return { ...started, warnings };
};

const request = (traceparent?: string): void =>
  tracing.startRequest(() => ({ name: 'request' }), { traceparent })?.end();

exporting('samples as OTEL_TRACES_SAMPLER says', async ({ collector }) => {
  const countWith = async (sampler: string, argument: string, traceparent?: string): Promise<number> => {
    const settings = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument };
    const { stop } = await start(collector, { settings });
    const before = collector.spans.length;
    for (let count = 0; count < 200; count += 1) request(traceparent);
    await stop();
    return collector.spans.length - before;
  };

  assert.is(await countWith('parentbased_always_on', '0'), 200);
  assert.is(await countWith('parentbased_traceidratio', '0'), 0);
  assert.is(await countWith('parentbased_traceidratio', '0', SAMPLED), 200);
  assert.is(await countWith('traceidratio', '0', SAMPLED), 0);
  const half = await countWith('traceidratio', '0.5');
  // 200 tosses of a coin leave this range once in ten billion runs.
  assert.ok(half > 50 && half < 150, `${half} of 200`);
});

exporting('takes the name of the service from OTEL_SERVICE_NAME', async ({ collector }) => {
  process.env.OTEL_SERVICE_NAME = 'steward-eu';
  const { stop } = await start(collector);
  request();
  await stop();

  const resource = collector.spans[0]?.resource;
  assert.equal([resource?.['service.name'], resource?.['service.version']], ['steward-eu', '1.0.0']);
});

exporting('warns once in an interval while exports fail', async ({ collector }) => {
  collector.conduct.fault = 400;
  const { stop, warnings } = await start(collector);
  for (let failed = 1; failed <= 3; failed += 1) {
    request();
    await until('an export has failed', () => collector.requests.length === failed);
  }
  await until('it is reported', () => warnings.length > 0);
  await stop();

  assert.is(warnings.length, 1);
});

exporting.run();
