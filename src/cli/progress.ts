import { SingleBar } from 'cli-progress';

export type Progress = Disposable & { advance(by?: number): void; stop(): void };

const FORMAT = '{label} [{bar}] {value}/{total}, {duration_formatted}';

/** Without a terminal, a bar would only fill a log. */
const SILENT: Progress = { advance: () => {}, stop: () => {}, [Symbol.dispose]: () => {} };

/**
 * Shows a progress bar on standard error if that is a terminal. A bar that is not stopped (or disposed) keeps the process alive.
 */
export const createProgress = (
  label: string,
  total: number,
  stream: NodeJS.WritableStream & { isTTY?: boolean } = process.stderr,
): Progress => {
  if (stream.isTTY !== true) return SILENT;
  // Does not change terminal settings, which an interrupted command could not restore.
  const bar = new SingleBar({ format: FORMAT, stream, linewrap: true, clearOnComplete: true });
  bar.start(total, 0, { label });
  const stop = () => bar.stop();
  return { advance: (by = 1) => bar.increment(by), stop, [Symbol.dispose]: stop };
};
