import type { Logger } from './logger.ts';

type Output = { isTTY?: boolean; write(text: string): unknown };

/**
 * Lines for the operator. A terminal gets them as plain text. Elsewhere standard output has nothing but the log, one JSON
 * object a line, so they become entries of it; a secret goes to standard error instead, as logs are kept.
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
