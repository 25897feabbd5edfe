import { createTextArray } from '../../db/binary-arrays.ts';

/** An entry as the log keeps it. */
export type UsageEntryInput = {
  /** The platform's own id; null when it has none. */
  entryKey: string | null;
  email: string;
  fullName: string;
  action: string;
  actionDescription: string;
  stack: string | null;
  /** JSON text */
  extra: string;
  occurredAt: Date;
};

/** Entries of the log by columns, which is how they are written. */
export type UsageColumns = {
  keys: (string | null)[];
  emails: string[];
  fullNames: string[];
  actions: string[];
  descriptions: string[];
  stacks: (string | null)[];
  /** The JSON of all of them, as PostgreSQL reads it: most of what there is, and out of reach of garbage collection. */
  extras: Buffer;
  /** Milliseconds since 1970. */
  times: number[];
};

/** What `extra` takes with the metadata of a request. */
const EXTRA_BYTES = 700;

export const createExtras = (count: number) => createTextArray('json', count, EXTRA_BYTES);

export const columnsOf = (entries: readonly UsageEntryInput[]): UsageColumns => {
  const extras = createExtras(entries.length);
  for (const { extra } of entries) extras.add(extra);
  return {
    keys: entries.map(({ entryKey }) => entryKey),
    emails: entries.map(({ email }) => email),
    fullNames: entries.map(({ fullName }) => fullName),
    actions: entries.map(({ action }) => action),
    descriptions: entries.map(({ actionDescription }) => actionDescription),
    stacks: entries.map(({ stack }) => stack),
    extras: extras.bytes(),
    times: entries.map(({ occurredAt }) => occurredAt.getTime()),
  };
};
