import { OperatorError } from '../../lib/errno.ts';

export class EmbeddedPostgresError extends OperatorError {}

/** Another Steward uses the data directory. */
export class DataDirInUse extends EmbeddedPostgresError {
  constructor(dataDir: string, pid?: number) {
    const owner = pid === undefined ? '' : ` (process ${pid})`;
    super(
      `Steward is already running on DATA_DIR ${dataDir}${owner}. Stop it first, or set another DATA_DIR.`,
    );
  }
}
