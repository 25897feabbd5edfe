import type { Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { failureCostMs, reasonAgainstHash } from '../adapters/hashing/hash-work.ts';
import type { Config } from '../config/config.ts';
import { migrateDatabase, type Orm, openDatabase } from '../db/database.ts';
import { problemOfDatabaseError } from '../db/database-errors.ts';
import { readDump } from '../integrations/django/dump.ts';
import { createDjangoImport, type ImportTotals } from '../integrations/django/import.ts';
import { systemClock } from '../lib/clock.ts';
import { nullIfMissing } from '../lib/errno.ts';
import { invalid } from '../lib/problems.ts';
import { withDatabaseHost } from '../server/database-host.ts';
import { createAudit, NO_ORIGIN } from '../services/audit/audit.ts';
import type { ImportArguments } from './import-django.ts';
import { createErrorList, createReportFile, type ImportReport } from './import-report.ts';
import { createProgress, type Progress } from './progress.ts';

/** Imports a dump and prints a summary. @returns whether the file was accepted */
export const importDjango = async (
  config: Config,
  file: string,
  options: ImportArguments,
): Promise<boolean> => {
  await using dump = await open(file);
  const { size } = await statDump(dump, options.report);
  const report = options.report === undefined ? createErrorList() : await createReportFile(options.report);
  try {
    const totals = await withDatabaseHost(config, async ({ connection }) => {
      await migrateDatabase(connection);
      const orm = await openDatabase(connection);
      try {
        return await importFile(orm, dump, size, options, report);
      } finally {
        await orm.close(true);
      }
    });
    process.stdout.write(`${linesOf(totals, options).join('\n')}\n`);
    return !totals.isRefused;
  } finally {
    await report.close();
  }
};

const statDump = async (dump: FileHandle, report: string | undefined): Promise<Stats> => {
  const stats = await dump.stat();
  if (stats.isDirectory()) throw invalid({ file: ['Must be a file, and is a folder.'] });
  if (!stats.isFile()) throw invalid({ file: ['Must be a file, as it is read twice.'] });
  const existing = report === undefined ? null : await nullIfMissing(stat(report));
  if (existing && existing.dev === stats.dev && existing.ino === stats.ino) {
    throw invalid({ report: ['Must be another file than the one that is imported.'] });
  }
  return stats;
};

const importFile = async (
  orm: Orm,
  dump: FileHandle,
  sizeBytes: number,
  { client, model, map, drop, resetUnsupportedPasswords, dryRun = false }: ImportArguments,
  report: ImportReport,
): Promise<ImportTotals> => {
  const audit = createAudit(NO_ORIGIN, systemClock);
  const django = createDjangoImport({
    em: orm.em.fork(),
    clock: systemClock,
    audit,
    reasonAgainstHash,
    failureCostMs,
  });

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
    return await django.importUsers(
      () => readDump(dump.createReadStream({ start: 0, autoClose: false }), (bytes) => bar.advance(bytes)),
      {
        ...{ model: model ?? null, map, drop, clientId: client ?? null, dryRun },
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
  `${totals.read} records read`,
  `${totals.imported} imported`,
  `${totals.existing} already there, left as they are`,
  `${totals.otherModels} skipped: not of the user model${totals.model ? ` ${totals.model}` : ''}`,
  `${totals.faulty} faulty`,
  ...(totals.dropped.length > 0 ? [`Fields not imported: ${totals.dropped.join(', ')}`] : []),
  ...(totals.isRefused ? ['The file was refused: nobody was imported.'] : []),
  ...(totals.passwordless > 0
    ? [`${totals.passwordless} of those imported need a new password to log in.`]
    : []),
  ...(client === undefined && totals.imported > 0 ? ['They belong to no client: --client names one.'] : []),
  ...(dryRun ? ['This was a dry run: nothing was changed.'] : []),
];
