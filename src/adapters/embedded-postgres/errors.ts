/** The embedded database cannot run. The message is for the operator. */
export class EmbeddedPostgresError extends Error {
  override readonly name: string = 'EmbeddedPostgresError';
}

/** Another Steward uses the data directory. */
export class DataDirInUse extends EmbeddedPostgresError {
  override readonly name = 'DataDirInUse';

  constructor(dataDir: string, pid?: number) {
    const owner = pid === undefined ? '' : ` (process ${pid})`;
    super(
      `Steward is already running on DATA_DIR ${dataDir}${owner}. Stop it first, or set another DATA_DIR.`,
    );
  }
}
