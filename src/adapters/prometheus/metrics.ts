import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { countEvents } from './event-metrics.ts';
import { describeService, type StateSources } from './state-metrics.ts';

/** What is read at each scrape. */
export type MetricSources = StateSources & {
  version: string;
  pool: { totalCount: number; idleCount: number; waitingCount: number; options: { max: number } };
  passwordQueue: () => { running: number; waiting: number };
};

/**
 * Collects the metrics of this process. No label holds a client, a user or a raw path: each metric has a bounded number of
 * series.
 */
export const createMetrics = (sources: MetricSources): Registry => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  countEvents(registry);
  describeProcess(registry, sources);
  describeService(registry, sources);
  return registry;
};

const describeProcess = (registry: Registry, { version, pool, passwordQueue }: MetricSources): void => {
  const registers = [registry];
  new Gauge({
    name: 'steward_build_info',
    help: 'Always 1, labelled with the versions.',
    labelNames: ['version', 'node'],
    aggregator: 'first',
    registers,
  }).set({ version, node: process.versions.node }, 1);
  new Gauge({
    name: 'steward_database_connections',
    help: 'Connections of the pool by state, and the work that waits for one.',
    labelNames: ['state'],
    registers,
    collect() {
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount);
      this.set({ state: 'idle' }, pool.idleCount);
      this.set({ state: 'waiting' }, pool.waitingCount);
    },
  });
  new Gauge({
    name: 'steward_database_connections_max',
    help: 'Connections that the pool may open.',
    registers,
  }).set(pool.options.max);
  new Gauge({
    name: 'steward_password_hashes',
    help: 'Passwords that are being hashed, and those that wait for a core.',
    labelNames: ['state'],
    registers,
    collect() {
      const { running, waiting } = passwordQueue();
      this.set({ state: 'running' }, running);
      this.set({ state: 'waiting' }, waiting);
    },
  });
};
