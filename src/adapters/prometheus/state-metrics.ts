import { Gauge, type Registry } from 'prom-client';

/** The state of the whole service, which all instances see alike. */
export type OperationalState = {
  unsentMails: number;
  oldestUnsentMailSeconds: number;
  unfinishedErasures: number;
  /** Months after the current one for which the usage log has partitions. */
  usageMonthsAhead: number;
  /** Since the snapshot of the last good scheduled backup; null before the first. */
  backupAgeSeconds: number | null;
  backupDurationSeconds: number | null;
  backupSizeBytes: number | null;
  /** Since the last good one. */
  backupFailures: number;
  /** Stored times in the future that are not corrected yet: the clock of the database was ahead. */
  futureTimes: number;
};

export type StateSources = {
  readOperationalState: () => Promise<OperationalState>;
  /** Between scheduled backups; null if none are scheduled. */
  backupIntervalSeconds: number | null;
};

/** A scrape that cannot reach the database still reports everything else. */
const STATE_AGE_MS = 5_000;

/** The state of the whole service, which instances report alike. */
export const describeService = (registry: Registry, sources: StateSources): void => {
  const state = createStateCache(sources.readOperationalState);
  const addGauge = (name: string, help: string, value: (state: OperationalState) => number | null): void => {
    new Gauge({
      name,
      help,
      aggregator: 'max',
      registers: [registry],
      async collect() {
        const current = await state();
        const known = current && value(current);
        // Without a value there is no series. Workers send theirs as JSON, which turns NaN into 0.
        if (known === null) this.remove();
        else this.set(known);
      },
    });
  };
  new Gauge({
    name: 'steward_database_up',
    help: 'Whether the database answered: 1 or 0.',
    aggregator: 'min',
    registers: [registry],
    async collect() {
      this.set((await state()) ? 1 : 0);
    },
  });
  addGauge('steward_mails_unsent', 'Mails that wait to be sent.', ({ unsentMails }) => unsentMails);
  addGauge(
    'steward_mails_oldest_unsent_seconds',
    'Age of the oldest mail that waits to be sent.',
    ({ oldestUnsentMailSeconds }) => oldestUnsentMailSeconds,
  );
  addGauge(
    'steward_erasures_unfinished',
    'Erasures of people that have work left.',
    ({ unfinishedErasures }) => unfinishedErasures,
  );
  addGauge(
    'steward_usage_months_ahead',
    'Months after the current one for which the usage log has partitions.',
    ({ usageMonthsAhead }) => usageMonthsAhead,
  );
  addGauge(
    'steward_backup_age_seconds',
    'Age of the last good scheduled backup; missing before the first.',
    ({ backupAgeSeconds }) => backupAgeSeconds,
  );
  addGauge(
    'steward_backup_duration_seconds',
    'Time that the last good scheduled backup took.',
    ({ backupDurationSeconds }) => backupDurationSeconds,
  );
  addGauge(
    'steward_backup_size_bytes',
    'Size of the last good scheduled backup.',
    ({ backupSizeBytes }) => backupSizeBytes,
  );
  addGauge(
    'steward_backup_failures',
    'Scheduled backups that failed since the last good one.',
    ({ backupFailures }) => backupFailures,
  );
  addGauge(
    'steward_future_times',
    'Backups, usage windows and mails with a time in the future: the clock of the database was ahead when it was stored.',
    ({ futureTimes }) => futureTimes,
  );
  addGauge(
    'steward_backup_interval_seconds',
    'BACKUP_INTERVAL_HOURS in seconds; missing if no backups are scheduled.',
    () => sources.backupIntervalSeconds,
  );
};

/** One read for all gauges of a scrape; null while the database does not answer. */
const createStateCache = (read: StateSources['readOperationalState']) => {
  let readAt = Number.NEGATIVE_INFINITY;
  let state: Promise<OperationalState | null> = Promise.resolve(null);
  return (): Promise<OperationalState | null> => {
    if (performance.now() - readAt > STATE_AGE_MS) {
      readAt = performance.now();
      state = read().catch((_unavailable: unknown) => null);
    }
    return state;
  };
};
