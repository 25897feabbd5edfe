import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import { systemClock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errno.ts';
import { formatCount } from '../lib/format-count.ts';
import { type CsvFault, type CsvRow, readInvitationCsv } from '../services/invitations/invitation-csv.ts';
import { withDatabase } from './database-work.ts';
import { findParties, inviteRows, type Outcome, type Parties } from './invite-writing.ts';
import { createProgress } from './progress.ts';
import { checkFiles, printable, sortByLine, summarizeErrors, writeReport } from './reports.ts';

type InviteOptions = {
  clientId: number;
  /** Email address of the inviter. */
  as: string | undefined;
  dryRun: boolean;
  report: string;
};

/**
 * Invites all people in a CSV file, or none if there are errors, and prints a summary.
 * @returns whether the file was accepted
 * @throws Problem `invalid-input`
 */
export const invitePeople = async (config: Config, file: string, options: InviteOptions) => {
  await checkFiles(await stat(file), options.report);
  const { rows, faults, nameOf } = await readInvitationCsv(createReadStream(file));
  if (rows.length === 0 && faults.length > 0) return reject(faults, options);

  const { outcome, ...parties } = await checkOrInvite(config, rows, options, faults.length > 0);
  const all = [...faults, ...outcome.faults.map((fault) => ({ ...fault, field: nameOf(fault.field) }))];
  if (all.length > 0) return reject(all, options);
  process.stdout.write(
    `${successLines(outcome, parties, { ...options, hasMailServer: config.mailServerUrl !== undefined }).join('\n')}\n`,
  );
  return true;
};

/** Also checks the rows of a rejected file, to report all errors at once. */
const checkOrInvite = (config: Config, rows: CsvRow[], options: InviteOptions, isRejected: boolean) =>
  withDatabase(config, async (orm) => {
    const { clientId, as, dryRun } = options;
    using bar = createProgress(dryRun ? 'Checking' : 'Inviting', rows.length);
    const parties = await findParties(orm.em.fork(), clientId, as);
    const outcome = await inviteRows(
      { em: orm.em.fork(), invitationDays: config.invitationDays, now: systemClock.now() },
      rows,
      { ...parties, dryRun: dryRun || isRejected, advance: bar.advance },
    );
    return { ...parties, outcome };
  });

const reject = async (unsorted: readonly CsvFault[], { report, dryRun }: InviteOptions): Promise<false> => {
  const faults = sortByLine(unsorted);
  const result = await writeReport(report, faults).then(
    () => `see ${report}`,
    (error: unknown) => `the report cannot be written (${reasonOf(error)}): name another file with --report`,
  );
  const summary = `${formatCount(faults.length, 'error')}; ${result}. No one ${dryRun ? 'would be' : 'was'} invited.`;
  process.stderr.write(`${[...summarizeErrors(faults), summary].join('\n')}\n`);
  return false;
};

type Circumstances = { dryRun: boolean; hasMailServer: boolean };

const successLines = (
  { made, renewed }: Outcome,
  { inviter, client }: Parties,
  { dryRun, hasMailServer }: Circumstances,
): string[] => [
  `${printable(client.name)}: ${made} ${dryRun ? 'would be ' : ''}invited, ${renewed} renewed, by ${inviter.email}.`,
  dryRun ? 'This was a dry run: nothing was changed.' : hasMailServer ? QUEUED : WAITING,
];

const QUEUED = 'The mails are queued. The running service sends them, or the next one that starts.';
const WAITING =
  'The mails wait in the queue, because there is no mail server: SMTP_URL is not set. Until the service has one, the console shows them.';
