import { open } from 'node:fs/promises';
import type { Remark } from '../integrations/django/remark.ts';
import { csvLine } from '../lib/csv-line.ts';

/** Errors printed without --report. */
const MAX_PRINTED_ERRORS = 20;
/** Characters per write. */
const WRITE_SIZE = 64 * 1024;
const COLUMNS = ['record', 'pk', 'email', 'outcome', 'field', 'message'];

export type ImportReport = {
  write: (remark: Remark) => Promise<void>;
  close: () => Promise<void>;
};

/** Writes all remarks as CSV. Replaces an existing file; only the owner can read it, because it contains addresses. */
export const createReportFile = async (path: string): Promise<ImportReport> => {
  const file = await open(path, 'w', 0o600);
  let pending = csvLine(COLUMNS);
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

/** Prints the first errors to standard error, and the number of others. */
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
