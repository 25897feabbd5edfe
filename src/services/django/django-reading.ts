import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { Problem } from '../../core/problems.ts';
import type { DumpRecord } from './django-dump.ts';
import { openStaging, stage } from './django-staging.ts';
import { type DjangoRecord, readDjangoUser } from './django-user.ts';

/** Records checked together and staged by one statement. */
const CHUNK_SIZE = 1000;

/** What somebody ought to know of one record, or of the file as a whole. */
export type Remark = {
  /** the record's place in the file, from 1; null: the file */
  position: number | null;
  pk: string;
  email: string;
  outcome: 'faulty' | 'exists' | 'imported';
  field: string;
  message: string;
};

type Remarker = (remark: Remark) => Promise<void>;

/** Stages the users of a dump, and tells every fault there is. */
export const stageDump = async (
  tx: SqlEntityManager,
  records: AsyncIterable<DumpRecord>,
  model: string,
  remark: Remarker,
) => {
  const totals = { read: 0, otherModels: 0, faulty: 0 };
  const stageChunk = async (chunk: DjangoRecord[]): Promise<void> => {
    const faults = await faultsIn(tx, chunk);
    for (const fault of faults) await remark(fault);
    totals.faulty += new Set(faults.map(({ position }) => position)).size;
  };

  await openStaging(tx);
  let chunk: DjangoRecord[] = [];
  const fileFault = await orFileFault(async () => {
    for await (const record of records) {
      totals.read += 1;
      const read = readDjangoUser(record, model);
      if (read) chunk.push(read);
      else totals.otherModels += 1;
      if (chunk.length < CHUNK_SIZE) continue;
      await stageChunk(chunk);
      chunk = [];
    }
  });
  await stageChunk(chunk);

  const whole = totals.read - totals.otherModels - totals.faulty;
  const isEmpty = whole + totals.faulty === 0;
  const message = fileFault ?? (isEmpty ? `Holds no record of the model ${model}.` : null);
  if (message !== null) {
    await remark({ position: null, pk: '', email: '', outcome: 'faulty', field: 'file', message });
  }
  return { ...totals, whole, isRefused: message !== null || totals.faulty > 0 };
};

/** What is wrong with the file as a whole, found while reading it. */
const orFileFault = async (work: () => Promise<void>): Promise<string | null> => {
  try {
    await work();
    return null;
  } catch (error) {
    const [message] = (error instanceof Problem && error.fields?.file) || [];
    if (message === undefined) throw error;
    return message;
  }
};

/** Those of the records themselves, and those of an address that comes twice, in the order of the file. */
const faultsIn = async (tx: SqlEntityManager, chunk: DjangoRecord[]): Promise<Remark[]> => {
  const users = chunk.flatMap(({ position, pk, user }) => (user ? [{ position, pk, user }] : []));
  const repetitions = await stage(tx, users);
  const repeated = repetitions.map(({ position, pk, user: { email }, firstPosition }) => ({
    ...{ position, pk, email, outcome: 'faulty' as const, field: 'email' },
    message: `Record ${firstPosition} has the same address.`,
  }));
  const own = chunk.flatMap(({ position, pk, email, faults }) =>
    (faults ?? []).map((fault) => ({ position, pk, email, outcome: 'faulty' as const, ...fault })),
  );
  return [...own, ...repeated].sort((one, other) => one.position - other.position);
};
