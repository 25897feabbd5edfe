import { type Em, kysely } from '../../db/kysely.ts';
import type { Clock } from '../../lib/clock.ts';
import { invalid } from '../../lib/problems.ts';
import type { Audit } from '../../services/audit/audit.ts';
import { passwordHashKinds } from '../../services/auth/password-verification.ts';
import { type DumpRecord, findFileFault, findUserModel, surveyDump } from './dump.ts';
import {
  type FieldMapping,
  type Remark,
  remarkOnFile,
  remarksOnFields,
  type Sources,
  sourcesOf,
} from './fields.ts';
import { openProfiles, type Profiles } from './profiles.ts';
import {
  analyzeStaging,
  nextStaged,
  openStaging,
  openUserInserter,
  type StagedUser,
  stage,
  stagedHashKinds,
  takenHandles,
} from './staging.ts';
import { type DjangoRecord, isOfModel, readDjangoUser, userKeyOf } from './user.ts';

/** Users or records per statement. */
const CHUNK_SIZE = 1000;

/** Limit of the time of a failed login on one core, while imported hashes are in use. */
const MAX_FAILURE_COST_MS = 3_500;

type Deps = {
  em: Em;
  clock: Clock;
  audit: Audit;
  /** Why no password could ever be verified with this hash; null for a supported hash. */
  reasonAgainstHash: (hash: string) => string | null;
  /** Time of a failed login on one core while hashes of these kinds are in use. */
  failureCostMs: (kinds: readonly string[]) => number;
};

export type ImportOptions = {
  /** Django's lower-case `app_label.model`; null: the only one that looks like a user model. */
  model: string | null;
  /** Fields that are read from fields with other names. */
  map: readonly FieldMapping[];
  /** Fields of the user model that are not imported. */
  drop: readonly string[];
  /** Import users with unsupported hashes without a password, rather than refuse them. */
  resetsUnsupported: boolean;
  /** The client of the new users. */
  clientId: number | null;
  dryRun: boolean;
};

/** Returns the records of a dump from the start. Called twice. */
type DumpReader = () => AsyncIterable<DumpRecord>;

type ImportListener = {
  remark: (remark: Remark) => Promise<void>;
  /** Called with the number of users imported since the last call. */
  advance: (count: number, total: number) => void;
};

const NO_TOTALS = {
  /** All records in the file. */
  read: 0,
  otherModels: 0,
  faulty: 0,
  imported: 0,
  existing: 0,
  /** Imported users who must set a password before they can log in. */
  passwordless: 0,
};

export type ImportTotals = typeof NO_TOTALS & {
  /** The user model; null if none was found. */
  model: string | null;
  /** Fields of the user model that are not imported. */
  dropped: string[];
  /** The file has errors, and no users were imported. */
  isRefused: boolean;
};

type Import = Deps & ImportOptions & ImportListener & { read: DumpReader };

/**
 * Imports all users of a Django service with their passwords, or none if there are errors. Users whose email address exists are
 * not changed. A dry run does the same work and rolls it back.
 * @throws Problem `invalid-input` on `client`, `map`, `drop`
 */
export const importUsers = async (
  deps: Deps,
  read: DumpReader,
  options: ImportOptions,
  listener: ImportListener,
): Promise<ImportTotals> => {
  const run = async (tx: Em): Promise<ImportTotals> => {
    const task = { ...deps, ...options, ...listener, read };
    const { valid, ...totals } = await stageUsers(tx, task);
    return totals.isRefused ? totals : insertStagedUsers(tx, task, totals, valid);
  };
  if (!options.dryRun) return deps.em.transactional(run);
  const tx = deps.em.fork();
  await tx.begin();
  return run(tx).finally(() => tx.rollback());
};

