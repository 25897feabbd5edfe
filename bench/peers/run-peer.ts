import type { Connection } from '../../src/config/connection.ts';

/** What a peer is told: where the data is, and what its avatars' addresses begin with. */
export type PeerSettings = { connection: Connection; baseUrl: string };

/** Starts a peer in this process when it is told its settings, and sends back its address. They go over a pipe. */
export const runPeer = (listen: (settings: PeerSettings) => Promise<string>): void => {
  // Whoever measures has gone, however they went.
  process.once('disconnect', () => process.exit());
  process.once('message', async (settings: PeerSettings) => {
    process.send?.(await listen(settings));
  });
};
