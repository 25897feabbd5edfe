import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { scalarScript } from './scalar-script.ts';

const HASH_LENGTH = 16;

export type BrowserScript = {
  /** Changes with the text, so that browsers may keep it for good. */
  file: string;
  text: Buffer;
  gzipped: Buffer;
};

/** The scripts of the reference, in the order they run. Loaded when somebody first asks, and again after a failure. */
export const createBrowserScripts = () => {
  let loading: Promise<BrowserScript[]> | undefined;
  return (): Promise<BrowserScript[]> => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
};

const load = (): Promise<BrowserScript[]> =>
  Promise.all([
    scalarScript().then((text) => scriptOf('scalar', text)),
    ownScript('repairs'),
    ownScript('start'),
  ]);

const ownScript = async (name: string): Promise<BrowserScript> =>
  scriptOf(name, await readFile(new URL(`browser/${name}.js`, import.meta.url)));

const scriptOf = async (name: string, text: Buffer): Promise<BrowserScript> => ({
  file: `${name}-${createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH)}.js`,
  text,
  gzipped: await promisify(gzip)(text),
});

/** Sends it to be kept for good, and packed where that can be read. */
export const sendScript = (
  request: FastifyRequest,
  reply: FastifyReply,
  { text, gzipped }: BrowserScript,
): FastifyReply => {
  reply
    .type('text/javascript; charset=utf-8')
    .header('vary', 'accept-encoding')
    .header('cache-control', 'public, max-age=31536000, immutable')
    .header('x-content-type-options', 'nosniff')
    .header('cross-origin-resource-policy', 'same-origin');
  if (request.accepts().encoding(['gzip', 'identity']) !== 'gzip') return reply.send(text);
  return reply.header('content-encoding', 'gzip').send(gzipped);
};
