import { type LookupAddress, lookup } from 'node:dns';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { unreachedReasonOf } from './errno.ts';
import { hostOf } from './urls.ts';

type Options = {
  /** Whether addresses of private networks, and `http:`, are allowed. */
  allowsPrivate: boolean;
  timeoutMs: number;
  maxBytes: number;
  /** Whether the status alone is the answer: then a body that is too long, too slow or cut is truncated. Otherwise it is a failure. */
  truncates?: boolean;
  /** How long a truncated body is read. */
  bodyMs?: number;
};

const BODY_MS = 2_000;

/** The options of `fetch` that this one supports. */
type Init = {
  method?: string;
  headers?: Headers | Record<string, string>;
  body?: unknown;
  signal?: AbortSignal | null | undefined;
  /** Trusted authorities, and the client certificate. */
  tls?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>;
};

/** There is no answer: not allowed, not reachable, too late or too long. */
export class FetchError extends Error {
  override readonly name = 'FetchError';
}

export type GuardedFetch = ReturnType<typeof createGuardedFetch>;

/**
 * A `fetch` for URLs that users enter (SSRF). Connects only to addresses of the public internet. It checks the address when it connects, so
 * that a name server cannot answer the check with one address and the connection with another. Follows no redirects, reads at most
 * `maxBytes`, and ends after `timeoutMs`.
 * @throws FetchError without an answer
 */
export const createGuardedFetch =
  ({ allowsPrivate, timeoutMs, maxBytes, truncates = false, bodyMs = BODY_MS }: Options) =>
  async (
    input: string | URL,
    { method = 'GET', headers, body, signal, tls }: Init = {},
  ): Promise<Response> => {
    const url = new URL(input);
    if (url.protocol !== 'https:' && !(allowsPrivate && url.protocol === 'http:'))
      throw new FetchError(`${url.origin} is no https:// address.`);
    if (!allowsPrivate && isPrivate(url)) throw privateAddress(hostOf(url));
    const limit = AbortSignal.timeout(timeoutMs);
    const text = body === undefined || body === null ? undefined : String(body);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
      const sent = send(url, {
        method,
        headers: {
          ...Object.fromEntries(new Headers(headers)),
          ...(text !== undefined && { 'content-length': Buffer.byteLength(text) }),
        },
        // No pool: its connections were checked for other requests.
        agent: false,
        ...tls,
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
        ...(!allowsPrivate && { lookup: lookupPublic }),
      });
      sent
        .once('response', resolve)
        .once('error', reject)
        // After an upgrade, neither a response nor the end of the signal follows.
        .once('upgrade', (_response, socket) => {
          socket.destroy();
          reject(new FetchError('The response switches to another protocol.'));
        })
        .end(text);
    }).catch(rethrow);
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 599) {
      response.destroy();
      throw new FetchError(`The status of the response is ${status}.`);
    }
    const content = await (truncates
      ? readBeginning(response, maxBytes, bodyMs)
      : readBody(response, maxBytes).catch(rethrow));
    return new Response(NULL_BODY_STATUSES.has(status) ? null : content, {
      status,
      headers: Object.entries(response.headers).flatMap(([name, values]) =>
        [values ?? []].flat().map((value): [string, string] => [name, value]),
      ),
    });
  };

const NULL_BODY_STATUSES = new Set([204, 205, 304]);

const rethrow = (error: unknown): never => {
  throw error instanceof FetchError ? error : new FetchError(unreachedReasonOf(error), { cause: error });
};

type Body = Uint8Array<ArrayBuffer>;

const readBody = async (response: IncomingMessage, maxBytes: number): Promise<Body> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    // Leaving the loop destroys the response.
    if (size > maxBytes) throw new FetchError(`The response has more than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
};

/** Reads the body until it is complete, long enough, too slow or cut. */
const readBeginning = async (response: IncomingMessage, maxBytes: number, bodyMs: number): Promise<Body> => {
  const chunks: Buffer[] = [];
  let size = 0;
  const tooSlow = setTimeout(() => response.destroy(), bodyMs);
  try {
    for await (const chunk of response) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= maxBytes) break;
    }
  } catch {
    // The status was received.
  }
  clearTimeout(tooSlow);
  return new Uint8Array(Buffer.concat(chunks).subarray(0, maxBytes));
};

/**
 * Whether an IP address belongs to the public internet: it is not private, loopback, link-local or reserved, and embeds no other address.
 */
export const isPublic = (address: string): boolean => {
  const parsed = ipaddr.process(address);
  if (parsed.toString() === AZURE_PLATFORM) return false;
  // `ipaddr.js` considers all others public, such as the IPv4-compatible `::7f00:1`.
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(PUBLIC_IPV6));
};

/** Whether a URL contains an address that is not public. Host names are checked when they are looked up. */
export const isPrivate = (url: URL): boolean => {
  const host = hostOf(url);
  return isIP(host) !== 0 && !isPublic(host);
};

/** A public address at which Azure's platform answers each of its machines. */
const AZURE_PLATFORM = '168.63.129.16';

const PUBLIC_IPV6 = ipaddr.parseCIDR('2000::/3');

const privateAddress = (host: string): FetchError => new FetchError(`${host} is in a private network.`);

/** Like `lookup`, for public addresses only. */
const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    if (error) return callback(error, '', 0);
    const [first] = addresses;
    if (!first || !addresses.every(({ address }) => isPublic(address)))
      return callback(privateAddress(hostname), '', 0);
    if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};
