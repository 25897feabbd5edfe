import { SingleBar } from 'cli-progress';

export type Progress = { advance(by?: number): void; stop(): void };

const FORMAT = '{label} [{bar}] {value}/{total}, {duration_formatted}';

/** Where there is nobody to watch, a bar would only fill a log. */
const SILENT: Progress = { advance: () => {}, stop: () => {} };

/**
 * A bar on standard error while something takes long; nothing where that is no terminal. A bar that is not stopped
 * keeps the process alive.
 */
export const createProgress = (
  label: string,
  total: number,
  stream: NodeJS.WritableStream & { isTTY?: boolean } = process.stderr,
): Progress => {
  if (stream.isTTY !== true) return SILENT;
  // Without changes to the terminal's own settings, an interrupted command has none to put back.
  const bar = new SingleBar({ format: FORMAT, stream, linewrap: true, clearOnComplete: true });
  bar.start(total, 0, { label });
  return { advance: (by = 1) => bar.increment(by), stop: () => bar.stop() };
};
