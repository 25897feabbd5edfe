import { DAY_MS } from '../../src/lib/clock.ts';
import type { UsageEntryInput } from '../../src/services/usage/usage-writes.ts';
import { NOON } from './test-clock.ts';

/** Apps of the demo workspace. */
export const SALES = 'zylTKNVx';
export const CHURN = 'Qm3vR8pa';
export const FLEET = 'Hb7cW2ke';

/** A usage entry as the log stores it, `daysAgo` days before NOON. */
export const logEntry = (
  daysAgo: number,
  email = 'w@x.test',
  stack: string | null = null,
): UsageEntryInput => ({
  entryKey: null,
  email,
  fullName: 'W X',
  action: 'STACK_ACCESS',
  actionDescription: '',
  stack,
  extra: JSON.stringify(stack === null ? {} : { stack }),
  occurredAt: new Date(NOON.getTime() - daysAgo * DAY_MS),
});

/** All items of a streamed list. */
export const collectPages = async <T>(pages: AsyncIterable<T[]>): Promise<T[]> =>
  (await Array.fromAsync(pages)).flat();
