import { readFile } from 'node:fs/promises';
import type { TlsFiles } from '../../config/sink-config.ts';
import { createGuardedFetch } from '../../lib/guarded-fetch.ts';
import { type EventSink, jsonLinesOf } from './event-sink.ts';
import { readTls } from './server-connection.ts';

const TIMEOUT_MS = 20_000;
/** Limit of a response. Its body is not used. */
const MAX_RESPONSE_BYTES = 1_024;

type Options = { url: string; authorizationFile?: string | undefined; tls: TlsFiles };

/** Posts batches as lines of JSON. A status from 200 to 299 acknowledges the whole batch. */
export const createHttpSink = ({ url, authorizationFile, tls }: Options): EventSink => {
  // The operator has configured the address, so private ones are allowed.
  const fetch = createGuardedFetch({
    allowsPrivate: true,
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_RESPONSE_BYTES,
    truncates: true,
  });
  return {
    name: 'http',

    write: async (events, signal) => {
      const authorization = await readAuthorization(authorizationFile);
      const headers = {
        'content-type': 'application/x-ndjson',
        'user-agent': 'Steward',
        ...(authorization !== undefined && { authorization }),
      };
      const body = jsonLinesOf(events);
      const { ok, status } = await fetch(url, {
        method: 'POST',
        headers,
        body,
        signal,
        tls: await readTls(tls),
      });
      if (!ok) throw new Error(`the server answered with status ${status}`);
    },
  };
};

/** Read for each batch, so that a new secret needs no restart. */
const readAuthorization = async (file: string | undefined): Promise<string | undefined> => {
  if (file === undefined) return undefined;
  const value = (await readFile(file, 'utf8')).trim();
  if (!/^[\x20-\x7e]+$/.test(value))
    throw new Error(`${file} must hold one line: the value of the header Authorization`);
  return value;
};
