import type { Db } from '../../db/kysely.ts';
import type { DumpRecord } from './dump.ts';
import { type Remark, remarkOnFile, type Sources } from './fields.ts';
import type { Profiles } from './profiles.ts';
import { openStaging, stage } from './staging.ts';
import { findFileFault } from './survey.ts';
import { type DjangoRecord, isOfModel, readDjangoUser, userKeyOf } from './user.ts';

/** Records per statement. */
const CHUNK_SIZE = 1000;

type Reading = {
  model: string;
  sources: Sources;
  profiles: Profiles;
  /** Why no password could ever be verified with this hash; null for a supported hash. */
  reasonAgainstHash: (hash: string) => string | null;
  /** Whether unsupported hashes are dropped rather than refused. */
  resetsUnsupported: boolean;
  remark: (remark: Remark) => Promise<void>;
};

/** Stages the users of a dump and reports all errors. */
export const stageDump = async (tx: Db, records: AsyncIterable<DumpRecord>, reading: Reading) => {
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
  const fileFault = await findFileFault(async () => {
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

  const valid = totals.read - totals.otherModels - totals.faulty;
  const isEmpty = valid + totals.faulty === 0;
  const message = fileFault ?? (isEmpty ? `No record has the model ${model}.` : null);
  if (message !== null) await remark(remarkOnFile('faulty', 'file', message));
  return { ...totals, valid, isRefused: message !== null || totals.faulty > 0 };
};

/** Errors within each record, and repetitions of earlier records, in the order of the file. */
const remarksOn = async (tx: Db, chunk: DumpRecord[], reading: Reading): Promise<Remark[]> => {
  const { sources, profiles } = reading;
  const keys = chunk.map(userKeyOf);
  const values = await profiles.valuesOf(keys.filter((key) => key !== null));
  const read = chunk
    .map((record, index) => readDjangoUser(record, sources, values.get(keys[index] ?? '')))
    .map((record) => checkHash(record, reading));

  const users = read.flatMap(({ position, pk, user }) => (user ? [{ position, pk, user }] : []));
  const repetitions = await stage(tx, users);
  const repeated = repetitions.map(({ position, pk, user: { email }, field, firstPosition }) => ({
    ...{ position, pk, email, outcome: 'faulty' as const, field },
    message: `Record ${firstPosition} has the same ${field === 'email' ? 'address' : 'handle'}.`,
  }));
  const own = read.flatMap(({ position, pk, email, remarks }) =>
    remarks.map((remark) => ({ position, pk, email, ...remark })),
  );
  return [...own, ...repeated].sort((one, other) => one.position - other.position);
};

/** An unsupported hash is an error, unless the operator wants to import such users without a password. */
const checkHash = (record: DjangoRecord, { reasonAgainstHash, resetsUnsupported }: Reading): DjangoRecord => {
  const { user } = record;
  const reason = user?.password ? reasonAgainstHash(user.password) : null;
  if (!user || reason === null) return record;
  const remark = (outcome: Remark['outcome'], message: string) => ({ outcome, field: 'password', message });
  return resetsUnsupported
    ? {
        ...record,
        user: { ...user, password: null },
        remarks: [remark('imported', `${reason} Imported without a password.`)],
      }
    : { ...record, user: null, remarks: [remark('faulty', reason)] };
};
