/** The embedded database cannot serve; the message is meant for the operator. */
export class EmbeddedPostgresError extends Error {
  override readonly name: string = 'EmbeddedPostgresError';
}

/** Another Steward holds the data directory; the message is one line. */
export class DataDirInUse extends EmbeddedPostgresError {
  override readonly name = 'DataDirInUse';

  constructor(dataDir: string, pid?: number) {
    const owner = pid === undefined ? '' : ` (process ${pid})`;
    super(
      `Steward is already running on DATA_DIR ${dataDir}${owner}. Stop it first, or set another DATA_DIR.`,
    );
  }
}

/** PostgreSQL found another server on the same cluster. */
export class ClusterBusy extends EmbeddedPostgresError {
  override readonly name = 'ClusterBusy';
}
