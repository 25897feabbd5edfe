/** For people at a terminal; the log, for machines, is JSON on the same stream. */
export const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
