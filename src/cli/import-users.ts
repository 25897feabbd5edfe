import { type FileHandle, open } from 'node:fs/promises';
import { reasonAgainstHash } from '../adapters/hashing/password-hashes.ts';
import type { Config } from '../config/config.ts';
import type { Orm } from '../db/database.ts';
import { problemOfDatabaseError } from '../db/database-errors.ts';
import { readDump } from '../integrations/django/dump.ts';
import { type ImportTotals, importUsers } from '../integrations/django/import.ts';
import type { Clock } from '../lib/clock.ts';
import { formatCount } from '../lib/operator-text.ts';
import { invalid } from '../lib/problems.ts';
import { createAudit, NO_ORIGIN } from '../services/audit/audit.ts';
import { withNewDatabase } from './database-work.ts';
import type { ImportArguments } from './people.ts';
import {
  checkFiles,
  createErrorList,
  createProgress,
  createReportFile,
  type ImportReport,
  type Progress,
} from './reports.ts';
import { printLines } from './run-work.ts';

/** Imports a dump and prints a summary. @returns whether the file was accepted */
export const importDjango = async (config: Config, file: string, options: ImportArguments) => {
  await using dump = await open(file);
  const stats = await dump.stat();
  await checkFiles(stats, options.report);
  if (!stats.isFile()) throw invalid({ file: ['Must be a regular file, because it is read twice.'] });
  const report = options.report === undefined ? createErrorList() : await createReportFile(options.report);
  try {
    const totals = await withNewDatabase(config, (database) =>
      importFile(database, dump, stats.size, options, report),
    );
    printLines(linesOf(totals, options));
    return !totals.isRefused;
  } finally {
    await report.close();
  }
};

const importFile = async (
  { orm, clock }: { orm: Orm; clock: Clock },
  dump: FileHandle,
  sizeBytes: number,
  { client, model, map, drop, resetUnsupportedPasswords, dryRun = false }: ImportArguments,
  report: ImportReport,
): Promise<ImportTotals> => {
  const deps = {
    em: orm.em.fork(),
    clock,
    audit: createAudit(NO_ORIGIN, clock),
    reasonAgainstHash,
  };

  // The first pass determines the models and fields.
  let bar: Progress = createProgress('Reading (bytes)', 2 * sizeBytes);
  let isReading = true;
  const advance = (count: number, total: number): void => {
    if (isReading) {
      isReading = false;
      bar.stop();
      bar = createProgress('Importing', total);
    }
    bar.advance(count);
  };
  try {
    return await importUsers(
      deps,
      () => readDump(dump.createReadStream({ start: 0, autoClose: false }), (bytes) => bar.advance(bytes)),
      {
        model: model ?? null,
        map,
        drop,
        clientId: client ?? null,
        dryRun,
        resetsUnsupported: resetUnsupportedPasswords === true,
      },
      { remark: report.write, advance },
    );
  } catch (error) {
    // A lock timeout: another import or user creation holds the lock.
    const problem = problemOfDatabaseError(error);
    throw problem?.code === 'overloaded' ? problem : error;
  } finally {
    bar.stop();
  }
};

const linesOf = (totals: ImportTotals, { client, dryRun }: ImportArguments): string[] => [
  `${formatCount(totals.read, 'record')} read`,
  `${totals.imported} imported`,
  `${totals.existing} existing users, not changed`,
  `${totals.otherModels} skipped: not of the user model${totals.model ? ` ${totals.model}` : ''}`,
  `${totals.faulty} with errors`,
  ...(totals.dropped.length > 0 ? [`Fields not imported: ${totals.dropped.join(', ')}`] : []),
  ...(totals.isRefused ? ['The file was refused. No users were imported.'] : []),
  ...(totals.passwordless > 0
    ? [`${totals.passwordless} of the imported users must set a password to log in.`]
    : []),
  ...(client === undefined && totals.imported > 0
    ? ['The imported users belong to no client. Use --client to add them to one.']
    : []),
  ...(dryRun ? ['This was a dry run: nothing was changed.'] : []),
];
