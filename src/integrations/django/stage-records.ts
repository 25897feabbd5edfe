import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { DumpRecord } from './dump.ts';
import type { Sources } from './fields.ts';
import type { Profiles } from './profiles.ts';
import { ofFile, type Remark } from './remark.ts';
import { openStaging, stage } from './staging.ts';
import { orFileFault } from './survey.ts';
import { type DjangoRecord, isOfModel, readDjangoUser, userKeyOf } from './user.ts';

/** Records checked together and staged by one statement. */
const CHUNK_SIZE = 1000;

type Reading = {
  model: string;
  sources: Sources;
  profiles: Profiles;
  /** Why no password could ever be verified by this hash; null when one could. */
  reasonAgainstHash: (hash: string) => string | null;
  /** Whether such a hash is left out, rather than refused. */
  resetsUnsupported: boolean;
  remark: (remark: Remark) => Promise<void>;
};

/** Stages the users of a dump, and tells every fault there is. */
export const stageDump = async (
  tx: SqlEntityManager,
  records: AsyncIterable<DumpRecord>,
  reading: Reading,
) => {
  const { model, remark } = reading;
  const totals = { read: 0, otherModels: 0, faulty: 0 };
  const stageChunk = async (chunk: DumpRecord[]): Promise<void> => {
    const remarks = await remarksOn(tx, chunk, reading);
    for (const one of remarks) await remark(one);
    const faulty = remarks.filter(({ outcome }) => outcome === 'faulty');
    totals.faulty += new Set(faulty.map(({ position }) => position)).size;
  };

  await openStaging(tx);
  let chunk: DumpRecord[] = [];
  const fileFault = await orFileFault(async () => {
    for await (const record of records) {
      totals.read += 1;
      if (isOfModel(record, model)) chunk.push(record);
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
  if (message !== null) await remark(ofFile('faulty', 'file', message));
  return { ...totals, whole, isRefused: message !== null || totals.faulty > 0 };
};

/** Those on the records themselves, and those on what an earlier one has too, in the order of the file. */
const remarksOn = async (tx: SqlEntityManager, chunk: DumpRecord[], reading: Reading): Promise<Remark[]> => {
  const { sources, profiles } = reading;
  const keys = chunk.map(userKeyOf);
  const values = await profiles.valuesOf(keys.filter((key) => key !== null));
  const read = chunk.map((record, index) => readDjangoUser(record, sources, values.get(keys[index] ?? '')));
  const judged = read.map((record) => judgeHash(record, reading));

  const users = judged.flatMap(({ record: { position, pk, user } }) =>
    user ? [{ position, pk, user }] : [],
  );
  const repetitions = await stage(tx, users);
  const repeated = repetitions.map(({ position, pk, user: { email }, field, firstPosition }) => ({
    ...{ position, pk, email, outcome: 'faulty' as const, field },
    message: `Record ${firstPosition} has the same ${field === 'email' ? 'address' : 'handle'}.`,
  }));
  const own = judged.flatMap(({ record: { position, pk, email, faults }, notes }) => [
    ...(faults ?? []).map((fault) => ({ position, pk, email, outcome: 'faulty' as const, ...fault })),
    ...notes,
  ]);
  return [...own, ...repeated].sort((one, other) => Number(one.position) - Number(other.position));
};

/** A hash that can never verify is a fault, or is left out if the operator wants it so. */
const judgeHash = (
  record: DjangoRecord,
  { reasonAgainstHash, resetsUnsupported }: Reading,
): { record: DjangoRecord; notes: Remark[] } => {
  const { position, pk, email, user } = record;
  const reason = user?.password ? reasonAgainstHash(user.password) : null;
  if (!user || reason === null) return { record, notes: [] };
  if (!resetsUnsupported) {
    return {
      record: { position, pk, email, user: null, faults: [{ field: 'password', message: reason }] },
      notes: [],
    };
  }
  const message = `${reason} Imported without a password.`;
  return {
    record: { position, pk, email, user: { ...user, password: null }, faults: null },
    notes: [{ position, pk, email, outcome: 'imported', field: 'password', message }],
  };
};
