import type { Logger } from './logger.ts';

type Output = { isTTY?: boolean; write(text: string): unknown };

/**
 * Prints lines for the operator: as plain text to a terminal, otherwise as log entries, because standard output then
 * contains only JSON lines. Secrets go to standard error instead, because logs are stored.
 */
export const createOperatorOutput = (
  logger: Pick<Logger, 'info'>,
  { stdout, stderr }: { stdout: Output; stderr: Output } = process,
) => ({
  printLine: (line: string): void => {
    if (stdout.isTTY) stdout.write(`${line}\n`);
    else logger.info(line);
  },

  printSecret: (line: string): void => {
    (stdout.isTTY ? stdout : stderr).write(`${line}\n`);
  },
});
