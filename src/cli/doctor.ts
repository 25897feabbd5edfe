import type { Command } from 'commander';
import type { Finding } from '../doctor/finding.ts';
import { formatCount } from '../lib/format-count.ts';

const HELP = `
Reads the settings of the service from the environment. It changes nothing, sends no mail, and may run beside the service.
The exit code is 1 if there is a failure.`;

const MARKS = { ok: 'ok     ', warning: 'WARNING', failure: 'FAILURE' } as const;

export const addDoctorCommand = (program: Command): void => {
  program
    .command('doctor')
    .description('Check settings, database, mail server, package store and public address')
    .option('--json', 'print a JSON array instead of lines')
    .addHelpText('after', HELP)
    .action(async ({ json = false }: { json?: boolean }) => {
      const { runChecks } = await import('../doctor/run-checks.ts');
      const findings = await runChecks(process.env);
      process.stdout.write(json ? `${JSON.stringify(findings, null, 2)}\n` : formatFindings(findings));
      if (findings.some(({ status }) => status === 'failure')) process.exitCode = 1;
    });
};

const formatFindings = (findings: readonly Finding[]): string => {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.map(
    ({ status, check, message, action }) =>
      `${MARKS[status]}  ${check.padEnd(width)}  ${message}${action === null ? '' : ` → ${action}`}`,
  );
  const count = (wanted: Finding['status']): string =>
    formatCount(findings.filter(({ status }) => status === wanted).length, wanted);
  return `${lines.join('\n')}\n${count('failure')}, ${count('warning')}.\n`;
};
