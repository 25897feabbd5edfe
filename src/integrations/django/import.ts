import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { tables } from '../../db/kysely.ts';
import type { Clock } from '../../lib/clock.ts';
import { invalid } from '../../lib/problems.ts';
import type { Audit } from '../../services/audit/audit.ts';
import { passwordHashKinds } from '../../services/auth/password-verification.ts';
import type { DumpRecord } from './dump.ts';
import { type FieldMapping, reportFields, type Sources, sourcesOf } from './fields.ts';
import { openUserInserter } from './insert-users.ts';
import { openProfiles } from './profiles.ts';
import { ofFile, type Remark } from './remark.ts';
import { stageDump } from './stage-records.ts';
import { analyzeStaging, nextStaged, type StagedUser, stagedHashKinds, takenHandles } from './staging.ts';
import { type Survey, surveyDump, userModels } from './survey.ts';

/** Users written by one statement. */
const CHUNK_SIZE = 1000;

/** What a failed login may cost, in milliseconds of one core, while imported hashes are in use. */
const MAX_FAILURE_COST_MS = 3_500;

type Deps = {
  em: SqlEntityManager;
  clock: Clock;
  audit: Audit;
  /** Why no password could ever be verified by this hash; null when one could. */
  reasonAgainstHash: (hash: string) => string | null;
  /** Milliseconds of one core that a failed login takes while hashes of these kinds are in use. */
  failureCostMs: (kinds: readonly string[]) => number;
};

export type ImportOptions = {
  /** Django's `app_label.model`, in lower case; null: the only one that looks like a user model */
  model: string | null;
  /** fields that come from fields of other names */
  map: readonly FieldMapping[];
  /** fields of the user model that are not imported */
  drop: readonly string[];
  /** Import users whose hash cannot be verified here without a password, rather than refuse them. */
  resetsUnsupported: boolean;
  /** the client that the users become members of */
  clientId: number | null;
  dryRun: boolean;
};

/** The records of a dump, from the first. It is read twice. */
export type DumpReader = () => AsyncIterable<DumpRecord>;

/** Who is told how it goes, one remark after the other. */
export type ImportListener = {
  remark: (remark: Remark) => Promise<void>;
  /** So many more of these users have been dealt with. */
  advance: (count: number, total: number) => void;
};

export type ImportTotals = {
  /** the user model; null when none was found */
  model: string | null;
  /** fields of the user model that are not imported */
  dropped: string[];
  /** records in the file, whatever they are */
  read: number;
  otherModels: number;
  faulty: number;
  imported: number;
  existing: number;
  /** of those imported, the ones who cannot log in before they set a password */
  passwordless: number;
  /** Something was wrong with the file, and nobody was imported. */
  isRefused: boolean;
};

