import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { TEST_CERTIFICATE } from './certificates.ts';

type Sent = {
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Announces a body of this size and sends none: a server that refuses it closes the connection while it is sent. */
  announcedBytes?: number;
  /** The address that the server sees: any of 127.0.0.0/8. */
  from?: string;
};

type HttpsResponse = { status: number; headers: IncomingHttpHeaders; body: string };

/** A client that trusts the test certificate and chooses its own address, unlike `fetch`. */
export const createHttpsClient =
  (port: number) =>
  async (line: string, { headers, body, announcedBytes, from }: Sent = {}): Promise<HttpsResponse> => {
    const [method, path] = line.split(' ');
    const length = announcedBytes ?? (body === undefined ? undefined : Buffer.byteLength(body));
    const outgoing = request({
      host: 'localhost',
      family: 4,
      port,
      method,
      path,
      ca: TEST_CERTIFICATE,
      agent: false,
      ...(from !== undefined && { localAddress: from }),
      headers: { ...headers, ...(length !== undefined && { 'content-length': length }) },
    });
    // A proxy may refuse a body before it has read it, and close the connection.
    outgoing.on('error', () => {});
    if (announcedBytes === undefined) outgoing.end(body);
    else outgoing.flushHeaders();
    const [response] = await once(outgoing, 'response');
    const chunks: Buffer[] = await Array.fromAsync(response);
    outgoing.destroy();
    return {
      status: response.statusCode,
      headers: response.headers,
      body: Buffer.concat(chunks).toString('utf8'),
    };
  };
