import { open } from 'node:fs/promises';
import type { Remark } from '../integrations/django/remark.ts';
import { csvLine } from '../lib/csv-line.ts';

/** Enough to see what is wrong; the rest is for a file. */
const SHOWN_FAULTS = 20;
/** Characters written together. */
const WRITE_SIZE = 64 * 1024;
const COLUMNS = ['record', 'pk', 'email', 'outcome', 'field', 'message'];

export type ImportReport = {
  write: (remark: Remark) => Promise<void>;
  close: () => Promise<void>;
};

/** Every remark, as CSV. An older file is replaced; a new one only its owner may read, since it holds addresses. */
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

/** The first faults on standard error, and how many more there are. */
export const createErrorList = (): ImportReport => {
  let faults = 0;
  return {
    write: async (remark) => {
      if (remark.outcome !== 'faulty') return;
      faults += 1;
      if (faults <= SHOWN_FAULTS) process.stderr.write(`${lineOf(remark)}\n`);
    },
    close: async () => {
      if (faults > SHOWN_FAULTS)
        process.stderr.write(`${faults - SHOWN_FAULTS} more; --report lists them all.\n`);
    },
  };
};

const lineOf = ({ position, pk, field, message }: Remark): string =>
  position === null
    ? `${field}: ${message}`
    : `record ${position} (pk ${pk || 'none'}): ${field}: ${message}`;
