export type Totals = { total: number; passed: number; skipped: number };

/** How the run of a test file ended. */
export type Ending = {
  /** Absent if its suites did not finish. */
  totals?: Totals;
  /** Names of the process state that the file did not restore. */
  changed: string[];
  /** Exit status of the process if it ended before the file was done; null after a signal. */
  status?: number | null;
  timedOut: boolean;
  output: string;
};

export type Verdict = { passed: number; failed: number; faults: string[] };

const faultsIn = (totals: Totals): string[] => {
  const faults: string[] = [];
  if (totals.total === 0) faults.push('has no tests');
  if (totals.passed !== totals.total)
    faults.push(`${totals.total - totals.passed} of ${totals.total} did not pass`);
  if (totals.skipped > 0) faults.push(`${totals.skipped} left out by skip or only`);
  return faults;
};

/**
 * Whether a file passed. uvu alone reports success after a throwing `before`, a missing `.run()`, an early `process.exit()`
 * and a forgotten `.only`.
 */
export const judge = ({ totals, changed, status, timedOut }: Ending): Verdict => {
  const faults = totals ? faultsIn(totals) : ['ended without a summary'];
  if (changed.length > 0) faults.push(`has left changed: ${changed.join(', ')}`);
  if (timedOut) faults.push('took too long');
  else if (status !== undefined) faults.push(`ended the process: status ${status ?? 'none, but a signal'}`);

  const passed = totals?.passed ?? 0;
  const failed = Math.max((totals?.total ?? 0) - passed, faults.length > 0 ? 1 : 0);
  return { passed, failed, faults };
};
