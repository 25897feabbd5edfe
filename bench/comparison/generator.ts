import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { LoadReport, Orders } from './load.ts';

export type Generator = ReturnType<typeof startGenerator>;

/** The load generator: a process of its own, so that its time can be told from a server's. Tokens go over a pipe. */
export const startGenerator = (closing: AsyncDisposableStack) => {
  const child = fork(join(import.meta.dirname, 'load.ts'), { execArgv: [] });
  closing.defer(async () => {
    if (child.exitCode !== null) return;
    child.kill();
    await once(child, 'exit');
  });

  /** @throws Error when an answer was not as expected */
  return async (orders: Orders): Promise<LoadReport> => {
    child.send(orders);
    const [report] = (await once(child, 'message')) as [LoadReport | { error: string }]; // load.ts sends these
    if ('error' in report) throw new Error(report.error);
    const [failure] = Object.entries(report.failures);
    if (failure) throw new Error(`${failure[1]} of ${report.answers} answers: ${failure[0]}.`);
    return report;
  };
};
