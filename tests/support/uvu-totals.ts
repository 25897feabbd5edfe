import { stripVTControlCharacters } from 'node:util';

export type Totals = { total: number; passed: number; skipped: number };

/** How a test file's process ended; `status` is null after a signal. */
export type Ending = { status: number | null; timedOut: boolean; output: string };

export type Verdict = { passed: number; failed: number; faults: string[] };

const SUMMARY = /^ {2}Total: +(\d+)\n {2}Passed: +(\d+)\n {2}Skipped: +(\d+)$/gm;

/** The summary at the end of uvu's output; undefined when it never came so far. */
export const readTotals = (output: string): Totals | undefined => {
  const last = [...stripVTControlCharacters(output).matchAll(SUMMARY)].at(-1);
  if (!last) return undefined;
  const [total = 0, passed = 0, skipped = 0] = last.slice(1).map(Number);
  return { total, passed, skipped };
};

const faultsIn = (totals: Totals): string[] => {
  const faults: string[] = [];
  if (totals.total === 0) faults.push('has no tests');
  if (totals.passed !== totals.total)
    faults.push(`${totals.total - totals.passed} of ${totals.total} did not pass`);
  if (totals.skipped > 0) faults.push(`${totals.skipped} left out by skip or only`);
  return faults;
};

/**
 * Whether a file really passed. uvu alone reports success after a throwing `before`, a missing `.run()`,
 * an early `process.exit()` and a forgotten `.only`.
 */
export const judge = ({ status, timedOut, output }: Ending): Verdict => {
  const totals = readTotals(output);
  const faults = totals ? faultsIn(totals) : ['ended without a summary'];
  if (timedOut) faults.push('took too long');
  else if (status !== 0 && faults.length === 0) faults.push(`exit status ${status ?? 'none, but a signal'}`);

  const passed = totals?.passed ?? 0;
  const failed = Math.max((totals?.total ?? 0) - passed, faults.length > 0 ? 1 : 0);
  return { passed, failed, faults };
};
