import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLogger } from '../../src/lib/logger.ts';
import { makeSources, ONE } from '../support/package-stores.ts';
import { problemOf } from '../support/packages.ts';
import { setCredentials, storeOn } from '../support/s3-server.ts';

setCredentials();
const echoes = suite('S3 package store with a server that echoes requests');

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const startServer = async (answer: Answer) => {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    endpoint: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

const headersOf = ({ headers }: IncomingMessage): string =>
  `${headers.authorization} MIRRORED`.replaceAll(/[<&]/g, '');
const errorXml = (code: string, message: string): string =>
  `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`;

const ANSWERS: [what: string, answer: Answer, expected: RegExp][] = [
  [
    'in its message',
    (request, response) => {
      response.writeHead(403, { 'x-amz-request-id': 'REQUEST-1' });
      response.end(errorXml('AccessDenied', headersOf(request)));
    },
    /^Error: AccessDenied \(status 403, request id REQUEST-1\)$/,
  ],
  [
    'as its code and request id',
    (request, response) => {
      response.writeHead(403, { 'x-amz-request-id': headersOf(request) });
      response.end(errorXml(headersOf(request), ''));
    },
    /^Error: Unreadable response \(status 403, request id none\)$/,
  ],
  [
    'in XML that breaks off',
    (request, response) => response.writeHead(200).end(`<List><${headersOf(request)}></MIRRORED`),
    /^Error: Unreadable response \(status 200, request id none\)$/,
  ],
  [
    'in a page',
    (request, response) => response.writeHead(418).end(`MIRRORED ${headersOf(request)}`),
    /^Error: Unreadable response \(status 418, request id none\)$/,
  ],
];

for (const [what, answer, expected] of ANSWERS) {
  echoes(`reports ${what} by code, status and request id only`, async () => {
    await using server = await startServer(answer);
    await using sources = await makeSources();
    const lines: string[] = [];
    const logger = createLogger('info', { destination: { write: (line: string) => lines.push(line) } });
    const packages = storeOn(server);

    const problem = await problemOf(packages.list(), 'package-store-unavailable');
    logger.error({ err: problem }, 'package-store-unavailable');
    // If the response cannot be read, publishing assumes that the bytes belong to another package.
    const publishing = packages.publish('sales', '1.0.0', await sources.fileOf(ONE));
    const [published] = await Promise.allSettled([publishing]);
    logger.error({ err: published.status === 'rejected' && published.reason }, 'publish');

    assert.is(lines.length, 2);
    assert.is(published.status, 'rejected');
    assert.match(String(problem.cause), expected);
    assert.not.match(lines.join(), /MIRRORED|AWS4-HMAC|Credential=|Signature=/);
  });
}

echoes('sends no request to an invalid address, which may contain a password', async () => {
  process.env.AWS_ENDPOINT_URL_S3 = 'ftp://user:a-secret-of-mine@host.invalid';
  const { cause } = await problemOf(
    storeOn({ endpoint: undefined }).list(),
    'package-store-unavailable',
  ).finally(() => {
    delete process.env.AWS_ENDPOINT_URL_S3;
  });

  assert.is(String(cause), 'Error: The endpoint of the bucket is not valid.');
});

echoes.run();
