import { createStewardClient } from '@steward/client';
import { headers } from 'next/headers';
import { withCookiesOf } from '../../custom-fetch.ts';

const url = process.env.STEWARD_URL ?? 'http://localhost:8000';

/** A client for the user of the current request. Call it in each request: a shared client would mix users. */
export const getSteward = async () =>
  createStewardClient({ url, fetch: withCookiesOf({ headers: await headers() }, fetch) });
