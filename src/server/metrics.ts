import cluster from 'node:cluster';
import { AggregatorRegistry, type Registry } from 'prom-client';
import manifest from '../../package.json' with { type: 'json' };
import { createMetrics } from '../adapters/prometheus/metrics.ts';
import type { App } from '../app.ts';
import type { Config } from '../config/config.ts';
import { startMetricsServer } from '../http/metrics-server.ts';
import { readOperationalState } from '../services/operational-state.ts';
import { wrapListenError } from './listen.ts';

/** Answers the scrapes of the primary process in a worker: empty until the worker collects metrics. */
export const answerScrapes = (): void => {
  AggregatorRegistry.setRegistries([]);
  new AggregatorRegistry();
};

/** Collects the metrics of this process. */
export const collectMetrics = ({ orm, hasher, clock, backupIntervalSeconds }: App): Registry => {
  const registry = createMetrics({
    version: manifest.version,
    pool: orm.pool,
    passwordQueue: hasher.queue,
    backupIntervalSeconds,
    readOperationalState: () => readOperationalState(orm.em.fork(), clock.now()),
  });
  if (cluster.isWorker) AggregatorRegistry.setRegistries(registry);
  return registry;
};

/**
 * Serves the metrics of this process, or the sums over its workers.
 * @param registry null in the primary process of workers
 * @returns the function that stops serving
 * @throws OperatorError
 */
export const serveMetrics = async (config: Config, registry: Registry | null) => {
  const { metricsPort: port, metricsHost: host, metricsToken: token } = config;
  const workers = new AggregatorRegistry();
  const collect = () => (registry ? registry.metrics() : workers.clusterMetrics());
  const server = await wrapListenError(
    startMetricsServer({
      port,
      host,
      token,
      collect: async () => ({ contentType: workers.contentType, text: await collect() }),
    }),
    'METRICS_',
  );
  return async () => {
    server.close();
    server.closeAllConnections();
  };
};
