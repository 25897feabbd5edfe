import type { Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { SingleBar } from 'cli-progress';
import type { Remark } from '../integrations/django/fields.ts';
import { csvLine } from '../lib/csv-line.ts';
import { nullIfMissing } from '../lib/errno.ts';
import { invalid } from '../lib/problems.ts';

/** Errors printed to the terminal. */
const MAX_PRINTED_ERRORS = 20;
/** Characters per write. */
const WRITE_SIZE = 64 * 1024;

/** @throws Problem `invalid-input` if the source is a folder, or the report would overwrite it */
export const checkFiles = async (source: Stats, report: string | undefined): Promise<void> => {
  if (source.isDirectory()) throw invalid({ file: ['Must be a file, not a folder.'] });
  const existing = report === undefined ? null : await nullIfMissing(stat(report));
  if (existing && existing.dev === source.dev && existing.ino === source.ino) {
    throw invalid({ '--report': ['Must not be the file that is imported.'] });
  }
};

export type ImportReport = { write: (remark: Remark) => Promise<void>; close: () => Promise<void> };

/** Writes the remarks of an import as CSV as they occur. Replaces an existing file; only the owner can read it. */
export const createReportFile = async (path: string): Promise<ImportReport> => {
  const file = await open(path, 'w', 0o600);
  let pending = csvLine(['record', 'pk', 'email', 'outcome', 'field', 'message']);
  const flush = async (): Promise<void> => {
    await file.appendFile(pending);
    pending = '';
  };
  return {
    write: async ({ position, pk, email, outcome, field, message }) => {
      pending += csvLine([String(position ?? ''), pk, email, outcome, field, message]);
      if (pending.length >= WRITE_SIZE) await flush();
    },
    close: () => flush().finally(() => file.close()),
  };
};

/** Prints the first errors of an import to standard error, and the number of others. */
export const createErrorList = (): ImportReport => {
  let errors = 0;
  return {
    write: async (remark) => {
      if (remark.outcome !== 'faulty') return;
      errors += 1;
      if (errors <= MAX_PRINTED_ERRORS) process.stderr.write(`${lineOf(remark)}\n`);
    },
    close: async () => {
      if (errors > MAX_PRINTED_ERRORS)
        process.stderr.write(`${errors - MAX_PRINTED_ERRORS} more; use --report to list all.\n`);
    },
  };
};

const lineOf = ({ position, pk, field, message }: Remark): string =>
  position === null
    ? `${field}: ${message}`
    : `record ${position} (pk ${pk || 'none'}): ${field}: ${message}`;

export type Progress = Disposable & { advance(by?: number): void; stop(): void };

const FORMAT = '{label} [{bar}] {value}/{total}, {duration_formatted}';

/** Without a terminal, a bar would only fill a log. */
const SILENT: Progress = { advance: () => {}, stop: () => {}, [Symbol.dispose]: () => {} };

/**
 * Shows a progress bar on standard error if that is a terminal. A bar that is not stopped (or disposed) keeps the process alive.
 */
export const createProgress = (
  label: string,
  total: number,
  stream: NodeJS.WritableStream & { isTTY?: boolean } = process.stderr,
): Progress => {
  if (stream.isTTY !== true) return SILENT;
  // Terminal settings stay unchanged, because an interrupted command could not restore them.
  const bar = new SingleBar({ format: FORMAT, stream, linewrap: true, clearOnComplete: true });
  bar.start(total, 0, { label });
  const stop = () => bar.stop();
  return { advance: (by = 1) => bar.increment(by), stop, [Symbol.dispose]: stop };
};
