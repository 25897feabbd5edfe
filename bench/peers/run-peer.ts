import type { Connection } from '../../src/config/connection.ts';

/** `baseUrl` is the prefix of avatar URLs. */
export type PeerSettings = { connection: Connection; baseUrl: string };

/** Starts a peer when the parent process sends its settings over IPC, and sends back its address. */
export const runPeer = (listen: (settings: PeerSettings) => Promise<string>): void => {
  // The parent process has exited, perhaps by a crash.
  process.once('disconnect', () => process.exit());
  process.once('message', async (settings: PeerSettings) => {
    process.send?.(await listen(settings));
  });
};
