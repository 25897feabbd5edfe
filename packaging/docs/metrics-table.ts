import { createMetrics } from '../../src/adapters/prometheus/metrics.ts';
import { markdownTable } from './markdown.ts';

/** What the declarations of `prom-client` leave out of a registered metric. */
type Described = { name: string; help: string; labelNames: string[] };

/** The table of docs/metrics.md: every metric but those of Node and the process, which `prom-client` names. */
export const metricsTable = (): string => {
  const registry = createMetrics({
    version: '',
    pool: { totalCount: 0, idleCount: 0, waitingCount: 0, options: { max: 0 } },
    passwordQueue: () => ({ running: 0, waiting: 0 }),
    readOperationalState: () => Promise.reject(new Error('There is no database.')),
    backupIntervalSeconds: 0,
  });
  const described = registry.getMetricsAsArray() as unknown[] as Described[];
  const rows = described
    .filter(({ name }) => name.startsWith('steward_'))
    .map(({ name, help, labelNames }) => {
      const type = registry.getSingleMetric(name)?.constructor.name.toLowerCase() ?? '';
      const labels = labelNames.map((label) => `\`${label}\``).join(', ');
      return [`\`${name}\``, type, labels || '–', help];
    });
  return markdownTable(['Metric', 'Type', 'Labels', 'Meaning'], rows);
};