/** Brings the users of a Django service over, with their passwords. */
export const createDjangoImport = ({ em, clock, audit, reasonAgainstHash, failureCostMs }: Deps) => {
  const run = async (
    tx: SqlEntityManager,
    read: DumpReader,
    options: ImportOptions,
    listener: ImportListener,
  ): Promise<ImportTotals> => {
    const { clientId, map, drop, resetsUnsupported } = options;
    const { remark } = listener;
    const sources = sourcesOf(map, drop);
    if (clientId !== null) await refuseUnknownClient(tx, clientId);

    const profiles = await openProfiles(tx, sources, remark);
    const survey = await surveyDump(read(), profiles.add);
    const faultyProfiles = await profiles.finish();
    const model = options.model ?? (await chooseModel(survey, remark));
    if (model === null) return { ...NOTHING, model, isRefused: true };

    const { dropped, areRefused } = await remarkFields(survey, model, { sources, map, drop }, remark);
    const staged = await stageDump(tx, read(), {
      ...{ model, sources, profiles, reasonAgainstHash, resetsUnsupported, remark },
    });
    const { whole: valid, ...counts } = staged;
    const totals = { ...NOTHING, ...counts, model, dropped, faulty: counts.faulty + faultyProfiles };
    totals.isRefused ||= areRefused || faultyProfiles > 0 || (await isTooCostly(tx, remark));
    if (totals.isRefused) return totals;

    await analyzeStaging(tx);
    const insertUsers = await openUserInserter(tx, { clientId, now: clock.now() });
    totals.faulty += await remarkTakenHandles(tx, remark);
    totals.isRefused = totals.faulty > 0;
    if (totals.isRefused) return totals;

    for (let after = 0; ; ) {
      const chunk = await nextStaged(tx, after, CHUNK_SIZE);
      const last = chunk.at(-1);
      if (!last) return totals;
      const added = chunk.filter(({ exists }) => !exists);
      await insertUsers(added);
      await record(tx, added, clientId);
      for (const one of chunk.filter(({ exists }) => exists)) await remark(existsRemark(one));
      totals.imported += added.length;
      totals.existing += chunk.length - added.length;
      totals.passwordless += added.filter((user) => user.password_hash === null).length;
      listener.advance(chunk.length, valid);
      after = last.position;
    }
  };

  /** Every failed login does the work of all kinds of hashes, so that together they have a bound as well. */
  const isTooCostly = async (tx: SqlEntityManager, remark: ImportListener['remark']): Promise<boolean> => {
    const kinds = [...(await passwordHashKinds(tx)), ...(await stagedHashKinds(tx))];
    const costMs = failureCostMs(kinds);
    if (costMs <= MAX_FAILURE_COST_MS) return false;
    const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
    const message = `Every failed login would take ${seconds(costMs)} of a processor while hashes of all these kinds are in use; at most ${seconds(MAX_FAILURE_COST_MS)}. Import users of the costliest kinds without their passwords: ${kinds.join(' ')}`;
    await remark(ofFile('faulty', 'password', message));
    return true;
  };

  const record = (tx: SqlEntityManager, users: StagedUser[], clientId: number | null): Promise<void> => {
    const clients = clientId === null ? [] : [clientId];
    return audit.record(
      tx,
      users.map(({ email }) => ({ action: 'user.import', actor: null, target: email, clients })),
    );
  };

  return {
    /**
     * All or nobody: one faulty record, and nothing is written. Users whose address is there already stay as they
     * are. A dry run does the same work and takes it back.
     * @throws Problem `invalid-input` on `client`, `map`, `drop`
     */
    importUsers: async (
      read: DumpReader,
      options: ImportOptions,
      listener: ImportListener,
    ): Promise<ImportTotals> => {
      if (!options.dryRun) return em.transactional((tx) => run(tx, read, options, listener));
      const tx = em.fork();
      await tx.begin();
      try {
        return await run(tx, read, options, listener);
      } finally {
        await tx.rollback();
      }
    },
  };
};

const NOTHING = {
  ...{ read: 0, otherModels: 0, faulty: 0, imported: 0, existing: 0, passwordless: 0 },
  dropped: [],
  isRefused: false,
};

const existsRemark = ({ position, pk, email }: StagedUser): Remark => ({
  ...{ position, pk, email, outcome: 'exists', field: '' },
  message: 'A user with this email address already exists, and was left as it is.',
});

/** The only model of the dump that looks like a user model; null, with a remark, when that is not one. */
const chooseModel = async (survey: Survey, remark: ImportListener['remark']): Promise<string | null> => {
  const candidates = userModels(survey);
  const [only] = candidates;
  if (only && candidates.length === 1) return only.label;
  const several = `Holds several models with passwords: ${candidates.map(({ line }) => line).join(', ')}. Choose one with --model.`;
  const none =
    'Holds no user model: no record has a password, and a field for an email address or a username.';
  await remark(ofFile('faulty', 'file', survey.fault ?? (candidates.length > 1 ? several : none)));
  return null;
};

const remarkFields = async (
  { models }: Survey,
  model: string,
  { sources, map, drop }: { sources: Sources } & Pick<ImportOptions, 'map' | 'drop'>,
  remark: ImportListener['remark'],
): Promise<{ dropped: string[]; areRefused: boolean }> => {
  // Without a record there are no fields, which is told as what it is.
  const reports = models.has(model) ? reportFields(models, model, { sources, mappings: map, drop }) : [];
  for (const { field, isRefused, message } of reports) {
    await remark(ofFile(isRefused ? 'faulty' : 'dropped', field, message));
  }
  return {
    dropped: reports.filter(({ isRefused }) => !isRefused).map(({ field }) => field),
    areRefused: reports.some(({ isRefused }) => isRefused),
  };
};

/** Returns how many users have a handle that somebody in Steward has. */
const remarkTakenHandles = async (
  tx: SqlEntityManager,
  remark: ImportListener['remark'],
): Promise<number> => {
  const taken = await takenHandles(tx);
  for (const { position, pk, email, handle } of taken) {
    const message = `Another user of Steward has the handle ${handle}.`;
    await remark({ position, pk, email, outcome: 'faulty', field: 'handle', message });
  }
  return taken.length;
};

const refuseUnknownClient = async (em: SqlEntityManager, id: number): Promise<void> => {
  const row = await tables(em).selectFrom('clients').select('id').where('id', '=', id).executeTakeFirst();
  if (!row) throw invalid({ client: [`There is no client ${id}.`] });
};
