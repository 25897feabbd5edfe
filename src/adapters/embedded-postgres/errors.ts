import { OperatorError } from '../../lib/errno.ts';

export class EmbeddedPostgresError extends OperatorError {}

export const fullDisk = (dataDir: string): string =>
  `DATA_DIR ${dataDir} is on a full disk. Free space or enlarge the disk, and start again.`;

/** Another Steward uses the data directory. */
export class DataDirInUse extends EmbeddedPostgresError {
  constructor(dataDir: string, pid?: number) {
    const owner = pid === undefined ? '' : ` (process ${pid})`;
    super(
      `Steward is already running on DATA_DIR ${dataDir}${owner}. Stop it first, or set another DATA_DIR.`,
    );
  }
}
