import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Clock } from '../../core/clock.ts';
import { invalid } from '../../core/problems.ts';
import type { Audit } from '../audit/audit.ts';
import { tables } from '../tables.ts';
import type { DumpRecord } from './django-dump.ts';
import { openPlacing } from './django-placing.ts';
import { type Remark, stageDump } from './django-reading.ts';
import { measureStaging, nextStaged, type StagedUser } from './django-staging.ts';

/** Users written by one statement. */
const CHUNK_SIZE = 1000;

type Deps = {
  em: SqlEntityManager;
  clock: Clock;
  audit: Audit;
  /** Why no password could ever be verified by this hash; null when one could. */
  reasonAgainstHash: (hash: string) => string | null;
};

export type ImportOptions = {
  /** Django's `app_label.model`, in lower case */
  model: string;
  /** the client that the users become members of */
  clientId: number | null;
  dryRun: boolean;
};

/** Who is told how it goes, one remark after the other. */
export type ImportListener = {
  remark: (remark: Remark) => Promise<void>;
  /** So many more of these users have been dealt with. */
  advance: (count: number, total: number) => void;
};

export type ImportTotals = {
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
export const createDjangoImport = ({ em, clock, audit, reasonAgainstHash }: Deps) => {
  const run = async (
    tx: SqlEntityManager,
    records: AsyncIterable<DumpRecord>,
    { model, clientId }: ImportOptions,
    listener: ImportListener,
  ): Promise<ImportTotals> => {
    if (clientId !== null) await refuseUnknownClient(tx, clientId);
    const { whole, isRefused, ...read } = await stageDump(tx, records, model, listener.remark);
    const totals = { ...read, imported: 0, existing: 0, passwordless: 0, isRefused };
    if (isRefused) return totals;

    await measureStaging(tx);
    const place = await openPlacing(tx, { clientId, now: clock.now() });
    for (let after = 0; ; ) {
      const chunk = await nextStaged(tx, after, CHUNK_SIZE);
      const last = chunk.at(-1);
      if (!last) return totals;
      const added = chunk.filter(({ exists }) => !exists);
      await place(added);
      await record(tx, added, clientId);
      for (const remark of chunk.flatMap(remarksOn)) await listener.remark(remark);
      totals.imported += added.length;
      totals.existing += chunk.length - added.length;
      totals.passwordless += added.filter(isPasswordless).length;
      listener.advance(chunk.length, whole);
      after = last.position;
    }
  };

  const record = (tx: SqlEntityManager, users: StagedUser[], clientId: number | null): Promise<void> => {
    const clients = clientId === null ? [] : [clientId];
    return audit.record(
      tx,
      users.map(({ email }) => ({ action: 'user.import', actor: null, target: email, clients })),
    );
  };

  const isPasswordless = ({ password_hash: hash }: StagedUser): boolean =>
    hash === null || reasonAgainstHash(hash) !== null;

  const remarksOn = (user: StagedUser): Remark[] => {
    const { position, pk, email, password_hash: hash, exists } = user;
    if (exists) return [{ position, pk, email, outcome: 'exists', field: '', message: EXISTS }];
    if (hash === null || reasonAgainstHash(hash) === null) return [];
    return [{ position, pk, email, outcome: 'imported', field: 'password', message: UNKNOWN_HASH }];
  };

  return {
    /**
     * All or nobody: one faulty record, and nothing is written. Users whose address is there already stay as they
     * are. A dry run does the same work and takes it back.
     * @throws Problem `invalid-input` on `client`
     */
    importUsers: async (
      records: AsyncIterable<DumpRecord>,
      options: ImportOptions,
      listener: ImportListener,
    ): Promise<ImportTotals> => {
      if (!options.dryRun) return em.transactional((tx) => run(tx, records, options, listener));
      const tx = em.fork();
      await tx.begin();
      try {
        return await run(tx, records, options, listener);
      } finally {
        await tx.rollback();
      }
    },
  };
};

const EXISTS = 'A user with this email address already exists, and was left as it is.';
const UNKNOWN_HASH = 'Cannot be verified here: the user needs a link to set a new password.';

const refuseUnknownClient = async (em: SqlEntityManager, id: number): Promise<void> => {
  const row = await tables(em).selectFrom('clients').select('id').where('id', '=', id).executeTakeFirst();
  if (!row) throw invalid({ client: [`There is no client ${id}.`] });
};