/** Reads the dump twice: to find the user model and its fields, then to stage its users. Reports all errors in it. */
const stageUsers = async (tx: Em, task: Import): Promise<ImportTotals & { valid: number }> => {
  const { clientId, map, drop, remark, read } = task;
  const sources = sourcesOf(map, drop);
  if (clientId !== null) await refuseUnknownClient(tx, clientId);

  const profiles = await openProfiles(tx, sources, remark);
  const survey = await surveyDump(read(), profiles.add);
  const faultyProfiles = await profiles.finish();
  const model = task.model ?? findUserModel(survey);
  if (typeof model !== 'string') {
    await remark(model);
    return { ...NO_TOTALS, valid: 0, model: null, dropped: [], isRefused: true };
  }

  // `stageDump` reports it if the model has no records.
  const { models } = survey;
  const fieldRemarks = models.has(model) ? remarksOnFields(models, model, { sources, map, drop }) : [];
  for (const one of fieldRemarks) await remark(one);
  const staged = await stageDump(tx, read(), { ...task, model, sources, profiles });
  const dropped = fieldRemarks.filter(({ outcome }) => outcome === 'dropped').map(({ field }) => field);
  const hasErrors = staged.isRefused || dropped.length < fieldRemarks.length || faultyProfiles > 0;
  return {
    ...{ ...NO_TOTALS, ...staged, model, dropped },
    faulty: staged.faulty + faultyProfiles,
    isRefused: hasErrors || (await areHashesTooCostly(tx, task)),
  };
};

const insertStagedUsers = async (tx: Em, task: Import, totals: ImportTotals, valid: number) => {
  const { clientId, clock, audit, remark, advance } = task;
  await analyzeStaging(tx);
  const insertUsers = await openUserInserter(tx, { clientId, now: clock.now() });
  const conflicts = await takenHandles(tx);
  for (const conflict of conflicts) await remark(handleRemark(conflict));
  if (conflicts.length > 0) return { ...totals, faulty: totals.faulty + conflicts.length, isRefused: true };

  const clients = clientId === null ? [] : [clientId];
  for (let after = 0; ; ) {
    const chunk = await nextStaged(tx, after, CHUNK_SIZE);
    const last = chunk.at(-1);
    if (!last) return totals;
    const added = chunk.filter(({ exists }) => !exists);
    await insertUsers(added);
    await audit.record(
      tx,
      added.map(({ email }) => ({ action: 'user.import', actor: null, target: email, clients })),
    );
    for (const user of chunk) if (user.exists) await remark(existsRemark(user));
    totals.imported += added.length;
    totals.existing += chunk.length - added.length;
    totals.passwordless += added.filter((user) => user.password_hash === null).length;
    advance(chunk.length, valid);
    after = last.position;
  }
};

/** A failed login does the work of all kinds of hashes, so their sum is limited too. */
const areHashesTooCostly = async (tx: Em, { failureCostMs, remark }: Import): Promise<boolean> => {
  const kinds = [...(await passwordHashKinds(tx)), ...(await stagedHashKinds(tx))];
  const costMs = failureCostMs(kinds);
  if (costMs <= MAX_FAILURE_COST_MS) return false;
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  const message = `Every failed login would take ${seconds(costMs)} of a processor while hashes of all these kinds are in use; at most ${seconds(MAX_FAILURE_COST_MS)}. Import users of the costliest kinds without their passwords: ${kinds.join(' ')}`;
  await remark(remarkOnFile('faulty', 'password', message));
  return true;
};

const existsRemark = ({ position, pk, email }: StagedUser): Remark => ({
  ...{ position, pk, email, outcome: 'exists', field: '' },
  message: 'A user with this email address already exists and was not changed.',
});

const handleRemark = ({
  position,
  pk,
  email,
  handle,
}: Awaited<ReturnType<typeof takenHandles>>[number]): Remark => ({
  ...{ position, pk, email, outcome: 'faulty', field: 'handle' },
  message: `Another user of Steward has the handle ${handle}.`,
});

const refuseUnknownClient = async (em: Em, id: number): Promise<void> => {
  const row = await kysely(em).selectFrom('clients').select('id').where('id', '=', id).executeTakeFirst();
  if (!row) throw invalid({ client: [`There is no client ${id}.`] });
};

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
export const stageDump = async (tx: Em, records: AsyncIterable<DumpRecord>, reading: Reading) => {
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
const remarksOn = async (tx: Em, chunk: DumpRecord[], reading: Reading): Promise<Remark[]> => {
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
