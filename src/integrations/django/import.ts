import { type Em, kysely } from '../../db/kysely.ts';
import type { Clock } from '../../lib/clock.ts';
import { invalid } from '../../lib/problems.ts';
import { handleBase, lockAllHandles, profileColorOf } from '../../services/accounts/new-accounts.ts';
import { type Audit, ofUser } from '../../services/audit/audit.ts';
import { changeAccess } from '../../services/users/app-grants.ts';
import { type DumpRecord, findFileFault, findUserModel, surveyDump } from './dump.ts';
import {
  collectProfiles,
  type FieldMapping,
  type Profiles,
  type Remark,
  remarkOnFile,
  remarksOnFields,
  type Sources,
  sourcesOf,
} from './fields.ts';
import { type DjangoRecord, type DjangoUser, isOfModel, readDjangoUser } from './user.ts';

/** Users per statement, each of which has 17 parameters. PostgreSQL allows 65,535. */
const CHUNK_SIZE = 1000;

type Deps = {
  em: Em;
  clock: Clock;
  audit: Audit;
  /** Why no password can ever match this hash; null for a supported hash. */
  reasonAgainstHash: (hash: string) => string | null;
};

export type ImportOptions = {
  /** Django's lower-case `app_label.model`; null: the only model that looks like a user model. */
  model: string | null;
  /** Fields that are read from fields with other names. */
  map: readonly FieldMapping[];
  /** Fields of the user model that are not imported. */
  drop: readonly string[];
  /** Import users with unsupported hashes without a password, instead of refusing them. */
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
  /** The user model; null if none was found. */
  model: null as string | null, // widened from null
  /** Fields of the user model that are not imported. */
  dropped: [] as string[], // widened from never[]
  /** Whether the file has errors, so that no users were imported. */
  isRefused: false,
};

export type ImportTotals = typeof NO_TOTALS;

type Import = Deps & ImportOptions & ImportListener;
type FoundUser = { position: number; pk: string; user: DjangoUser };

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
  const task = { ...deps, ...options, ...listener };
  const { users, totals } = await readUsers(task, read);
  if (totals.isRefused) return totals;
  const tx = deps.em.fork();
  await tx.begin();
  try {
    await insertUsers(tx, task, users, totals);
    await (options.dryRun || totals.isRefused ? tx.rollback() : tx.commit());
    return totals;
  } catch (error) {
    await tx.rollback();
    throw error;
  }
};

/** Reads the dump twice: first the user model, its fields and the profiles, then its users. Reports all errors in it. */
const readUsers = async (task: Import, read: DumpReader) => {
  const { em, clientId, map, drop, remark } = task;
  const totals: ImportTotals = { ...NO_TOTALS };
  const sources = sourcesOf(map, drop);
  if (clientId !== null) await refuseUnknownClient(em, clientId);

  const profiles = collectProfiles(sources);
  const survey = await surveyDump(read(), profiles.add);
  for (const fault of profiles.faults) await remark(fault);
  const model = task.model ?? findUserModel(survey);
  if (typeof model !== 'string') {
    await remark(model);
    return { users: [], totals: { ...totals, isRefused: true } };
  }

  // `readRecords` reports it if the model has no records.
  const { models } = survey;
  const fieldRemarks = models.has(model) ? remarksOnFields(models, model, { sources, map, drop }) : [];
  for (const one of fieldRemarks) await remark(one);
  const users = await readRecords(read(), { ...task, model, sources, profiles }, totals);
  totals.model = model;
  totals.dropped = fieldRemarks.filter(({ outcome }) => outcome === 'dropped').map(({ field }) => field);
  totals.faulty += profiles.faults.length;
  totals.isRefused ||= totals.faulty > 0 || totals.dropped.length < fieldRemarks.length;
  return { users, totals };
};

type Reading = Pick<Import, 'reasonAgainstHash' | 'resetsUnsupported' | 'remark'> & {
  model: string;
  sources: Sources;
  profiles: Profiles;
};

/** Reads the users of a dump, counts its records and reports all errors. */
const readRecords = async (
  records: AsyncIterable<DumpRecord>,
  reading: Reading,
  totals: ImportTotals,
): Promise<FoundUser[]> => {
  const { model, remark, sources, profiles } = reading;
  const users: FoundUser[] = [];
  const findRepetitions = createRepetitionFinder();
  const fileFault = await findFileFault(async () => {
    for await (const record of records) {
      totals.read += 1;
      if (!isOfModel(record, model)) {
        totals.otherModels += 1;
        continue;
      }
      const { position, pk, email, user, remarks } = checkHash(
        readDjangoUser(record, sources, profiles.valuesOf(record)),
        reading,
      );
      if (user) remarks.push(...findRepetitions(position, user));
      for (const one of remarks) await remark({ position, pk, email, ...one });
      if (remarks.some(({ outcome }) => outcome === 'faulty')) totals.faulty += 1;
      else if (user) users.push({ position, pk, user });
    }
  });
  const isEmpty = users.length + totals.faulty === 0;
  const message = fileFault ?? (isEmpty ? `No record has the model ${model}.` : null);
  if (message !== null) await remark(remarkOnFile('faulty', 'file', message));
  totals.isRefused = message !== null;
  return users;
};

