import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import { migrateDatabase, openDatabase } from '../db/database.ts';
import { systemClock } from '../lib/clock.ts';
import { nullIfMissing } from '../lib/errno.ts';
import { invalid } from '../lib/problems.ts';
import { withDatabaseHost } from '../server/database-host.ts';
import { type CsvFault, type CsvRow, readInvitationCsv } from '../services/invitations/invitation-csv.ts';
import { findParties, type Parties } from './invite-parties.ts';
import { printable, sortByLine, summarizeErrors, writeReport } from './invite-report.ts';
import { inviteRows, type Outcome } from './invite-writing.ts';
import { createProgress } from './progress.ts';

export type InviteOptions = {
  clientId: number;
  /** Email address of who invites. */
  as: string | undefined;
  dryRun: boolean;
  report: string;
};

/**
 * Invites everybody in a CSV file, and tells how it went. Returns whether the file was accepted; where it was not,
 * nobody was invited.
 * @throws Problem `invalid-input`
 */
export const invitePeople = async (
  config: Config,
  file: string,
  options: InviteOptions,
): Promise<boolean> => {
  await refuseFiles(file, options.report);
  const { rows, faults } = await readInvitationCsv(createReadStream(file));
  if (rows.length === 0 && faults.length > 0) return refuse(faults, options);

  const { inviter, client, outcome } = await inviteBeside(config, rows, {
    ...options,
    isRefused: faults.length > 0,
  });
  const all = [...faults, ...outcome.faults];
  if (all.length > 0) return refuse(all, options);
  process.stdout.write(`${successLines(outcome, { inviter, client }, options.dryRun).join('\n')}\n`);
  return true;
};

/** @throws Problem `invalid-input` */
const refuseFiles = async (file: string, report: string): Promise<void> => {
  const source = await stat(file);
  if (source.isDirectory()) throw invalid({ file: ['Must be a file, and is a folder.'] });
  const older = await nullIfMissing(stat(report));
  if (older && older.dev === source.dev && older.ino === source.ino) {
    throw invalid({ '--report': ['Must be another file than the one that is read.'] });
  }
};

/** Rows of a file that is refused already are checked all the same, so that every fault is told at once. */
const inviteBeside = (
  config: Config,
  rows: readonly CsvRow[],
  { clientId, as, dryRun, isRefused }: InviteOptions & { isRefused: boolean },
) =>
  withDatabaseHost(config, async ({ connection }) => {
    await migrateDatabase(connection);
    const orm = await openDatabase(connection);
    const bar = createProgress(dryRun ? 'Checking' : 'Inviting', rows.length);
    try {
      const parties = await findParties(orm.em.fork(), clientId, as);
      const outcome = await inviteRows(
        { em: orm.em.fork(), invitationDays: config.invitationDays, now: systemClock.now() },
        rows,
        { ...parties, dryRun: dryRun || isRefused, advance: bar.advance },
      );
      return { ...parties, outcome };
    } finally {
      bar.stop();
      await orm.close(true);
    }
  });

const refuse = async (unsorted: readonly CsvFault[], { report, dryRun }: InviteOptions): Promise<false> => {
  const faults = sortByLine(unsorted);
  await writeReport(report, faults);
  const told = `Nobody ${dryRun ? 'would be' : 'was'} invited. ${report} lists every fault: ${faults.length}.`;
  process.stderr.write(`${[...summarizeErrors(faults), told].join('\n')}\n`);
  return false;
};

const successLines = (
  { made, renewed }: Outcome,
  { inviter, client }: Pick<Parties, 'inviter' | 'client'>,
  dryRun: boolean,
): string[] => [
  `${printable(client.name)}: ${made} ${dryRun ? 'would be ' : ''}invited, ${renewed} renewed, by ${inviter.email}.`,
  dryRun
    ? 'This was a dry run: nothing was changed.'
    : 'The mails are queued: the running service sends them, else the next one that is started.',
];
