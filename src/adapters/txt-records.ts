import { Resolver } from 'node:dns/promises';
import { errorCodeOf } from '../lib/errno.ts';

/** Reads the TXT records of a name. An empty list: the name servers answered that there are none. */
export type ReadTxtRecords = (name: string) => Promise<string[]>;

const TIMEOUT_MS = 2_000;
const TRIES = 2;

/** Answers of a name server; other errors mean that none answered. */
const NO_RECORD = new Set(['ENOTFOUND', 'ENODATA']);

/**
 * @param servers addresses of name servers; empty: the name servers of the system
 * @throws Error if no name server answers
 */
export const createTxtReader =
  (servers: readonly string[]): ReadTxtRecords =>
  async (name) => {
    const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
    if (servers.length > 0) resolver.setServers(servers);
    try {
      // A record of more than 255 bytes comes in parts.
      return (await resolver.resolveTxt(name)).map((parts) => parts.join(''));
    } catch (error) {
      if (NO_RECORD.has(errorCodeOf(error) ?? '')) return [];
      throw error;
    }
  };