/** Detects users with the address or handle of an earlier record. */
const createRepetitionFinder = () => {
  const firstPositions = new Map<string, number>();
  return (position: number, { email, handle }: DjangoUser): DjangoRecord['remarks'] => {
    const keys = [
      { field: 'email', key: `email ${email}`, noun: 'address' },
      ...(handle === null ? [] : [{ field: 'handle', key: `handle ${handle}`, noun: 'handle' }]),
    ];
    const repeated = keys.filter(({ key }) => firstPositions.has(key));
    if (repeated.length === 0) for (const { key } of keys) firstPositions.set(key, position);
    return repeated.map(({ field, key, noun }) => ({
      outcome: 'faulty',
      field,
      message: `Record ${firstPositions.get(key)} has the same ${noun}.`,
    }));
  };
};

/** An unsupported hash is an error, unless the operator wants to import these users without a password. */
const checkHash = (record: DjangoRecord, { reasonAgainstHash, resetsUnsupported }: Reading): DjangoRecord => {
  const { user } = record;
  const reason = user?.password ? reasonAgainstHash(user.password) : null;
  if (!user || reason === null) return record;
  const field = 'password';
  if (!resetsUnsupported)
    return { ...record, user: null, remarks: [{ outcome: 'faulty', field, message: reason }] };
  const message = `${reason} Imported without a password.`;
  return { ...record, user: { ...user, password: null }, remarks: [{ outcome: 'imported', field, message }] };
};

/** Inserts the users whose addresses are new. Sets `isRefused` if the caller must roll back. */
const insertUsers = async (tx: Em, task: Import, users: readonly FoundUser[], totals: ImportTotals) => {
  const { clientId, clock, audit, remark, advance } = task;
  // From here on, no other users can be added.
  await lockAllHandles(tx);
  const present = await kysely(tx).selectFrom('users').select(['email', 'handle']).execute();
  const emails = new Set(present.map(({ email }) => email));
  const added = users.filter(({ user }) => !emails.has(user.email));
  await refuseTakenHandles(added, new Set(present.map(({ handle }) => handle)), task, totals);
  if (totals.isRefused) return;

  const allocateHandle = createHandleAllocator([
    ...present.map(({ handle }) => handle),
    ...added.flatMap(({ user }) => user.handle ?? []),
  ]);
  const clients = clientId === null ? [] : [clientId];
  for (let start = 0; start < users.length; start += CHUNK_SIZE) {
    const chunk = users.slice(start, start + CHUNK_SIZE);
    const fresh = chunk.flatMap(({ user }) => (emails.has(user.email) ? [] : user));
    const added = await insertChunk(tx, fresh, { allocateHandle, clients, now: clock.now() });
    await audit.record(
      tx,
      added.map((user) => ({ action: 'user.import', actor: null, target: ofUser(user), clients })),
    );
    for (const found of chunk) if (emails.has(found.user.email)) await remark(existsRemark(found));
    totals.imported += fresh.length;
    totals.existing += chunk.length - fresh.length;
    totals.passwordless += fresh.filter(({ password }) => password === null).length;
    advance(chunk.length, users.length);
  }
};

const insertChunk = async (
  tx: Em,
  users: readonly DjangoUser[],
  { allocateHandle, clients, now }: { allocateHandle: HandleAllocator; clients: number[]; now: Date },
) => {
  if (users.length === 0) return [];
  const rows = users.map(({ password, ...user }) => ({
    ...user,
    password_hash: password,
    handle: user.handle ?? allocateHandle(handleBase(user.email)),
    profile_color: user.profile_color ?? profileColorOf(user.email),
    date_joined: user.date_joined ?? now,
    // Django's user model does not store when a password was set.
    last_password_set: user.last_password_set ?? now,
  }));
  const added = await kysely(tx).insertInto('users').values(rows).returning(['id', 'email']).execute();
  const joining = added.map(({ id: userId }) => ({ userId, granted: [], revoked: [], joined: clients }));
  await changeAccess(tx, { by: 0, now }, joining);
  return added;
};

type HandleAllocator = ReturnType<typeof createHandleAllocator>;

/**
 * Returns a function that finds a free handle for a base: the base itself, or the base with the lowest free number from 2.
 * @param handles the handles in use
 */
export const createHandleAllocator = (handles: Iterable<string>) => {
  const taken = new Set(handles);
  /** By base, the next number to try; all lower ones are taken. */
  const nextNumbers = new Map<string, number>();

  return (base: string): string => {
    let number = nextNumbers.get(base) ?? 1;
    const handle = () => (number === 1 ? base : `${base}${number}`);
    while (taken.has(handle())) number += 1;
    nextNumbers.set(base, number + 1);
    taken.add(handle());
    return handle();
  };
};

const refuseTakenHandles = async (
  added: readonly FoundUser[],
  taken: ReadonlySet<string>,
  { remark }: Import,
  totals: ImportTotals,
): Promise<void> => {
  for (const { position, pk, user } of added) {
    if (user.handle === null || !taken.has(user.handle)) continue;
    const message = `Another user of Steward has the handle ${user.handle}.`;
    await remark({ position, pk, email: user.email, outcome: 'faulty', field: 'handle', message });
    totals.faulty += 1;
    totals.isRefused = true;
  }
};

const existsRemark = ({ position, pk, user: { email } }: FoundUser): Remark => ({
  position,
  pk,
  email,
  outcome: 'exists',
  field: '',
  message: 'A user with this email address already exists and was not changed.',
});

const refuseUnknownClient = async (em: Em, id: number): Promise<void> => {
  const row = await kysely(em).selectFrom('clients').select('id').where('id', '=', id).executeTakeFirst();
  if (!row) throw invalid({ client: [`There is no client ${id}.`] });
};
